/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random numbers from a counter-based generator. The k-th number of a stream is a function of (seed,
 * purpose, slot, ordinal, step, k) alone; numbers that were drawn before have no effect. So an invocation
 * that is repeated, moved to another process or resumed draws the same numbers. Philox4x32-10 of "Parallel
 * Random Numbers: As Easy as 1, 2, 3" (Salmon et al., SC'11).
 *
 * No two streams are ever the same: random_pack() writes a stream's name and block number into separate bits
 * of the 128-bit counter, and for one key (the seed) the generator is a bijection of its counter. */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "include/actord/env.h"

/* The purposes of streams. The numbers are part of every result: append, never renumber. */
typedef enum RandomPurpose {
        RANDOM_ACTION = 1,
        RANDOM_RESET,
        RANDOM_STEP,
        RANDOM_SHUFFLE,
        RANDOM_INIT,
        RANDOM_EVALUATE_ACTION,
        RANDOM_EVALUATE_RESET,
        RANDOM_EVALUATE_STEP,
        RANDOM_NOISE,        /* of actions, if it continues from step to step */
        RANDOM_SCALING = 20, /* the number of actors */
        RANDOM_REPLAY = 30,  /* which older data to learn from again */
        RANDOM_TARGET = 31,  /* actions in the next state, from which targets are made */
        RANDOM_POLICY = 32,  /* actions that the current policy would take in a drawn state */
        RANDOM_CURVATURE = 40,
        RANDOM_RESAMPLE = 64, /* the bootstrap of a report; jobs do not use it */
        RANDOM_SWEEP = 65,    /* the values of a sweep's trials; jobs do not use it */
        _RANDOM_PURPOSE_MAX,
} RandomPurpose;

/* The widths of the counter's fields. Together with the 32-bit block number they fill its 128 bits
 * exactly. */
enum {
        RANDOM_PURPOSE_BITS = 8,
        RANDOM_SLOT_BITS = 24,
        RANDOM_ORDINAL_BITS = 40,
        RANDOM_STEP_BITS = 24,
};

static_assert(RANDOM_PURPOSE_BITS + RANDOM_SLOT_BITS + RANDOM_ORDINAL_BITS + RANDOM_STEP_BITS + 32 == 128,
                "counter");
static_assert(_RANDOM_PURPOSE_MAX <= 1 << RANDOM_PURPOSE_BITS, "purpose");

#define RANDOM_SLOT_MAX    ((UINT32_C(1) << RANDOM_SLOT_BITS) - 1)
#define RANDOM_ORDINAL_MAX ((UINT64_C(1) << RANDOM_ORDINAL_BITS) - 1)
#define RANDOM_STEP_MAX    ((UINT32_C(1) << RANDOM_STEP_BITS) - 1)

struct ActordRandom {
        uint32_t key[2];
        uint32_t counter[4]; /* the counter of the next block */
        uint32_t block[4];   /* the last n_left words have not been used yet */
        uint32_t n_left;
};

/* Starts a stream at its first number. slot: an environment's number in the job, or another number, such as
 * a layer's for RANDOM_INIT; ordinal: the invocation, episode, round or update; step: the step or pass in
 * it. Asserts that each of them fits its field. Nothing is computed before the first draw. */
void random_begin(ActordRandom *ret, uint64_t seed, RandomPurpose purpose, uint32_t slot, uint64_t ordinal,
                uint32_t step);

/* A uniform whole number in [0, n); n is at least 1. */
uint32_t random_below(ActordRandom *random, uint32_t n);

/* Two parts of the generator, for the tests: the counter for a stream's name, and the bijection. */
void random_pack(RandomPurpose purpose, uint32_t slot, uint64_t ordinal, uint32_t step,
                uint32_t ret_counter[4]);
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4]);
