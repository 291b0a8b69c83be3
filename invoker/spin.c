/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/spin.h"

#include <assert.h>

enum {
        GAIN_NSEC = 10000,         /* about half a wake-up */
        CREDIT_NSEC = 300000,      /* how much a new try may lose */
        CREDIT_MAX_NSEC = 1000000, /* the most credit that spins in time can collect */
        LOSS_MAX_NSEC = 20000000,  /* a program that was stopped for minutes has not lost minutes */
        FORBEARANCE = 50,
};

uint64_t spin_nsec(const Spin *spin, uint32_t kind, uint32_t n_cpus, uint32_t n_threads, uint64_t now_nsec) {
        uint64_t took_nsec;

        assert(spin);
        assert(kind < _ORDER_KIND_MAX);

        took_nsec = spin->took_nsec[kind];
        if (n_cpus <= n_threads || took_nsec == 0 || took_nsec > SPIN_ORDER_NSEC ||
                        now_nsec < spin->sleeps_until_nsec)
                return 0;
        return 2 * took_nsec < SPIN_ORDER_NSEC ? 2 * took_nsec : SPIN_ORDER_NSEC;
}

void spin_learn(Spin *spin, uint32_t kind, uint64_t took_nsec) {
        assert(spin);
        assert(kind < _ORDER_KIND_MAX);

        spin->took_nsec[kind] = took_nsec > 0 ? took_nsec : 1;
}

void spin_ended(Spin *spin, bool answered, uint64_t spun_nsec, uint64_t displaced_nsec, uint64_t now_nsec) {
        uint64_t lost_nsec;

        assert(spin);

        lost_nsec = answered ? displaced_nsec : spun_nsec;
        if (lost_nsec > LOSS_MAX_NSEC)
                lost_nsec = LOSS_MAX_NSEC;
        spin->balance_nsec += (answered ? GAIN_NSEC : 0) - (int64_t) lost_nsec;
        if (spin->balance_nsec > CREDIT_MAX_NSEC)
                spin->balance_nsec = CREDIT_MAX_NSEC;
        if (spin->balance_nsec + CREDIT_NSEC >= 0)
                return;
        spin->sleeps_until_nsec = now_nsec + FORBEARANCE * (uint64_t) -spin->balance_nsec;
        spin->balance_nsec = 0;
}
