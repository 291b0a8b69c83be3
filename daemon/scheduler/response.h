/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much more progress a round makes with more actors: a law with one unknown number, b, and an estimate
 * of b.
 *
 *         progress of a round of A actors = g A / (A + b)               the law of noise
 *                                         = g A / sqrt(A A + b b)       the sharp law
 *
 * b is the number of actors above which more actors help little. g is the speed of training at the time; it
 * changes, and is not needed.
 *
 * Successive rounds with the same number of actors are a *stay*. From one stay to the next, g hardly
 * changes, so b follows from the ratio of their mean progress. There are several candidates for b, each
 * twice the one before. Each candidate is compared with the newest stays and with the b from theory, and
 * gets a misfit. The best candidate has the least misfit. The largest candidate that is not clearly worse is
 * *hopeful*: with this b, actors are added until it is clear that they do not pay.
 *
 * Pure, and without logarithms, whose last digits differ between hosts. The square of the logarithm of a
 * ratio r is nearly r + 1/r - 2. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STAYS 8u

typedef struct Law {
        double b;
        bool sharp;
} Law;

typedef struct Stay {
        uint32_t n_actors, n_rounds;
        /* first: the mean progress of its first rounds, at most eight. last: a running mean of its progress,
         * of which from the eighth round on each new round is an eighth */
        double first, last;
} Stay;

typedef struct Response {
        uint64_t n_stays; /* stays so far; stay i is at i % STAYS */
        Stay stays[STAYS];
} Response;

/* Adds a round and its progress. Any unit of progress will do, if all rounds have the same. A progress that
 * is NaN or negative is ignored. */
void response_add(Response *response, uint32_t n_actors, double progress);

/* The mean progress of the first rounds, at most eight. NaN: nothing was measured, or the number of actors
 * has changed since then. */
double response_begun(const Response *response);

/* The number of rounds in the newest stay; 0: nothing was measured. */
uint32_t response_rounds(const Response *response);

/* theory: the law, and its b from theory. Sets the best and the hopeful candidate for b (see above). */
void response_fit(const Response *response, Law theory, double *ret_best, double *ret_hopeful);

/* `first` of the newest stay, divided by `last` of the previous stay; under the sharp law the square of
 * this, since the reported progress is a root there. The result is at most 1000. NaN: one of the two is not
 * known, or was zero. *ret_before: the number of actors in the previous stay; 0: there was none. */
double response_change(const Response *response, bool sharp, uint32_t *ret_before);

/* The progress of a round of n_actors by `law`, for g = 1 (see above). */
double response_of(double n_actors, Law law);
