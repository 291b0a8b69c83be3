/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* States that episodes begin in (eval --state, --grid). */
#pragma once

#include <glib.h>

#include "actorctl/checkpoint-open.h"

/* The most states of a grid. */
#define STARTS_MAX 100000u

static inline bool starts_wanted(const Options *options) {
        return options->state_file || options->grid;
}

/* The states that the options name, one after the other: an array of double, or NULL if they name none; and
 * how many. STATUS_OK; or STATUS_USAGE, with a message. */
ExitStatus starts_read(const Options *options, GArray **ret, uint64_t *ret_n);

/* Plays an episode from each, in an actor and without a job, and prints what it came to. starts_wanted() is
 * true. */
ExitStatus starts_play(const Options *options, const NamedCheckpoint *from);
