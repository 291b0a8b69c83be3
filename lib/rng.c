/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Philox4x32-10 and the few distributions that environments and learners draw from. Where possible every
 * draw takes a fixed number of words (uniform two, normal four), so that later draws do not depend on
 * earlier results. */
#include "lib/rng.h"

#include <math.h>

#include "lib/doubles.h"

/* Marks the functions of the environment ABI that plugins find in the program that loads them. */
#define PUBLIC __attribute__((visibility("default")))

enum { PHILOX_ROUNDS = 10 };

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4]) {
        uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
        uint32_t k0 = key[0], k1 = key[1];

        for (int i = 0; i < PHILOX_ROUNDS; i++) {
                uint64_t p0 = (uint64_t) UINT32_C(0xD2511F53) * c0;
                uint64_t p1 = (uint64_t) UINT32_C(0xCD9E8D57) * c2;

                c0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
                c1 = (uint32_t) p1;
                c2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;
                c3 = (uint32_t) p0;

                /* The Weyl sequence of the paper: the golden ratio and sqrt(3) - 1, as fractions of 2^32. */
                k0 += UINT32_C(0x9E3779B9);
                k1 += UINT32_C(0xBB67AE85);
        }

        ret[0] = c0;
        ret[1] = c1;
        ret[2] = c2;
        ret[3] = c3;
}

void random_pack(RandomPurpose purpose, uint32_t slot, uint64_t ordinal, uint32_t step,
                uint32_t ret_counter[4]) {
        assert(purpose > 0 && purpose < _RANDOM_PURPOSE_MAX);
        assert(slot <= RANDOM_SLOT_MAX);
        assert(ordinal <= RANDOM_ORDINAL_MAX);
        assert(step <= RANDOM_STEP_MAX);

        /* The fields are adjacent and do not overlap, so different names of streams give different counters.
         * Word 0 is the number of the block. */
        ret_counter[0] = 0;
        ret_counter[1] = (uint32_t) purpose << 24 | step;
        ret_counter[2] = (uint32_t) (ordinal & 0xff) << 24 | slot;
        ret_counter[3] = (uint32_t) (ordinal >> 8);
}

void random_begin(ActordRandom *ret, uint64_t seed, RandomPurpose purpose, uint32_t slot, uint64_t ordinal,
                uint32_t step) {
        assert(ret);

        *ret = (ActordRandom){ .key = { (uint32_t) seed, (uint32_t) (seed >> 32) } };
        random_pack(purpose, slot, ordinal, step, ret->counter);
}

PUBLIC uint32_t actord_random_u32(ActordRandom *random) {
        assert(random);

        if (random->n_left == 0) {
                philox4x32(random->counter, random->key, random->block);
                random->n_left = 4;
                /* A stream has 2^34 words; the next stream must never begin inside it. */
                assert(random->counter[0] < UINT32_MAX);
                random->counter[0]++;
        }

        return random->block[4 - random->n_left--];
}

/* 53 random bits as a fraction in [0, 1), the finest spacing that all doubles of this range can keep. */
static double random_fraction(ActordRandom *random) {
        uint64_t high = actord_random_u32(random) >> 5;
        uint64_t low = actord_random_u32(random) >> 6;

        return (double) (high << 26 | low) * 0x1p-53;
}

PUBLIC double actord_random_uniform(ActordRandom *random, double low, double high) {
        double x;

        assert(low <= high);
        assert(isfinite(high - low));

        x = low + (high - low) * random_fraction(random);

        /* The sum may round up to the bound, which is excluded. */
        return x < high || low == high ? x : nextafter(high, low);
}

PUBLIC double actord_random_normal(ActordRandom *random) {
        /* Uses only the cosine half of Box and Muller's method. If the sine were kept for the next call, a
         * draw would depend on the number of draws before it. 1 - fraction is in (0, 1], so the logarithm is
         * finite. */
        double radius = sqrt(-2.0 * double_log(1.0 - random_fraction(random)));
        double turn = random_fraction(random);

        return radius * double_cos_turn(turn);
}

uint32_t random_below(ActordRandom *random, uint32_t n) {
        uint64_t product;

        assert(n > 0);

        /* "Fast Random Integer Generation in an Interval" (Lemire, 2019): the high word of n * u is the
         * number. A few values of the low word would favour some numbers; then u is drawn again. */
        product = (uint64_t) actord_random_u32(random) * n;
        if ((uint32_t) product < n) {
                uint32_t threshold = -n % n;

                while ((uint32_t) product < threshold)
                        product = (uint64_t) actord_random_u32(random) * n;
        }

        return (uint32_t) (product >> 32);
}
