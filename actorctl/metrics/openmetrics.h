/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The current figures of jobs as OpenMetrics text, for Prometheus and similar programs. */
#pragma once

#include "actorctl/bus.h"

/* Appends the figures. path: of one job; NULL: of all jobs that the daemon remembers. 0; or a negative
 * errno, with a message. */
int openmetrics_append(Connection *connection, const char *path, GString *text);
