/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends a plugin's file to a node. The node gets exactly the bytes whose digest the head has measured, in
 * memory that cannot change, or no file. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/plugin.h"
#include "include/cluster.h"
#include "include/launch.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { SECONDS = 20, BYTES = (1 << 20) + 17 };

typedef struct Sent {
        Tls tls;
        int fd;
        pid_t pid;
} Sent;

static uint64_t soon(void) {
        return clock_boottime() + SECONDS * 1000000000ull;
}

static uint8_t *content(void) {
        uint8_t *bytes = g_malloc(BYTES);

        for (size_t i = 0; i < BYTES; i++)
                bytes[i] = (uint8_t) (i * 2654435761u >> 11);
        return bytes;
}

static int file_of(size_t n_bytes) {
        g_autofree uint8_t *bytes = content();
        int fd = memfd_create("plugin", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(write_full(fd, bytes, n_bytes), ==, 0);
        return fd;
}

/* The head, in a process of its own, sends the first n_sent bytes of a file and ends. */
static void setup(Sent *sent, size_t n_sent) {
        static const uint8_t key[KEY_BYTES] = { 5 };
        const PluginFacts facts = { .n_bytes = (uint32_t) n_sent };
        int wire[2], fds[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, wire), ==, 0);
        *sent = (Sent){ .tls = TLS_NONE, .fd = wire[0] };
        sent->pid = fork();
        g_assert_cmpint(sent->pid, >=, 0);
        if (sent->pid == 0) {
                Tls tls = TLS_NONE;

                (void) alarm(SECONDS);
                fds[0] = wire[1];
                fds[1] = file_of(n_sent);
                if (fd_keep_only(fds, G_N_ELEMENTS(fds)) < 0 ||
                                tls_start(&tls, true, fds[0], key, soon()) < 0)
                        _exit(3);
                _exit(plugin_send(&tls, fds[1], &facts, soon()) < 0);
        }
        (void) close(wire[1]);
        g_assert_cmpint(tls_start(&sent->tls, false, sent->fd, key, soon()), ==, 0);
}

static void teardown(Sent *sent) {
        tls_done(&sent->tls);
        (void) close(sent->fd);
        g_assert_cmpint(waitpid(sent->pid, NULL, 0), ==, sent->pid);
}

static PluginFacts measured(size_t n_bytes) {
        int fd = file_of(n_bytes);
        PluginFacts facts;

        g_assert_cmpint(plugin_measure(fd, &facts), ==, 0);
        g_assert_cmpuint(facts.n_bytes, ==, n_bytes);
        (void) close(fd);
        return facts;
}

static void test_arrives(void) {
        g_autofree uint8_t *want = content(), *got = g_malloc(BYTES);
        PluginFacts facts = measured(BYTES);
        int fd = -EBADF;
        uint64_t n;
        Sent sent;

        setup(&sent, BYTES);
        g_assert_cmpint(plugin_receive(&sent.tls, &facts, soon(), &fd), ==, 0);
        teardown(&sent);
        g_assert_cmpint(memfd_check_sealed(fd), ==, 0);
        g_assert_cmpint(fd_size(fd, &n), ==, 0);
        g_assert_cmpuint(n, ==, BYTES);
        g_assert_cmpint(pread_full(fd, got, BYTES, 0), ==, 0);
        g_assert_cmpint(memcmp(got, want, BYTES), ==, 0);
        g_assert_cmpint(pwrite(fd, "x", 1, 0), ==, -1);
        (void) close(fd);
}

static void test_truncated(void) {
        PluginFacts facts = measured(BYTES);
        int fd = -EBADF;
        Sent sent;

        setup(&sent, BYTES / 2);
        g_assert_cmpint(plugin_receive(&sent.tls, &facts, soon(), &fd), <, 0);
        g_assert_cmpint(fd, ==, -EBADF);
        teardown(&sent);
}

static void test_changed(void) {
        PluginFacts facts = measured(BYTES);
        int fd = -EBADF;
        Sent sent;

        facts.digest[DIGEST_BYTES - 1] ^= 1;
        setup(&sent, BYTES);
        g_assert_cmpint(plugin_receive(&sent.tls, &facts, soon(), &fd), ==, -ESTALE);
        g_assert_cmpint(fd, ==, -EBADF);
        teardown(&sent);
}

/* Lengths that no file may have are refused before the node receives a byte or allocates memory. */
static void test_lengths(void) {
        static const uint32_t lengths[] = { 0, CLUSTER_PLUGIN_MAX + 1, UINT32_MAX };
        Work work = { .abi = HELLO_ABI, .n_settings = 1, .n_launch = sizeof(Launch) };
        int fd = -EBADF;

        g_assert_true(work_check(&work));
        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                const PluginFacts facts = { .n_bytes = lengths[i] };

                g_assert_cmpint(plugin_receive(&(Tls){ .fd = -EBADF }, &facts, soon(), &fd), ==, -EBADMSG);
                work.n_plugin = lengths[i];
                g_assert_cmpint(work_check(&work), ==, lengths[i] == 0);
        }
}

/* plugin_measure() refuses an empty file and one that is too large. plugin_send() fails if the file has
 * become shorter. */
static void test_files(void) {
        const PluginFacts longer = { .n_bytes = 100 };
        int fd = file_of(0);
        PluginFacts facts;

        g_assert_cmpint(plugin_measure(fd, &facts), ==, -ENODATA);
        g_assert_cmpint(ftruncate(fd, (off_t) CLUSTER_PLUGIN_MAX + 1), ==, 0);
        g_assert_cmpint(plugin_measure(fd, &facts), ==, -EFBIG);
        (void) close(fd);
        fd = file_of(99);
        g_assert_cmpint(plugin_send(&(Tls){ .fd = -EBADF }, fd, &longer, soon()), ==, -ENODATA);
        (void) close(fd);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/plugin/arrives", test_arrives);
        g_test_add_func("/plugin/truncated", test_truncated);
        g_test_add_func("/plugin/changed", test_changed);
        g_test_add_func("/plugin/lengths", test_lengths);
        g_test_add_func("/plugin/files", test_files);
        return g_test_run();
}
