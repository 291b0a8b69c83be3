/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows long listings on a terminal in a pager. */
#pragma once

#include "actorctl/actorctl.h"

/* Sends standard output to a pager until pager_close(). Does nothing without a terminal, for JSON, or if the
 * user wants no pager. */
void pager_open(const Options *options);
/* Waits until the user has left the pager; then standard output goes where standard error goes. Does nothing
 * if no pager was started. */
void pager_close(void);
