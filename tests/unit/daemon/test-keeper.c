/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keepers receive descriptors for the gate, pass them on by their tokens, and are used again. */
#include "daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "daemon/gate.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

#define PATIENCE_USEC (60 * G_USEC_PER_SEC)
#define SOON_USEC     (200u * 1000)
#define EXIT_SKIP     77

typedef struct Fixture {
        Keepers *keepers;
        int bus[2]; /* the test sends messages to the second; keepers receive them from the first */
} Fixture;

static void open_fixture_for(Fixture *f, uint64_t start_usec) {
        g_assert_cmpint(keepers_new(start_usec, &f->keepers), ==, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->bus), ==, 0);
}

static void open_fixture(Fixture *f) {
        open_fixture_for(f, KEEPER_START_USEC);
}

static void close_fixture(Fixture *f) {
        f->keepers = keepers_free(f->keepers);
        (void) close(f->bus[0]);
        (void) close(f->bus[1]);
}

static void send_fds(const Fixture *f, char byte, const int fds[], size_t n) {
        g_assert_cmpint(message_send(f->bus[1], &byte, 1, fds, n), ==, 0);
}

static Received receive(const Fixture *f, uint32_t uid) {
        Received received;

        g_assert_cmpint(keepers_receive(f->keepers, f->bus[0], uid, &received), ==, 1);
        return received;
}

static void close_tokens(const Received *received) {
        for (size_t i = 0; i < received->n_tokens; i++)
                (void) close(received->tokens[i]);
}

static Received one(const Fixture *f, uint32_t uid) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        send_fds(f, 'x', &fd, 1);
        return receive(f, uid);
}

static bool is_same(int a, int b) {
        struct stat sa, sb;

        return fstat(a, &sa) >= 0 && fstat(b, &sb) >= 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* A token is another descriptor, by which the caller's descriptor can be fetched. Sealed memory gets no
 * token: its own descriptor is passed on. */
static void test_served(void) {
        _cleanup_close_ int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC), fetched = -EBADF;
        _cleanup_close_ int sealed = memfd_make_sealed("text", "abc", 3), open_memory = memfd_make("m", 8);
        Fixture f;
        Received received;

        open_fixture(&f);
        send_fds(&f, 'a', (const int[]){ sealed, null_fd, open_memory }, 3);
        received = receive(&f, 1000);
        g_assert_cmpint(received.byte, ==, 'a');
        g_assert_cmpuint(received.n_tokens, ==, 3);
        g_assert_true(is_same(received.tokens[0], sealed));
        g_assert_false(is_same(received.tokens[1], null_fd));
        g_assert_false(is_same(received.tokens[2], open_memory));
        fetched = gate_fetch(received.tokens[1]);
        g_assert_cmpint(fetched, >=, 0);
        g_assert_true(is_same(fetched, null_fd));
        close_tokens(&received);
        close_fixture(&f);
}

/* Only the first GATE_DESCRIPTORS_MAX descriptors of a message get tokens. The keeper closes the others,
 * too. */
static void test_many(void) {
        int fds[GATE_DESCRIPTORS_MAX + 2], pipes[2];
        char byte;
        Fixture f;
        Received received;

        g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
        open_fixture(&f);
        for (size_t i = 0; i < G_N_ELEMENTS(fds); i++)
                fds[i] = pipes[1];
        send_fds(&f, 'b', fds, G_N_ELEMENTS(fds));
        (void) close(pipes[1]);
        received = receive(&f, 1000);
        g_assert_cmpuint(received.n_tokens, ==, GATE_DESCRIPTORS_MAX);
        close_tokens(&received);
        g_assert_cmpint(read(pipes[0], &byte, 1), ==, 0);
        (void) close(pipes[0]);
        close_fixture(&f);
}

static void rest(const Fixture *f) {
        gint64 end = g_get_monotonic_time() + PATIENCE_USEC;

        while (keepers_count(f->keepers) > 0 && g_get_monotonic_time() < end) {
                keepers_rest(f->keepers);
                g_usleep(1000);
        }
        g_assert_cmpuint(keepers_count(f->keepers), ==, 0);
}

