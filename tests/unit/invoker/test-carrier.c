/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests a node's carrier, the process that carries frames between the node and the job's host. The test
 * plays the job's invoker, a relay, and the node. */
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invoker/carrier.h"
#include "invoker/frame.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

enum { PATIENCE_MSEC = 60000, POLICY_BYTES = 4096 };

static JobPage page;
static JobSettings settings = { .timeout_usec = 600000000 };
static Placement place = { .page = &page, .settings = &settings, .n_actors = 1, .n_containers = 1 };

typedef struct CarrierFixture {
        pid_t pid;
        int stream_fd, control_fd, relay_fd;
        uint64_t sequence; /* of the node's next frame */
} CarrierFixture;

static void send_frame(CarrierFixture *f, FrameKind kind, uint32_t birth, const void *body, size_t n) {
        const FrameHead head = {
                .magic = FRAME_MAGIC, .kind = kind, .birth = birth, .sequence = f->sequence++, .n_bytes = n
        };

        g_assert_cmpint(write_full(f->stream_fd, &head, sizeof(head)), ==, 0);
        g_assert_cmpint(write_full(f->stream_fd, body, n), ==, 0);
}

static CarrierWord next_word(const CarrierFixture *f) {
        CarrierWord word;
        size_t n, n_fds;

        g_assert_cmpint(message_receive(f->control_fd, PATIENCE_MSEC, &word, sizeof(word), &n, NULL, 0,
                                        &n_fds),
                        ==, 0);
        g_assert_cmpuint(n, ==, sizeof(word));
        return word;
}

/* The node is ready, and a container has its first process there. */
static void setup(CarrierFixture *f, gconstpointer data) {
        static NodeHello hello = {
                .abi = STREAM_ABI, .struct_bytes = sizeof(hello), .release = ACTORD_VERSION
        };
        static CarrierMeter meter;
        CarrierWord word = { .kind = CARRIER_ATTACH };
        int stream[2], control[2], relay[2];

        (void) alarm(PATIENCE_MSEC / 1000);
        page.segment = (SegmentLayout){ .envs = 1, .agents = 1, .snapshot_stride = 64, .finals_at = 64 };
        page.policy = (PolicyLayout){
                .n_banks = 1, .bank_bytes = POLICY_BYTES, .segment_bytes = POLICY_BYTES
        };
        place.policy_read_fd = memfd_make("policy", POLICY_BYTES);
        hello.page = page;
        (void) g_strlcpy(hello.words, data ?: "", sizeof(hello.words));
        *f = (CarrierFixture){};
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), ==, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), ==, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, relay), ==, 0);
        f->pid = fork();
        g_assert_cmpint(f->pid, >=, 0);
        if (f->pid == 0)
                carrier_run(&place, stream[1], control[1], &meter);
        (void) close(stream[1]);
        (void) close(control[1]);
        f->stream_fd = stream[0];
        f->control_fd = control[0];
        f->relay_fd = relay[0];
        send_frame(f, FRAME_HELLO, 0, &hello, sizeof(hello));
        if (data) {
                (void) close(relay[1]);
                return;
        }
        g_assert_cmpuint(next_word(f).kind, ==, CARRIER_READY);
        g_assert_cmpint(message_send(f->control_fd, &word, sizeof(word), &relay[1], 1), ==, 0);
        (void) close(relay[1]);
}

static void teardown(CarrierFixture *f, gconstpointer data) {
        (void) data;
        (void) kill(f->pid, SIGKILL);
        g_assert_cmpint(waitpid(f->pid, NULL, 0), ==, f->pid);
        (void) close(f->stream_fd);
        (void) close(f->control_fd);
        (void) close(f->relay_fd);
        (void) close(place.policy_read_fd);
}

