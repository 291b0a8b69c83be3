/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plays episodes of an evaluation in an actor, without a job, so that each state can be seen. */
#pragma once

#include "actorctl/checkpoint-open.h"

/* Records the first episodes that `eval` would play with this checkpoint, or those from the states of
 * --state= or --grid=. recording_wanted() must be true. STATUS_OK; or another status, with a message. */
ExitStatus play_record(const Options *options, const NamedCheckpoint *from);
