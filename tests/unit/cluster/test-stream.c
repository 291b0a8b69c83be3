/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests a TLS session between two ends that know the same key, the bytes that it carries, and the messages
 * that come before it. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/command.h"
#include "cluster/hello.h"
#include "cluster/pump.h"
#include "cluster/tls.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { SECONDS = 20, BYTES = 3 << 20 };

static uint64_t soon(void) {
        return clock_boottime() + SECONDS * 1000000000ull;
}

/* Starts the other end in a process of its own, which makes a TLS session, carries bytes and exits. */
static pid_t start_peer(bool server, int fd, const uint8_t key[KEY_BYTES], int local_fd) {
        int fds[] = { fd, local_fd };
        pid_t pid = fork();
        Tls tls = TLS_NONE;

        g_assert_cmpint(pid, >=, 0);
        if (pid > 0)
                return pid;
        (void) alarm(SECONDS);
        if (fd_keep_only(fds, G_N_ELEMENTS(fds)) < 0 || tls_start(&tls, server, fds[0], key, soon()) < 0)
                _exit(3);
        _exit(local_fd < 0 ? 0 : (int) pump_run(&tls, fds[1], -EBADF));
}

static int end_of(pid_t pid) {
        int status = 0;

        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void pair_make(int type, int ret[2]) {
        g_assert_cmpint(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret), ==, 0);
}

/* Tests that more bytes than any buffer holds, sent in both directions at once, arrive unchanged. */
static void test_carried(void) {
        const uint8_t key[KEY_BYTES] = { 1, 2, 3 };
        g_autofree uint8_t *sent = g_malloc(BYTES), *got = g_malloc(BYTES);
        int wire[2], here[2], there[2];
        pid_t peer, writer, pump;

        pair_make(SOCK_STREAM, wire);
        pair_make(SOCK_STREAM, here);
        pair_make(SOCK_STREAM, there);
        for (size_t i = 0; i < BYTES; i++)
                sent[i] = (uint8_t) (i * 2654435761u >> 13);
        peer = start_peer(false, wire[1], key, there[1]);
        close(wire[1]);
        close(there[1]);
        pump = start_peer(true, wire[0], key, here[1]);
        close(wire[0]);
        close(here[1]);
        writer = fork();
        if (writer == 0) {
                (void) fcntl(here[0], F_SETFL, 0);
                _exit(write_full(here[0], sent, BYTES) < 0);
        }
        (void) fcntl(there[0], F_SETFL, 0);
        g_assert_cmpint(read_full(there[0], got, BYTES), ==, 0);
        g_assert_cmpint(memcmp(sent, got, BYTES), ==, 0);
        g_assert_cmpint(end_of(writer), ==, 0);
        /* When the local stream of one peer ends, the other peer's ends, too. */
        close(here[0]);
        g_assert_cmpint(end_of(pump), ==, PUMP_LOCAL);
        g_assert_cmpint(end_of(peer), ==, PUMP_PEER);
        g_assert_cmpint(read_full(there[0], got, 1), ==, -ENODATA);
        close(there[0]);
}

static void test_wrong_key(void) {
        const uint8_t key[KEY_BYTES] = { 1 }, other[KEY_BYTES] = { 2 };
        int wire[2];
        Tls tls = TLS_NONE;
        pid_t peer;

        pair_make(SOCK_STREAM, wire);
        peer = start_peer(false, wire[1], other, -EBADF);
        close(wire[1]);
        g_assert_cmpint(tls_start(&tls, true, wire[0], key, soon()), <, 0);
        tls_done(&tls);
        close(wire[0]);
        g_assert_cmpint(end_of(peer), ==, 3);
}

/* A silent peer makes tls_start() wait until the deadline. A peer that speaks no TLS ends it at once. */
static void test_strange_peers(void) {
        const uint8_t key[KEY_BYTES] = { 1 };
        int wire[2];
        Tls tls = TLS_NONE;

        pair_make(SOCK_STREAM, wire);
        g_assert_cmpint(tls_start(&tls, true, wire[0], key, clock_boottime() + 50000000), ==, -ETIMEDOUT);
        tls_done(&tls);
        g_assert_cmpint(write(wire[1], "GET / HTTP/1.0\r\n\r\n", 18), ==, 18);
        g_assert_cmpint(tls_start(&tls, true, wire[0], key, soon()), ==, -EPROTO);
        tls_done(&tls);
        close(wire[0]);
        close(wire[1]);
}

