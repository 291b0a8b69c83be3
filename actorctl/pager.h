/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Long listings on a terminal go through a pager. */
#pragma once

#include "actorctl/actorctl.h"

/* From here on standard output is the pager's, until pager_close(). Does nothing without a terminal, or when none is wanted. */
void pager_open(const Options *options);
/* Waits until the reader has left the pager. */
void pager_close(void);