/* A keeper (daemon/keeper.h) that has closed all its descriptors takes the next message. When no messages
 * come, all keepers end. */
static void test_again(void) {
        gint64 end = g_get_monotonic_time() + PATIENCE_USEC;
        unsigned before, again = 0;
        Received received;
        Fixture f;

        open_fixture(&f);
        while (again < 100 && g_get_monotonic_time() < end) {
                before = keepers_count(f.keepers);
                received = one(&f, 1000 + again % 2);
                close_tokens(&received);
                again += keepers_count(f.keepers) == before;
        }
        g_assert_cmpuint(again, ==, 100);
        rest(&f);
        received = one(&f, 1000);
        g_assert_cmpuint(received.n_tokens, ==, 1);
        close_tokens(&received);
        close_fixture(&f);
}

/* A user who holds the largest number of keepers gets tokens that no keeper serves. Another user is
 * served as before, and all keepers end. */
static void test_limit(void) {
        Received *held = g_new(Received, KEEPERS_USER_MAX), over[2], other;
        _cleanup_close_ int fetched = -EBADF;
        Fixture f;

        open_fixture(&f);
        for (size_t i = 0; i < KEEPERS_USER_MAX; i++)
                held[i] = one(&f, 1000);
        for (size_t i = 0; i < G_N_ELEMENTS(over); i++) {
                over[i] = one(&f, 1000);
                g_assert_cmpuint(over[i].n_tokens, ==, 1);
                g_assert_cmpint(gate_fetch(over[i].tokens[0]), ==, -ENOLINK);
                close_tokens(over + i);
        }
        other = one(&f, 1001);
        fetched = gate_fetch(other.tokens[0]);
        g_assert_cmpint(fetched, >=, 0);
        close_tokens(&other);

        g_assert_cmpuint(keepers_count(f.keepers), ==, KEEPERS_USER_MAX + 2);
        for (size_t i = 0; i < KEEPERS_USER_MAX; i++)
                close_tokens(held + i);
        rest(&f);
        g_free(held);
        close_fixture(&f);
}

static pid_t only_child(void) {
        g_autofree char *text = NULL;

        if (!g_file_get_contents("/proc/thread-self/children", &text, NULL, NULL))
                return 0;
        return (pid_t) g_ascii_strtoll(text, NULL, 10);
}

/* Reads how often each keeper has slept and was woken. */
static size_t count_wakes(gint64 wakes[], size_t max) {
        g_autofree char *text = NULL;
        g_auto(GStrv) pids = NULL;
        size_t n = 0;

        if (!g_file_get_contents("/proc/thread-self/children", &text, NULL, NULL))
                return 0;
        pids = g_strsplit(g_strstrip(text), " ", -1);
        for (; n < max && pids[n]; n++) {
                g_autofree char *path = g_strdup_printf("/proc/%s/status", pids[n]), *status = NULL;
                const char *line;

                g_assert_true(g_file_get_contents(path, &status, NULL, NULL));
                line = strstr(status, "\nvoluntary_ctxt_switches:");
                g_assert_nonnull(line);
                wakes[n] = g_ascii_strtoll(strchr(line, ':') + 1, NULL, 10);
        }
        return n;
}

#define MANY 16u

/* An order wakes one keeper and not all that wait: with many messages, all keepers would do little else. */
static void test_wakes_one(void) {
        gint64 before[MANY], again[MANY], after[MANY];
        Received held[MANY];
        size_t n, n_woken = 0;
        Fixture f;

        open_fixture(&f);
        for (size_t i = 0; i < MANY; i++)
                held[i] = one(&f, 1000);
        for (size_t i = 0; i < MANY; i++)
                close_tokens(held + i);
        n = count_wakes(again, MANY);
        do { /* until all of them wait for orders */
                memcpy(before, again, sizeof(before));
                g_usleep(SOON_USEC);
                (void) count_wakes(again, MANY);
        } while (memcmp(before, again, n * sizeof(*before)) != 0);
        if (n == MANY) {
                held[0] = one(&f, 1000);
                g_usleep(SOON_USEC);
                g_assert_cmpuint(count_wakes(after, MANY), ==, MANY);
                for (size_t i = 0; i < MANY; i++)
                        n_woken += after[i] != before[i];
                g_assert_cmpuint(n_woken, ==, 1);
                close_tokens(held);
        } else
                g_test_skip("this kernel does not list a process's children");
        rest(&f);
        close_fixture(&f);
}

