/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenMetrics text: the figures of jobs at this moment, for Prometheus and its like. */
#pragma once

#include "actorctl/bus.h"

/* path: of one job; NULL: all that the daemon remembers. 0; or a negative errno, with a message. */
int openmetrics_append(Connection *connection, const char *path, GString *text);
