/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job-turn.h"

#include <glib.h>

#define SECOND 1000000ull

/* The time of a job counts from its first start, without the time in the queue. If the host's clock is set
 * back, the job has all of its time left, and is not stopped. */
static void test_runtime(void) {
        const uint64_t start = 1800000000 * SECOND;
        const LedgerJob row = { .started_usec = start, .paused_usec = 10 * SECOND };

        g_assert_cmpuint(runtime_left_usec(&row, 60 * SECOND, start + 30 * SECOND), ==, 40 * SECOND);
        g_assert_cmpuint(runtime_left_usec(&row, 60 * SECOND, start + 70 * SECOND), ==, 0);
        g_assert_cmpuint(runtime_left_usec(&row, 60 * SECOND, start + 1000 * SECOND), ==, 0);
        g_assert_cmpuint(runtime_left_usec(&row, 60 * SECOND, start + 10 * SECOND - 1), ==, 60 * SECOND);
        g_assert_cmpuint(runtime_left_usec(&row, 60 * SECOND, 0), ==, 60 * SECOND);
        g_assert_cmpuint(runtime_left_usec(&row, UINT64_MAX, start), ==, UINT64_MAX);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/job-turn/runtime", test_runtime);
        return g_test_run();
}