static void test_cut(void) {
        const uint8_t key[KEY_BYTES] = { 1 };
        int wire[2], local[2];
        Tls tls = TLS_NONE;
        pid_t peer;

        pair_make(SOCK_STREAM, wire);
        pair_make(SOCK_STREAM, local);
        peer = start_peer(false, wire[1], key, -EBADF);
        close(wire[1]);
        g_assert_cmpint(tls_start(&tls, true, wire[0], key, soon()), ==, 0);
        g_assert_cmpint(pump_run(&tls, local[0], -EBADF), ==, PUMP_CUT);
        g_assert_cmpint(end_of(peer), ==, 0);
        tls_done(&tls);
        close(wire[0]);
        close(local[0]);
        close(local[1]);
}

static void test_hello(void) {
        const uint8_t token[TOKEN_BYTES] = { 7 }, other[TOKEN_BYTES] = { 8 };
        Hello hello;
        Sealed sealed = { .magic = HELLO_MAGIC, .node = 3 };

        hello_make(token, 3, 100, &hello);
        g_assert_null(hello_check(&hello, token));
        g_assert_true(hello_is_ours(&hello));
        g_assert_nonnull(hello_check(&hello, other));
        memcpy(sealed.token, token, TOKEN_BYTES);
        g_assert_true(sealed_check(&sealed, sizeof(sealed), &hello));
        g_assert_false(sealed_check(&sealed, sizeof(sealed) - 1, &hello));
        sealed.node = 4;
        g_assert_false(sealed_check(&sealed, sizeof(sealed), &hello));
        hello.n_credential = HELLO_CREDENTIAL_MAX + 1;
        g_assert_nonnull(hello_check(&hello, token));
        hello_make(token, 3, 100, &hello);
        hello.contracts++;
        g_assert_false(hello_is_ours(&hello));
        hello_make(token, 3, 100, &hello);
        hello.version[0] = '9';
        g_assert_null(hello_check(&hello, token));
        g_assert_false(hello_is_ours(&hello));
}

static void test_token(void) {
        uint8_t token[TOKEN_BYTES] = { 0, 1, 0xab, [TOKEN_BYTES - 1] = 0xff }, read[TOKEN_BYTES];
        char text[TOKEN_TEXT_BYTES];

        token_to_string(token, text);
        g_assert_true(token_from_string(text, read));
        g_assert_cmpint(memcmp(token, read, TOKEN_BYTES), ==, 0);
        text[3] = 'g';
        g_assert_false(token_from_string(text, read));
        g_assert_false(token_from_string("", read));
}

static void wait_for(Command *command) {
        while (!command_step(command, clock_boottime()))
                g_usleep(1000);
}

/* A command gets its input, and gives its output, errors and status. Other commands print too much, exceed
 * their deadline, or do not exist. */
static void test_command(void) {
        char *cat[] = { (char *) "sh", (char *) "-c", (char *) "cat; echo error >&2; exit 3", NULL };
        char *hang[] = { (char *) "sleep", (char *) "60", NULL };
        char *flood[] = { (char *) "head", (char *) "-c", (char *) "3000000", (char *) "/dev/zero", NULL };
        char *none[] = { (char *) "/nowhere/at-all", NULL };
        Command command = COMMAND_NONE;

        g_assert_cmpint(command_start(&command, cat, "hello\n", SECONDS), ==, 0);
        wait_for(&command);
        g_assert_cmpstr(command.output, ==, "hello\nerror\n");
        g_assert_cmpint(WEXITSTATUS(command.status), ==, 3);
        g_assert_false(command_succeeded(&command));
        g_assert_cmpint(command_start(&command, flood, NULL, SECONDS), ==, 0);
        wait_for(&command);
        g_assert_true(command_succeeded(&command));
        g_assert_true(command.long_output);
        g_assert_cmpuint(command.n_output, ==, COMMAND_OUTPUT_MAX);
        g_assert_cmpint(command_start(&command, hang, NULL, 1), ==, 0);
        wait_for(&command);
        g_assert_true(command.late);
        g_assert_false(command_succeeded(&command));
        g_assert_cmpint(command_start(&command, none, NULL, 1), ==, -ENOENT);
        command_done(&command);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cluster/carried", test_carried);
        g_test_add_func("/cluster/wrong-key", test_wrong_key);
        g_test_add_func("/cluster/strange-peers", test_strange_peers);
        g_test_add_func("/cluster/cut", test_cut);
        g_test_add_func("/cluster/hello", test_hello);
        g_test_add_func("/cluster/token", test_token);
        g_test_add_func("/cluster/command", test_command);
        return g_test_run();
}
