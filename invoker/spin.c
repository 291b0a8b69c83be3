/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/spin.h"

#include <assert.h>

enum {
        ORDER_NSEC = 500000,       /* in longer orders a wake-up counts for little */
        LEAD_NSEC = 60000,         /* the timer's delay, and the way to the spin with cold caches */
        GAIN_NSEC = 20000,         /* a wake-up */
        LATE_NSEC = 50000,         /* an answer that is less late shows nothing */
        CREDIT_NSEC = 300000,      /* how much a new try may lose */
        CREDIT_MAX_NSEC = 1000000, /* the most credit that successful tries can collect */
        LOSS_MAX_NSEC = 20000000,  /* a program that was stopped for minutes has not lost minutes */
        FORBEARANCE = 50,
        DOUBLINGS_MAX = 6,
        SLOWNESS = 8, /* an expectation falls at once, and rises by at most an eighth */
};

uint64_t spin_begin_nsec(const Spin *spin, uint32_t kind, uint64_t ordered_nsec, uint64_t now_nsec) {
        uint64_t expected_nsec;

        assert(spin);
        assert(kind < _ORDER_KIND_MAX);

        expected_nsec = spin->expected_nsec[kind];
        if (expected_nsec == 0 || expected_nsec > ORDER_NSEC || spin->tried_nsec == ordered_nsec ||
                        now_nsec < spin->sleeps_until_nsec)
                return SPIN_NEVER;
        return ordered_nsec + (expected_nsec > LEAD_NSEC ? expected_nsec - LEAD_NSEC : 0);
}

void spin_ended(Spin *spin, uint64_t ordered_nsec, bool answered) {
        assert(spin);

        spin->tried_nsec = ordered_nsec;
        spin->answered = answered;
}

static void balance_move(Spin *spin, uint64_t late_nsec, uint64_t now_nsec) {
        if (spin->answered)
                spin->balance_nsec += GAIN_NSEC;
        if (late_nsec > LATE_NSEC)
                spin->balance_nsec -= late_nsec < LOSS_MAX_NSEC ? (int64_t) late_nsec : LOSS_MAX_NSEC;
        if (spin->balance_nsec > CREDIT_MAX_NSEC) {
                spin->balance_nsec = CREDIT_MAX_NSEC;
                spin->n_losses = 0;
        }
        if (spin->balance_nsec + CREDIT_NSEC >= 0)
                return;

        /* Each loss in sequence is followed by a longer sleep. */
        spin->sleeps_until_nsec =
                        now_nsec + ((FORBEARANCE * (uint64_t) -spin->balance_nsec) << spin->n_losses);
        spin->n_losses += spin->n_losses < DOUBLINGS_MAX;
        spin->balance_nsec = 0;
}

void spin_learn(Spin *spin, uint32_t kind, uint64_t ordered_nsec, uint64_t now_nsec) {
        uint64_t took_nsec = now_nsec - ordered_nsec, *expected_nsec, late_nsec;

        assert(spin);
        assert(kind < _ORDER_KIND_MAX);

        expected_nsec = &spin->expected_nsec[kind];
        late_nsec = took_nsec > *expected_nsec ? took_nsec - *expected_nsec : 0;
        if (spin->tried_nsec == ordered_nsec)
                balance_move(spin, late_nsec, now_nsec);
        if (*expected_nsec == 0 || took_nsec < *expected_nsec)
                *expected_nsec = took_nsec > 0 ? took_nsec : 1;
        else
                *expected_nsec += (late_nsec < *expected_nsec ? late_nsec : *expected_nsec) / SLOWNESS;
}
