/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the count of CPUs on hosts of any size. The kernel is a function of this file. */
#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <string.h>

#include "lib/cpu-count.h"

static size_t n_host, n_allowed; /* CPUs that the host may have, and those of this process */

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret) {
        g_assert_cmpint(pid, ==, 0);
        if (size * 8 < n_host) {
                errno = EINVAL;
                return -1;
        }
        memset(ret, 0, size);
        for (size_t i = 0; i < n_allowed; i++)
                CPU_SET_S(n_host - 1 - i, size, ret);
        return 0;
}

static void test_sizes(void) {
        static const size_t sizes[][2] = { { 1, 1 }, { 64, 3 }, { 1024, 1024 }, { 1025, 1025 },
                { 8192, 1536 }, { CPU_COUNT_MAX, CPU_COUNT_MAX } };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                n_host = sizes[i][0];
                n_allowed = sizes[i][1];
                g_assert_cmpuint(cpu_count(7), ==, n_allowed);
        }
        n_host = CPU_COUNT_MAX + 1;
        g_assert_cmpuint(cpu_count(7), ==, 7);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cpu-count/sizes", test_sizes);
        return g_test_run();
}
