/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a round gets with more actors: a law, and what rounds that had more and rounds that had fewer
 * tell of it.
 *
 *         progress of a round of A actors = g A / (A + b)               the law of noise
 *                                         = g A / sqrt(A A + b b)       the sharp law
 *
 * g is how fast training goes at the time, which changes, and which is not needed. b is where more actors
 * begin to bring little. Rounds of one number after another are a *stay*. Between two stays, one after the
 * other, g has hardly changed, so what the mean progress of the second is above that of the first tells b.
 * Candidates of b, each twice the one before, are held against the newest stays and against what theory
 * says of b, and each gets a misfit; the best has the least. The largest one that is not clearly worse is
 * *hopeful*: who goes by it goes up as long as it is not clear that this does not pay.
 *
 * Pure, and without logarithms, whose last digits differ between hosts: r + 1/r - 2 is nearly the square
 * of one. */
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
        double first, last; /* mean progress of its first and its newest rounds, of at most eight each */
} Stay;

typedef struct Response {
        uint64_t n_stays; /* stays so far; stay i is at i % STAYS */
        Stay stays[STAYS];
} Response;

/* Adds a round and its progress, in any unit that is the same for all rounds. */
void response_add(Response *response, uint32_t n_actors, double progress);

/* The mean progress of the first rounds, at most eight. NaN: nothing was measured, or the number of actors
 * has changed since then. */
double response_begun(const Response *response);

/* The number of rounds in the newest stay; 0: nothing was measured. */
uint32_t response_rounds(const Response *response);

/* theory: the law by other knowledge. Sets the best and the hopeful candidate of the same law. */
void response_fit(const Response *response, Law theory, double *ret_best, double *ret_hopeful);

/* By what factor the newest stay's mean progress exceeds that of the stay before; at most 1000. NaN: one of
 * them is not known, or was zero, which says nothing. */
double response_change(const Response *response, bool sharp, uint32_t *ret_before);

/* The law's progress for g = 1. */
double response_of(double n_actors, Law law);
