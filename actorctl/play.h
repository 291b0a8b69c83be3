/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Episodes of an evaluation, played where they can be watched: by actord-trial, without a job. */
#pragma once

#include "actorctl/checkpoint-open.h"

/* Records the first episodes that `eval` would play with this checkpoint. recording_wanted() is true. */
ExitStatus play_record(const Options *options, const NamedCheckpoint *from);
