/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the emulated clock against times that were computed by hand. */
#include <glib.h>
#include <math.h>

#include "lib/clock.h"
#include "lib/patience.h"

#define MIB (1ull << 20)

static JobSettings settings_make(uint64_t memory_max_bytes) {
        return (JobSettings){
                .memory_max_bytes = memory_max_bytes,
                .cold_usec = 300000,
                .warm_usec = 1000,
                .epochs = 10,
                .step_usec = 50,
                .update_usec = 1.5,
                .clock = CLOCK_METERED,
        };
}

static void test_share(void) {
        JobSettings settings = settings_make(1769 * MIB);

        g_assert_cmpuint(clock_share_permille(&settings), ==, 1000);
        settings.memory_max_bytes = 3538 * MIB;
        g_assert_cmpuint(clock_share_permille(&settings), ==, 2000);
        settings.memory_max_bytes = 128 * MIB;
        g_assert_cmpuint(clock_share_permille(&settings), ==, 72);
        settings.memory_max_bytes = 1;
        g_assert_cmpuint(clock_share_permille(&settings), ==, 1);
        settings.memory_max_bytes = UINT64_MAX;
        g_assert_cmpuint(clock_share_permille(&settings), ==, (uint64_t) (0x1p64 / (1769 * MIB) * 1000));

        /* With CPUQuota= set, the share is the quota, whatever the memory. */
        settings.cpu_quota_permille = 250;
        settings.present[SETTING_Actor_CPUQuota / 64] |= UINT64_C(1) << SETTING_Actor_CPUQuota % 64;
        g_assert_cmpuint(clock_share_permille(&settings), ==, 250);
}

static void test_invocation(void) {
        JobSettings settings = settings_make(1769 * MIB);

        g_assert_cmpuint(clock_invocation_nsec(&settings, 5000000, 100, true), ==, 305000000);
        g_assert_cmpuint(clock_invocation_nsec(&settings, 5000000, 100, false), ==, 6000000);
        settings.cpu_quota_permille = 250;
        settings.present[SETTING_Actor_CPUQuota / 64] |= UINT64_C(1) << SETTING_Actor_CPUQuota % 64;
        g_assert_cmpuint(clock_invocation_nsec(&settings, 5000000, 100, false), ==, 21000000);
        /* Two CPUs do not make one thread faster. */
        settings.cpu_quota_permille = 2000;
        g_assert_cmpuint(clock_invocation_nsec(&settings, 5000000, 100, false), ==, 6000000);
}

static void test_model(void) {
        JobSettings settings = settings_make(1769 * MIB);

        settings.clock = CLOCK_MODEL;
        /* Under Clock=model, times do not depend on measured CPU time. */
        for (uint64_t cpu_nsec = 0; cpu_nsec < 5; cpu_nsec++) {
                g_assert_cmpuint(clock_invocation_nsec(&settings, cpu_nsec << 40, 100, false), ==, 6000000);
                g_assert_cmpuint(clock_update_nsec(&settings, cpu_nsec << 40, 128), ==, 128 * 10 * 1500);
        }
        /* Not every algorithm has Epochs=. */
        settings.algorithm = ALGORITHM_IMPALA;
        g_assert_cmpuint(clock_update_nsec(&settings, 0, 128), ==, 128 * 1500);
        settings.algorithm = ALGORITHM_DQN;
        settings.train_ratio = 0.25;
        settings.minibatch_size = 32;
        g_assert_cmpuint(clock_update_nsec(&settings, 0, 128), ==, 128 * 8 * 1500);
        settings.clock = CLOCK_METERED;
        g_assert_cmpuint(clock_update_nsec(&settings, 77, 128), ==, 77);
}

static void test_round(void) {
        g_assert_cmpuint(clock_round_nsec(5, 7), ==, 12);
        g_assert_cmpuint(clock_round_nsec(UINT64_MAX, 7), ==, UINT64_MAX);
}

static void test_saturates(void) {
        JobSettings settings = settings_make(1);

        g_assert_cmpuint(clock_invocation_nsec(&settings, UINT64_MAX, 1, true), ==, UINT64_MAX);
        settings.cold_usec = UINT64_MAX;
        g_assert_cmpuint(clock_invocation_nsec(&settings, 0, 1, true), ==, UINT64_MAX);
        settings.cold_usec = 0;
        settings.clock = CLOCK_MODEL;
        settings.step_usec = 1e9;
        g_assert_cmpuint(clock_invocation_nsec(&settings, 0, UINT64_MAX, true), ==, UINT64_MAX);
        g_assert_cmpuint(clock_update_nsec(&settings, 0, UINT64_MAX), ==, UINT64_MAX);
        settings.step_usec = NAN;
        g_assert_cmpuint(clock_invocation_nsec(&settings, 0, 5, true), ==, 0);
}

/* Nine rollouts, eight of 2 s and one of 5 s, share fewer CPUs than the job asked for. */
static void test_wait(void) {
        JobSettings settings = { .clock = CLOCK_METERED, .cpu_quota_permille = 1000 };
        const uint64_t sec = 1000000000u;

        settings.present[SETTING_Actor_CPUQuota / 64] |= UINT64_C(1) << SETTING_Actor_CPUQuota % 64;
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 2, 3), ==, 3500000000);
        /* The round takes at least as long as the longest rollout: 5 s on any number of CPUs. */
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 2, 100), ==, 5500000000);
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 5, 100), ==, 0);
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 2, 2), ==, 0);
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 0, 0), ==, 0);
        /* Actors with half a CPU each: two share one without a wait. */
        settings.cpu_quota_permille = 500;
        g_assert_cmpuint(clock_wait_nsec(&settings, 8 * sec, 2 * sec, 2, 4), ==, 0);
        g_assert_cmpuint(clock_wait_nsec(&settings, 8 * sec, 2 * sec, 1, 4), ==, 4 * sec);
        settings.clock = CLOCK_MODEL;
        g_assert_cmpuint(clock_wait_nsec(&settings, 21 * sec, 5 * sec, 2, 100), ==, 0);
}

/* A process that answers quickly may be silent for the given least time, a slow one for a multiple of its
 * longest silence, and none for more than an hour. */
static void test_patience(void) {
        const uint64_t sec = 1000000000u;

        g_assert_cmpuint(patience_nsec(0, 30 * sec), ==, 30 * sec);
        g_assert_cmpuint(patience_nsec(sec, 30 * sec), ==, 30 * sec);
        g_assert_cmpuint(patience_nsec(10 * sec, 30 * sec), ==, 200 * sec);
        g_assert_cmpuint(patience_nsec(3600 * sec, 30 * sec), ==, 3600 * sec);
        g_assert_cmpuint(patience_nsec(UINT64_MAX, 30 * sec), ==, 3600 * sec);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/clock/share", test_share);
        g_test_add_func("/clock/patience", test_patience);
        g_test_add_func("/clock/invocation", test_invocation);
        g_test_add_func("/clock/model", test_model);
        g_test_add_func("/clock/round", test_round);
        g_test_add_func("/clock/wait", test_wait);
        g_test_add_func("/clock/saturates", test_saturates);

        return g_test_run();
}
