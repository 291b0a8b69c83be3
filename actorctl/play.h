/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Episodes of an evaluation, played where they can be watched: by actord-trial, without a job. */
#pragma once

#include "actorctl/actorctl.h"

/* Records the first episodes that `eval` would play with this checkpoint; text: its job file. recording_wanted() is true. */
ExitStatus play_record(const Options *options, const char *name, const char *text, int checkpoint_fd);
