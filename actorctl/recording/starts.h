/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plays episodes that begin in given states (eval --state, --grid). */
#pragma once

#include <glib.h>

#include "actorctl/checkpoint-open.h"

/* The most states of a grid. */
#define STARTS_MAX 100000u

static inline bool starts_wanted(const Options *options) {
        return options->state_file || options->grid;
}

/* Reads the states that the options name: an array of double, one state after the other, and the number of
 * states; NULL: the options name none. STATUS_OK; or STATUS_USAGE, with a message. */
ExitStatus starts_read(const Options *options, GArray **ret, uint64_t *ret_n);

/* Plays an episode from each state, in an actor and without a job, and prints the result; of several
 * episodes, the mean. starts_wanted() must be true. */
ExitStatus starts_play(const Options *options, const NamedCheckpoint *from);
