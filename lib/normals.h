/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many normal numbers at once: those of actord_random_normal(), bit for bit, with any width of vectors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/rng.h"

/* Draws the first n numbers (mean 0, variance 1) of n_rows streams, which differ only in their slots:
 * ret[k * stride + i] is number k of the stream (seed, purpose, slots[i], ordinal, step), see
 * random_begin(). */
void random_normals(uint64_t seed, RandomPurpose purpose, const uint32_t *slots, uint32_t n_rows,
                uint64_t ordinal, uint32_t step, uint32_t n, float *ret, size_t stride);

/* Draws the next n normal numbers of one stream, from which only normal numbers have been drawn. */
void random_draw_normals(ActordRandom *random, uint32_t n, float *ret);

/* Passes over the first n normal numbers of a stream from which nothing has been drawn. */
void random_skip_normals(ActordRandom *random, uint32_t n);