/* If a keeper is killed before it carries out an order, the next keeper carries the order out. */
static void test_killed(void) {
        Received received;
        pid_t keeper;
        Fixture f;

        open_fixture(&f);
        received = one(&f, 1000);
        close_tokens(&received);
        keeper = only_child();
        if (keeper <= 0) {
                g_test_skip("this kernel does not list a process's children");
                close_fixture(&f);
                return;
        }
        g_assert_cmpint(kill(keeper, SIGSTOP), ==, 0);
        if (fork() == 0) {
                g_usleep(200 * 1000);
                (void) kill(keeper, SIGKILL);
                _exit(EXIT_SUCCESS);
        }
        received = one(&f, 1000);
        g_assert_cmpuint(received.n_tokens, ==, 1);
        close_tokens(&received);
        rest(&f);
        close_fixture(&f);
}

/* The next process that is forked hangs before it does anything, until the test ends. */
static bool next_hangs;

static void hang_in_child(void) {
        if (!next_hangs)
                return;
        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        for (;;)
                (void) pause();
}

static void hang_once(void) {
        next_hangs = false;
}

/* If a keeper hangs at its start, another keeper takes the message, and the next one, too. */
static void test_hangs_at_start(void) {
        Received received;
        pid_t keeper;
        Fixture f;

        g_assert_cmpint(pthread_atfork(NULL, hang_once, hang_in_child), ==, 0);
        open_fixture_for(&f, SOON_USEC);
        next_hangs = true;
        received = one(&f, 1000);
        g_assert_cmpuint(received.n_tokens, ==, 1);
        /* There are more than two keepers if one that does not hang starts slowly. */
        g_assert_cmpuint(keepers_count(f.keepers), >=, 2);
        keeper = only_child();
        close_tokens(&received);
        received = one(&f, 1001);
        g_assert_cmpuint(received.n_tokens, ==, 1);
        close_tokens(&received);
        if (keeper > 0) {
                g_assert_cmpint(kill(keeper, SIGKILL), ==, 0);
                rest(&f);
        }
        close_fixture(&f);
}

/* While no keeper's process can be started, a message stays unread in the socket. */
static int without_processes(void) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct rlimit processes;
        Received received;
        Fixture f;

        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
                return EXIT_SKIP;
        open_fixture(&f);
        send_fds(&f, 'x', &fd, 1);
        g_assert_cmpint(getrlimit(RLIMIT_NPROC, &processes), ==, 0);
        g_assert_cmpint(setrlimit(RLIMIT_NPROC, &(struct rlimit){ 0, processes.rlim_max }), ==, 0);
        g_assert_cmpint(keepers_receive(f.keepers, f.bus[0], 1000, &received), ==, 0);
        g_assert_cmpint(keepers_receive(f.keepers, f.bus[0], 1000, &received), ==, 0);
        g_assert_cmpint(setrlimit(RLIMIT_NPROC, &processes), ==, 0);
        received = receive(&f, 1000);
        g_assert_cmpuint(received.n_tokens, ==, 1);
        close_tokens(&received);
        rest(&f);
        close_fixture(&f);
        return EXIT_SUCCESS;
}

static void test_no_process(void) {
        int status;
        pid_t pid = fork();

        if (pid == 0)
                _exit(without_processes());
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
                g_test_skip("another user's identity cannot be taken here");
        else
                g_assert_cmpint(status, ==, 0);
}

/* If some users hold KEEPERS_MAX keepers together, a message of another user gets a token, but no keeper
 * serves it. */
