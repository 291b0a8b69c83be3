/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes one actor's rollout into the batch. The segment belongs to a process that may be hostile, and that
 * may write at the same time. So each byte is copied once, and only the copy is checked and used. Only the
 * actor's own block of the batch changes. */
#pragma once

#include "include/record.h"
#include "include/settings.h"
#include "include/slot.h"
#include "learner/store/batch.h"
#include "learner/episode-statistics.h"

typedef struct Validation {
        const JobSettings *settings;
        const JobPage *page;
        const EpisodeStatistics *episodes;
        Batch *batch;
        uint32_t pair_steps; /* 0: there are no pairs */
        void *scratch;       /* room for one raw observation; before, after: [envs] SlotState */
        SlotState *before, *after;
} Validation;

int validation_new(const JobSettings *settings, const JobPage *page, const EpisodeStatistics *episodes,
                Batch *batch, Validation **ret);
Validation *validation_free(Validation *validation);

/* Returns FAULT_NONE, and marks the block as taken; or returns the fault, with its row (FAULT_METRIC: with
 * the metric's number, from 1 on). `bank` is the bank that the actor read; it wrote the other bank. */
Fault validation_take(
                Validation *validation, uint32_t actor, void *segment, uint32_t bank, int32_t *ret_row);

/* Hashes everything that the learner has copied of the actor's rollout, which it has taken. */
void validation_hash(const Validation *validation, uint32_t actor, uint8_t ret_sha256[32]);
