/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that look_at_message() tells the descriptors of the next message from those of later messages. */
#include "daemon/look.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "daemon/wire.h"
#include "lib/cleanup.h"
#include "lib/message.h"

#define MESSAGE_MAX 4096u

typedef struct Fixture {
        int bus[2]; /* bus[1] sends; look_at_message() gets bus[0] */
} Fixture;

static void open_fixture(Fixture *f) {
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->bus), ==, 0);
}

static void close_fixture(Fixture *f) {
        (void) close(f->bus[0]);
        (void) close(f->bus[1]);
}

/* Sends the bytes from `begin` to `end` of a message that has n bytes and no fields. brings: whether a
 * descriptor comes with these bytes. */
static void send_part(const Fixture *f, size_t n, size_t begin, size_t end, bool brings) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        uint8_t message[MESSAGE_MAX] = { 'l', 1, 0, 1 };
        uint32_t n_body = (uint32_t) (n - WIRE_START_BYTES);

        g_assert_cmpuint(n, <=, sizeof(message));
        memcpy(message + 4, &n_body, sizeof(n_body));
        g_assert_cmpint(message_send(f->bus[1], message + begin, end - begin, &fd, brings), ==, 0);
}

static void send_whole(const Fixture *f, size_t n, bool brings) {
        send_part(f, n, 0, n, brings);
}

static int look(const Fixture *f) {
        uint8_t bytes[MESSAGE_MAX];
        size_t n;

        return look_at_message(f->bus[0], bytes, sizeof(bytes), &n);
}

static void take(const Fixture *f, size_t n) {
        uint8_t bytes[MESSAGE_MAX];

        g_assert_cmpint(recv(f->bus[0], bytes, n, MSG_WAITALL), ==, (ssize_t) n);
}

static void test_whose(void) {
        Fixture f;

        open_fixture(&f);
        g_assert_cmpint(look(&f), ==, -EAGAIN);
        send_whole(&f, 40, false);
        g_assert_cmpint(look(&f), ==, 0);
        send_whole(&f, 64, true);
        send_whole(&f, 32, true);
        g_assert_cmpint(look(&f), ==, 0);
        take(&f, 40);
        g_assert_cmpint(look(&f), ==, 1);
        take(&f, 64);
        g_assert_cmpint(look(&f), ==, 1);
        take(&f, 32);
        close_fixture(&f);
}

/* look_at_message() leaves the message on the socket, with its bytes and descriptors. */
static void test_nothing_taken(void) {
        uint8_t bytes[MESSAGE_MAX];
        Fixture f;
        size_t n = 0, n_fds = 0;
        int fd = -EBADF;

        open_fixture(&f);
        send_whole(&f, 48, true);
        for (int i = 0; i < 3; i++) {
                g_assert_cmpint(look_at_message(f.bus[0], bytes, sizeof(bytes), &n), ==, 1);
                g_assert_cmpuint(n, ==, 48);
        }
        g_assert_cmpint(message_receive(f.bus[0], 0, bytes, sizeof(bytes), &n, &fd, 1, &n_fds), ==, 0);
        g_assert_cmpuint(n, ==, 48);
        g_assert_cmpuint(n_fds, ==, 1);
        (void) close(fd);
        close_fixture(&f);
}

/* A message that comes piece by piece has its descriptors with the first piece. */
static void test_pieces(void) {
        Fixture f;

        open_fixture(&f);
        send_part(&f, 60, 0, 10, true);
        g_assert_cmpint(look(&f), ==, 1);
        send_part(&f, 60, 10, 60, false);
        g_assert_cmpint(look(&f), ==, 1);
        take(&f, 10);
        take(&f, 50);
        send_part(&f, 60, 0, 30, false);
        g_assert_cmpint(look(&f), ==, 0);
        send_part(&f, 60, 30, 60, false);
        send_whole(&f, 20, true);
        g_assert_cmpint(look(&f), ==, 0);
        close_fixture(&f);
}

/* The bytes that are looked at hold only messages without descriptors. The message with a descriptor comes
 * far behind them. */
static void test_many(void) {
        uint8_t bytes[256];
        Fixture f;
        size_t n;

        open_fixture(&f);
        for (int i = 0; i < 20; i++)
                send_whole(&f, 100, false);
        send_whole(&f, 100, true);
        g_assert_cmpint(look_at_message(f.bus[0], bytes, sizeof(bytes), &n), ==, 0);
        g_assert_cmpuint(n, ==, sizeof(bytes));
        close_fixture(&f);
}

static void test_ended(void) {
        Fixture f;

        open_fixture(&f);
        send_whole(&f, 40, true);
        (void) shutdown(f.bus[1], SHUT_WR);
        g_assert_cmpint(look(&f), ==, 1);
        take(&f, 40);
        g_assert_cmpint(look(&f), ==, -EPIPE);
        close_fixture(&f);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/look/whose", test_whose);
        g_test_add_func("/look/nothing-taken", test_nothing_taken);
        g_test_add_func("/look/pieces", test_pieces);
        g_test_add_func("/look/many", test_many);
        g_test_add_func("/look/ended", test_ended);
        return g_test_run();
}
