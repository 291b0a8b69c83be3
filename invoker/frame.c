/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

uint64_t frame_bank_bytes(const SegmentLayout *l) {
        return l->envs / l->agents * l->snapshot_stride;
}

uint64_t frame_rows_bytes(const SegmentLayout *l, uint64_t n_finals) {
        return l->finals_at + n_finals * l->frame_bytes;
}

static void allow(FrameLimits *limits, FrameKind kind, uint64_t least, uint64_t more) {
        limits->kinds[kind].sent = true;
        limits->kinds[kind].least = least;
        limits->kinds[kind].most = least + more;
        if (least + more > limits->most)
                limits->most = least + more;
}

void frame_limits(const JobPage *page, uint32_t n_containers, FrameSide sender, FrameLimits *ret) {
        const SegmentLayout *l = &page->segment;
        uint64_t bank_bytes = frame_bank_bytes(l);

        *ret = (FrameLimits){ .n_containers = n_containers };
        if (sender == FRAME_SIDE_NODE) {
                allow(ret, FRAME_HELLO, sizeof(NodeHello), 0);
                allow(ret, FRAME_ANSWER, sizeof(FrameAnswer),
                                frame_rows_bytes(l, l->finals_max) + bank_bytes);
                allow(ret, FRAME_ENDED, sizeof(FrameEnded), 0);
                allow(ret, FRAME_PONG, 0, 0);
        } else {
                allow(ret, FRAME_POLICY, sizeof(FramePolicy) + page->policy.bank_bytes, 0);
                allow(ret, FRAME_ORDER, sizeof(Order), bank_bytes);
                allow(ret, FRAME_KILL, 0, 0);
                allow(ret, FRAME_PING, 0, 0);
        }
}

int frame_expected(const FrameHead *head, const FrameLimits *limits, uint64_t sequence) {
        if (head->magic != FRAME_MAGIC || head->kind >= _FRAME_KIND_MAX || !limits->kinds[head->kind].sent ||
                        head->sequence != sequence || head->container >= limits->n_containers)
                return -EBADMSG;
        if (head->n_bytes < limits->kinds[head->kind].least ||
                        head->n_bytes > limits->kinds[head->kind].most)
                return -EBADMSG;
        return 0;
}

/* Accepts only orders that an actor of this container carries out. */
static bool order_fits(const Order *order, uint32_t container, const JobPage *page, uint32_t n_actors,
                uint32_t n_containers) {
        if (order->policy_bank >= page->policy.n_banks)
                return false;
        switch (order->kind) {
        case ORDER_PROBE:
        case ORDER_EVALUATE: return true;
        case ORDER_ROLLOUT:
                return !order->remote && order->snapshot_bank <= 1 && order->actor < n_actors &&
                       container < n_containers && order->actor % n_containers == container;
        default: return false;
        }
}

int frame_order(const FrameHead *head, const void *body, const JobPage *page, uint32_t n_actors,
                uint32_t n_containers, Order *ret) {
        uint64_t bytes = sizeof(Order);
        Order order;

        assert(head->kind == FRAME_ORDER);

        memcpy(&order, body, sizeof(order));
        if (!order_fits(&order, head->container, page, n_actors, n_containers))
                return -EBADMSG;
        if (order.kind == ORDER_ROLLOUT)
                bytes += frame_bank_bytes(&page->segment);
        if (head->n_bytes != bytes)
                return -EBADMSG;
        *ret = order;
        return 0;
}

int frame_policy(const FrameHead *head, const void *body, const JobPage *page, FramePolicy *ret) {
        FramePolicy policy;

        assert(head->kind == FRAME_POLICY);

        memcpy(&policy, body, sizeof(policy));
        if (policy.bank >= page->policy.n_banks)
                return -EBADMSG;
        *ret = policy;
        return 0;
}

int frame_answer(const FrameHead *head, const void *body, const JobPage *page, FrameAnswer *ret) {
        const SegmentLayout *l = &page->segment;
        FrameAnswer answer;

        assert(head->kind == FRAME_ANSWER);

        memcpy(&answer, body, sizeof(answer));
        /* An answer may have no rows: if its order asks for none, or if the order failed. */
        if (head->n_bytes != sizeof(answer) &&
                        (answer.answer.fault != FAULT_NONE || answer.n_finals > l->finals_max ||
                                        head->n_bytes != sizeof(answer) +
                                                                         frame_rows_bytes(l,
                                                                                         answer.n_finals) +
                                                                         frame_bank_bytes(l)))
                return -EBADMSG;
        *ret = answer;
        return 0;
}

int frame_reader_init(const FrameLimits *limits, FrameReader *ret) {
        uint64_t bytes = limits->most > 0 ? limits->most : 1;
        void *body = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);

        if (body == MAP_FAILED)
                return -errno;
        /* An actor that is forked later must not inherit the snapshots of this frame. */
        (void) madvise(body, bytes, MADV_DONTFORK);
        *ret = (FrameReader){ .limits = limits, .body = body };
        return 0;
}

void frame_reader_done(FrameReader *reader) {
        if (reader->body)
                (void) munmap(reader->body, reader->limits->most);
        reader->body = NULL;
}

/* The place for the next bytes of the frame, and how many are missing there. */
static void *next_part(FrameReader *reader, size_t *ret) {
        if (reader->n < sizeof(FrameHead)) {
                *ret = sizeof(FrameHead) - reader->n;
                return (uint8_t *) &reader->head + reader->n;
        }
        *ret = sizeof(FrameHead) + reader->head.n_bytes - reader->n;
        return reader->body + (reader->n - sizeof(FrameHead));
}

int frame_read(FrameReader *reader, int fd, bool *ret_heard) {
        size_t wanted;
        ssize_t n;
        void *at;
        int r;

        *ret_heard = false;
        if (reader->n > 0 && reader->n == sizeof(FrameHead) + reader->head.n_bytes)
                reader->n = 0; /* forget the frame of the last call */

        for (;;) {
                at = next_part(reader, &wanted);
                n = recv(fd, at, wanted, MSG_DONTWAIT);
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
                if (n == 0)
                        return -EPIPE;
                *ret_heard = true;
                reader->n += (uint64_t) n;
                if (reader->n == sizeof(FrameHead)) {
                        r = frame_expected(&reader->head, reader->limits, reader->sequence);
                        if (r < 0)
                                return r;
                        reader->sequence++;
                }
                if (reader->n >= sizeof(FrameHead) && reader->n == sizeof(FrameHead) + reader->head.n_bytes)
                        return 1;
        }
}