/* Writes an order as the relay (invoker/relay.h), and checks that it reaches the node. */
static void order(const CarrierFixture *f) {
        const Order probe = { .kind = ORDER_PROBE };
        const FrameHead head = { .magic = FRAME_MAGIC, .kind = FRAME_ORDER, .n_bytes = sizeof(probe) };
        FrameHead got = {};
        uint8_t body[sizeof(Order)];

        g_assert_cmpint(write_full(f->relay_fd, &head, sizeof(head)), ==, 0);
        g_assert_cmpint(write_full(f->relay_fd, &probe, sizeof(probe)), ==, 0);
        do {
                g_assert_cmpint(read_full(f->stream_fd, &got, sizeof(got)), ==, 0);
                g_assert_cmpint(read_full(f->stream_fd, body, got.n_bytes), ==, 0);
        } while (got.kind == FRAME_PING);
        g_assert_cmpuint(got.kind, ==, FRAME_ORDER);
        g_assert_cmpuint(got.birth, ==, 1);
}

static void assert_carried(const CarrierFixture *f, FrameKind kind) {
        uint8_t body[sizeof(FrameAnswer)];
        FrameHead head;

        g_assert_cmpint(read_full(f->relay_fd, &head, sizeof(head)), ==, 0);
        g_assert_cmpuint(head.kind, ==, kind);
        g_assert_cmpuint(head.n_bytes, <=, sizeof(body));
        g_assert_cmpint(read_full(f->relay_fd, body, head.n_bytes), ==, 0);
}

static void assert_lost(const CarrierFixture *f) {
        CarrierWord word = next_word(f);

        g_assert_cmpuint(word.kind, ==, CARRIER_LOST);
        g_assert_cmpstr(word.words, ==, "it sent an answer that was not asked for");
}

/* The node answers each order or reports that the process ended without an answer. The relay gets answers
 * and reports in the order in which the node sent them. */
static void test_in_order(CarrierFixture *f, gconstpointer data) {
        static const FrameAnswer answer;
        static const FrameEnded ended = { .fault = FAULT_EXITED };

        (void) data;
        for (unsigned i = 0; i < 2; i++) {
                order(f);
                send_frame(f, FRAME_ANSWER, 1, &answer, sizeof(answer));
                assert_carried(f, FRAME_ANSWER);
        }
        send_frame(f, FRAME_ENDED, 1, &ended, sizeof(ended));
        assert_carried(f, FRAME_ENDED);
        /* This answer is about a process that has ended, so the relay does not get it. */
        send_frame(f, FRAME_ANSWER, 0, &answer, sizeof(answer));
        (void) close_fd(f->control_fd);
        f->control_fd = -EBADF;
}

/* A relay without an order does not read. A node that answers nevertheless could fill the relay's socket,
 * and then the carrier would wait for ever. */
static void test_unasked(CarrierFixture *f, gconstpointer data) {
        static const FrameAnswer answer;

        (void) data;
        order(f);
        send_frame(f, FRAME_ANSWER, 1, &answer, sizeof(answer));
        assert_carried(f, FRAME_ANSWER);
        send_frame(f, FRAME_ANSWER, 1, &answer, sizeof(answer));
        assert_lost(f);
}

static void test_ended_twice(CarrierFixture *f, gconstpointer data) {
        static const FrameEnded ended = { .fault = FAULT_EXITED };

        (void) data;
        order(f);
        send_frame(f, FRAME_ENDED, 1, &ended, sizeof(ended));
        assert_carried(f, FRAME_ENDED);
        send_frame(f, FRAME_ENDED, 1, &ended, sizeof(ended));
        assert_lost(f);
}

/* A node that cannot begin is lost for the reason that it gives, as one line of plain characters. */
static void test_cannot_begin(CarrierFixture *f, gconstpointer data) {
        CarrierWord word = next_word(f);

        (void) data;
        g_assert_cmpuint(word.kind, ==, CARRIER_LOST);
        g_assert_cmpstr(word.words, ==, "it cannot begin: no?[31mlibm");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/carrier/" name, CarrierFixture, NULL, setup, test, teardown)
        ADD("in-order", test_in_order);
        ADD("unasked", test_unasked);
        ADD("ended-twice", test_ended_twice);
        g_test_add("/carrier/cannot-begin", CarrierFixture, "no\033[31mlibm", setup, test_cannot_begin,
                        teardown);
        return g_test_run();
}
