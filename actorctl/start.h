/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint that a job begins with: --from=. */
#pragma once

#include "actorctl/actorctl.h"
#include "include/settings.h"

/* Opens the checkpoint of --from=, and checks that a job with these settings can go on from it. Without
 * --from=, does nothing. STATUS_OK; or another status, with a message. */
ExitStatus start_open(const Options *options, const JobSettings *settings, int *ret_fd);
