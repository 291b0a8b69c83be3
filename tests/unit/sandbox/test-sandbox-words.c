/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An actor can wake another process by a futex only on the words of shared memory on which both wait. It can
 * take no page out of shared memory. A child reports by its exit status, as in test-sandbox.c. */
#include <errno.h>
#include <glib.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/step.h"
#include "tests/unit/sandbox-fixture.h"

/* Lies in a page that is mapped from this program's file. */
static const char file_page[] = "A job's programs and libraries are mapped by other jobs, too.";

static long futex_at(void *word, int command, void *other) {
        return syscall(SYS_futex, word, command, 1, NULL, other, 0);
}

/* Wakes waiters on a page of this program's file, which other jobs map, too. Without high addresses
 * (sandbox_has_high_addresses()), the filter has no such rule, and shared_words is NULL. */
static int act_signal_by_a_file(void) {
        return !shared_words || futex_at((void *) file_page, FUTEX_WAKE, NULL) >= 0 ? WORKED : REFUSED;
}

/* FUTEX_REQUEUE would let waiters of a shared word wait on the file's page instead. */
static int act_requeue(void) {
        return futex_at(shared_words, FUTEX_REQUEUE, (void *) file_page) >= 0 ? WORKED : REFUSED;
}

static int act_unmap_words(void) {
        return munmap(shared_words, 4096) >= 0 ? WORKED : REFUSED;
}

static int act_move_words(void) {
        return mremap(shared_words, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED ? WORKED : REFUSED;
}

static int act_map_over_words(void) {
        return mmap(shared_words, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
                                               MAP_FAILED
                               ? WORKED
                               : REFUSED;
}

static int act_move_onto_words(void) {
        void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, shared_words) != MAP_FAILED ? WORKED
                                                                                                : REFUSED;
}

/* Takes a page out of shared memory, by the number of the advice, or by another number that the kernel takes
 * for it. */
static int remove_page(long advice) {
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED || syscall(SYS_madvise, p, 4096L, advice) >= 0 ? WORKED : REFUSED;
}

static int act_hole(void) {
        return remove_page(MADV_REMOVE);
}

static int act_hole_by_another_number(void) {
        return remove_page((1L << 32) + MADV_REMOVE);
}

static const struct {
        const char *name;
        int (*act)(void);
} forbidden_words[] = {
        { "signal-by-a-file", act_signal_by_a_file },
        { "requeue", act_requeue },
        { "unmap-words", act_unmap_words },
        { "move-words", act_move_words },
        { "map-over-words", act_map_over_words },
        { "move-onto-words", act_move_onto_words },
        { "hole", act_hole },
        { "hole-by-another-number", act_hole_by_another_number },
};

/* A forbidden call ends a built-in environment or a plugin; an interpreter gets an errno. */
static void test_words(gconstpointer data) {
        Case c = { .level = GPOINTER_TO_UINT(data), .keep_fd = -1, .cgroup_fd = -1 };

        if (!sandbox_has_high_addresses()) {
                g_test_skip("the kernel gives out low addresses first here (ulimit -s unlimited?)");
                return;
        }
        for (int kind = 0; kind < 3; kind++)
                for (size_t i = 0; i < G_N_ELEMENTS(forbidden_words); i++) {
                        bool ended;
                        int status;

                        c.libraries = kind > 0;
                        c.interpreter = kind > 1;
                        c.act = forbidden_words[i].act;
                        status = enter_and_act(&c);
                        if (status == -1) {
                                g_test_skip("this machine gives no user namespaces here");
                                return;
                        }
                        ended = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
                        if (c.interpreter ? status != REFUSED << 8 : !ended)
                                g_error("%s at level %u, kind %d: wait status %#x", forbidden_words[i].name,
                                                c.level, kind, status);
                }
}

/* Calls that the same filter allows: futexes on shared words and on the process's own locks, and calls that
 * map, move, give back and unmap its own memory. */
static int act_wait(void) {
        /* A kernel without huge pages refuses some of these; the filter would end the process. */
        static const int advices[] = { MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
                MADV_WILLNEED };
        static uint32_t lock;
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                return WORKED;
        for (size_t i = 0; i < G_N_ELEMENTS(advices); i++)
                (void) madvise(p, 4096, advices[i]);
        p = mremap(p, 4096, 1 << 20, MREMAP_MAYMOVE);
        if (p == MAP_FAILED || munmap(p, 1 << 20) < 0)
                return WORKED;
        if (futex_at(&lock, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, NULL) != 0)
                return WORKED;
        if (!shared_words)
                return REFUSED;
        return futex_at(shared_words, FUTEX_WAKE, NULL) == 0 &&
                                               futex_at(shared_words, FUTEX_WAIT, NULL) < 0 &&
                                               errno == EAGAIN
                               ? REFUSED
                               : WORKED;
}

static void test_wait(gconstpointer data) {
        for (int libraries = 0; libraries < 2; libraries++) {
                const Case c = { .level = GPOINTER_TO_UINT(data),
                        .libraries = libraries,
                        .act = act_wait,
                        .keep_fd = -1,
                        .cgroup_fd = -1 };
                int status = enter_and_act(&c);

                if (status == -1) {
                        g_test_skip("this machine gives no user namespaces here");
                        return;
                }
                g_assert_cmpint(status, ==, REFUSED << 8);
        }
}

int main(int argc, char **argv) {
#ifdef ACTORD_SANITIZE
        printf("1..0 # SKIP a build with sanitizers has no filter\n");
        return 0;
#endif
        g_test_init(&argc, &argv, NULL);
        case_settings.memory_max_bytes = 1ull << 30;
        case_settings.n_actors = case_settings.n_threads = 1;

        g_test_add_data_func("/sandbox/process/words", GUINT_TO_POINTER(SANDBOX_LEVEL_PROCESS), test_words);
        g_test_add_data_func("/sandbox/process/wait", GUINT_TO_POINTER(SANDBOX_LEVEL_PROCESS), test_wait);
        g_test_add_data_func("/sandbox/full/words", GUINT_TO_POINTER(SANDBOX_LEVEL_FULL), test_words);
        g_test_add_data_func("/sandbox/full/wait", GUINT_TO_POINTER(SANDBOX_LEVEL_FULL), test_wait);
        return g_test_run();
}
