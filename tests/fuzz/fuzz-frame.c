/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds arbitrary bytes to the reader of a stream between the invokers of a job and of a node. It must
 * return whole frames that fit the job, or end the stream.
 *
 * The first byte of the input chooses the sender. Each frame begins with a byte. If this byte is odd, this
 * program makes a valid head for the frame. The head's kind is in the next byte of the input, and the
 * body's length in the two bytes after that. */
#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "invoker/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ACTORS = 3, CONTAINERS = 2, BYTES_MAX = 65536 };

static const JobPage page = {
        .segment = { .envs = 2,
                        .steps = 2,
                        .agents = 1,
                        .frames = 1,
                        .frame_bytes = 8,
                        .finals_at = 128,
                        .finals_max = 4,
                        .snapshot_stride = 64,
                        .snapshots_at = { 192, 320 },
                        .segment_bytes = 4096 },
        .policy = { .bank_bytes = 256, .n_banks = 3, .segment_bytes = 768 },
};

static void check_frame(const FrameReader *reader) {
        const FrameHead *head = &reader->head;
        FrameAnswer answer;
        FramePolicy policy;
        Order order;

        g_assert_cmpuint(head->container, <, CONTAINERS);
        g_assert_cmpuint(head->n_bytes, <=, reader->limits->most);
        if (head->kind == FRAME_ORDER &&
                        frame_order(head, reader->body, &page, ACTORS, CONTAINERS, &order) >= 0) {
                g_assert_cmpuint(order.policy_bank, <, page.policy.n_banks);
                if (order.kind == ORDER_ROLLOUT) {
                        g_assert_cmpuint(order.actor, <, ACTORS);
                        g_assert_cmpuint(order.snapshot_bank, <=, 1);
                        g_assert_cmpuint(head->n_bytes, ==, sizeof(order) + frame_bank_bytes(&page.segment));
                }
        }
        if (head->kind == FRAME_POLICY && frame_policy(head, reader->body, &page, &policy) >= 0)
                g_assert_cmpuint(policy.bank, <, page.policy.n_banks);
        if (head->kind == FRAME_ANSWER && frame_answer(head, reader->body, &page, &answer) >= 0 &&
                        head->n_bytes > sizeof(answer))
                g_assert_cmpuint(frame_rows_bytes(&page.segment, answer.n_finals), <=,
                                page.segment.snapshots_at[0]);
}

/* Turns the input into the bytes of a stream. */
static size_t expand(const uint8_t *data, size_t size, uint8_t *ret) {
        uint64_t sequence = 0;
        size_t n = 0;

        while (size > 0) {
                bool made = data[0] & 1 && size >= 4;
                FrameHead head = {
                        .magic = FRAME_MAGIC, .container = data[0] >> 1 & 1, .sequence = sequence++
                };
                size_t take;

                if (made) {
                        head.kind = data[1] % _FRAME_KIND_MAX;
                        head.n_bytes = (uint64_t) data[2] | (uint64_t) data[3] << 8;
                        if (n + sizeof(head) > BYTES_MAX)
                                break;
                        memcpy(ret + n, &head, sizeof(head));
                        n += sizeof(head);
                }
                data += made ? 4 : 1;
                size -= made ? 4 : 1;
                take = MIN(MIN(size, made ? head.n_bytes : 32), BYTES_MAX - n);
                memcpy(ret + n, data, take);
                n += take;
                data += take;
                size -= take;
        }
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static uint8_t bytes[BYTES_MAX];
        FrameLimits limits;
        FrameReader reader;
        bool heard;
        size_t n;
        int pair[2], r;

        if (size == 0)
                return 0;
        frame_limits(&page, CONTAINERS, data[0] & 1 ? FRAME_SIDE_HEAD : FRAME_SIDE_NODE, &limits);
        g_assert_cmpint(frame_reader_init(&limits, &reader), ==, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
        n = expand(data + 1, size - 1, bytes);
        (void) !send(pair[1], bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void) close(pair[1]);
        while ((r = frame_read(&reader, pair[0], &heard)) > 0)
                check_frame(&reader);
        g_assert_cmpint(r, <, 0);
        frame_reader_done(&reader);
        (void) close(pair[0]);
        return 0;
}
