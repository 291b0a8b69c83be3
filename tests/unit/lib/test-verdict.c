/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child's verdict reaches its parent, and nothing reaches it once the child has left. */
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/verdict.h"

static int status_of(pid_t pid) {
        int status = 0;

        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        return status;
}

static void test_report(void) {
        Verdict *a = verdict_new(), *b = verdict_new();
        pid_t pid;

        g_assert_true(a && b && a != b);
        pid = fork();
        if (pid == 0) {
                b->failed = 3;
                verdict_leave();
                _exit(EXIT_SUCCESS);
        }
        g_assert_cmpint(status_of(pid), ==, 0);
        g_assert_cmpuint(a->failed, ==, 0);
        g_assert_cmpuint(b->failed, ==, 3);

        /* The next process gets the word of a process that has been reaped, and no failure in it. */
        (void) verdict_free(b);
        g_assert_true(verdict_new() == b);
        g_assert_cmpuint(b->failed, ==, 0);
        (void) verdict_free(a);
        (void) verdict_free(b);
        g_assert_null(verdict_free(NULL));
}

static void test_leave(void) {
        const uintptr_t page_bytes = 4096;
        Verdict *first = verdict_new(), *last = first + VERDICTS_MAX - 1;
        pid_t pid = fork();

        if (pid == 0) {
                void *at[] = { (void *) ((uintptr_t) first & ~(page_bytes - 1)),
                        (void *) ((uintptr_t) last & ~(page_bytes - 1)) };

                verdict_leave();
                for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
                        if (msync(at[i], 1, MS_ASYNC) == 0 || errno != ENOMEM)
                                _exit(EXIT_FAILURE);
                _exit(EXIT_SUCCESS);
        }
        g_assert_cmpint(status_of(pid), ==, 0);
        g_assert_cmpuint(first->failed, ==, 0); /* the parent still has it */
        (void) verdict_free(first);
}

static void test_most(void) {
        Verdict **all = g_new(Verdict *, VERDICTS_MAX);

        for (size_t i = 0; i < VERDICTS_MAX; i++) {
                all[i] = verdict_new();
                g_assert_nonnull(all[i]);
        }
        g_assert_null(verdict_new());
        for (size_t i = 0; i < VERDICTS_MAX; i++)
                (void) verdict_free(all[i]);
        g_free(all);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/verdict/report", test_report);
        g_test_add_func("/verdict/leave", test_leave);
        g_test_add_func("/verdict/most", test_most);
        return g_test_run();
}