static void test_full(void) {
        g_autofree Received *held = g_new(Received, KEEPERS_MAX);
        struct rlimit files;
        Received over;
        size_t n = 0;
        Fixture f;

        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &files), ==, 0);
        files.rlim_cur = files.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &files);
        if (files.rlim_cur < KEEPERS_MAX + 64) {
                g_test_skip("a process may not have as many descriptors here");
                return;
        }
        open_fixture(&f);
        for (uint32_t user = 0; user < KEEPERS_MAX / KEEPERS_USER_MAX; user++)
                for (size_t i = 0; i < KEEPERS_USER_MAX; i++)
                        held[n++] = one(&f, 1000 + user);
        over = one(&f, 2000);
        g_assert_cmpuint(over.n_tokens, ==, 1);
        g_assert_cmpint(gate_fetch(over.tokens[0]), ==, -ENOLINK);
        g_assert_cmpuint(keepers_count(f.keepers), <, KEEPERS_MAX);
        close_tokens(&over);
        for (size_t i = 0; i < n; i++)
                close_tokens(held + i);
        rest(&f);
        close_fixture(&f);
}

/* Traces a keeper, and kills it when it has received descriptors and is about to close the bus's socket.
 * Writes a byte to say_fd as soon as it traces the keeper. */
static int kill_late(pid_t pid, int say_fd) {
        struct __ptrace_syscall_info call;
        unsigned n_received = 0;
        int status;

        if (ptrace(PTRACE_SEIZE, pid, NULL, (void *) PTRACE_O_TRACESYSGOOD) < 0 ||
                        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
                return EXIT_SKIP;
        for (bool said = false;; said = true) {
                if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
                                (!said && write(say_fd, "", 1) != 1) ||
                                ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *) sizeof(call), &call) < 0)
                        return EXIT_FAILURE;
                if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
                        n_received += call.entry.nr == SYS_recvmsg;
                        if (n_received == 2 && call.entry.nr == SYS_close)
                                return kill(pid, SIGKILL);
                }
                if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0)
                        return EXIT_FAILURE;
        }
}

static bool start_killer(pid_t keeper) {
        _cleanup_close_ int listen_fd = -EBADF, say_fd = -EBADF;
        int pair[2];
        char byte;

        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        listen_fd = pair[0];
        say_fd = pair[1];
        if (fork() == 0)
                _exit(kill_late(keeper, say_fd));
        say_fd = close_fd(say_fd);
        return read(listen_fd, &byte, 1) == 1;
}

/* If a keeper is killed after it has received and before it answers, keepers_receive() reports it at once
 * (-ECHILD), and another keeper takes the next message. */
static void test_killed_late(void) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        _cleanup_close_ int sealed = memfd_make_sealed("text", "abc", 3);
        Received received;
        pid_t keeper;
        Fixture f;
        char byte;

        open_fixture(&f);
        /* A keeper never holds sealed memory, so it is ready for the next message at once. */
        send_fds(&f, 'x', &sealed, 1);
        received = receive(&f, 1000);
        close_tokens(&received);
        keeper = only_child();
        if (keeper > 0 && start_killer(keeper)) {
                send_fds(&f, 'y', &fd, 1);
                g_assert_cmpint(keepers_receive(f.keepers, f.bus[0], 1000, &received), ==, -ECHILD);
                g_assert_cmpint(recv(f.bus[0], &byte, 1, MSG_DONTWAIT), ==, -1);
                received = one(&f, 1000);
                g_assert_cmpuint(received.n_tokens, ==, 1);
                close_tokens(&received);
        } else
                g_test_skip("this host does not let a process be traced");
        rest(&f);
        close_fixture(&f);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/keeper/served", test_served);
        g_test_add_func("/keeper/many", test_many);
        g_test_add_func("/keeper/again", test_again);
        g_test_add_func("/keeper/limit", test_limit);
        g_test_add_func("/keeper/wakes-one", test_wakes_one);
        g_test_add_func("/keeper/killed", test_killed);
        g_test_add_func("/keeper/killed-late", test_killed_late);
        g_test_add_func("/keeper/hangs-at-start", test_hangs_at_start);
        g_test_add_func("/keeper/no-process", test_no_process);
        g_test_add_func("/keeper/full", test_full);
        return g_test_run();
}
