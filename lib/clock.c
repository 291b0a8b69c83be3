/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes the emulated clock. All sums saturate at UINT64_MAX: an absurd constant in a job gives an
 * absurdly long time, never a short one. Under Clock=model invocations and updates take no measured time, so
 * schedulers see the same durations in each run. */
#include "lib/clock.h"

#include <assert.h>

#include "lib/algorithm-traits.h"
#include "lib/saturate.h"

/* The memory that comes with one vCPU of AWS Lambda; its documentation says "at 1,769 MB". */
#define BYTES_PER_VCPU (1769ull << 20)

static uint64_t saturating_multiply(uint64_t a, uint64_t b) {
        return saturate_u64((unsigned __int128) a * b);
}

/* count * unit_usec in whole nanoseconds. */
static uint64_t model_nsec(double count, double unit_usec) {
        return saturate_double(count * unit_usec * 1e3);
}

uint64_t clock_share_permille(const JobSettings *settings) {
        uint64_t share;

        assert(settings);

        if (settings_present(settings, SETTING_Actor_CPUQuota))
                share = settings->cpu_quota_permille;
        else
                share = saturate_u64((unsigned __int128) settings->memory_max_bytes * 1000 / BYTES_PER_VCPU);

        return share > 0 ? share : 1;
}

uint64_t clock_lost_nsec(const JobSettings *settings, uint64_t cpu_nsec) {
        uint64_t share = clock_share_permille(settings);

        /* An actor's loop is one thread, so an allocation of more than one CPU does not make it faster. */
        return saturate_u64((unsigned __int128) cpu_nsec * 1000 / (share > 1000 ? 1000 : share));
}

uint64_t clock_invocation_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t n_steps, bool cold) {
        uint64_t start_nsec;

        assert(settings);

        if (settings->clock == CLOCK_MODEL)
                cpu_nsec = model_nsec((double) n_steps, settings->step_usec);

        start_nsec = saturating_multiply(cold ? settings->cold_usec : settings->warm_usec, 1000);
        return saturating_add(start_nsec, clock_lost_nsec(settings, cpu_nsec));
}

uint64_t clock_update_nsec(const JobSettings *settings, uint64_t slowest_thread_nsec, uint64_t n_rows) {
        assert(settings);

        if (settings->clock != CLOCK_MODEL)
                return slowest_thread_nsec;
        return model_nsec((double) n_rows * algorithm_passes(settings), settings->update_usec);
}

uint64_t clock_wait_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t most_nsec, uint32_t n_now,
                uint32_t n_asked) {
        uint64_t alone_nsec, now_nsec, asked_nsec;

        assert(settings);

        if (settings->clock == CLOCK_MODEL || n_asked <= n_now || n_now == 0)
                return 0;
        alone_nsec = clock_lost_nsec(settings, most_nsec);
        now_nsec = cpu_nsec / n_now;
        asked_nsec = cpu_nsec / n_asked;
        if (asked_nsec < alone_nsec)
                asked_nsec = alone_nsec;
        return now_nsec > asked_nsec ? now_nsec - asked_nsec : 0;
}

uint64_t clock_round_nsec(uint64_t slowest_actor_nsec, uint64_t update_nsec) {
        return saturating_add(slowest_actor_nsec, update_nsec);
}
