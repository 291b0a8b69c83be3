/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/relay.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "invoker/frame.h"
#include "lib/fd.h"
#include "lib/slot.h"
#include "lib/turn.h"

typedef struct Relay {
        const RelayContext *context;
        uint32_t container;
        int fd;
} Relay;

/* Waits only in write() and read(), since its sandbox allows no other calls on a socket. */
static void send_all(const Relay *relay, const void *data, size_t n) {
        if (write_full(relay->fd, data, n) < 0)
                _exit(EXIT_NODE_LOST);
}

static void receive_all(const Relay *relay, void *ret, size_t n) {
        if (read_full(relay->fd, ret, n) < 0)
                _exit(EXIT_NODE_LOST);
}

static void send_order(const Relay *relay, const Order *order) {
        const SegmentLayout *l = &relay->context->page->segment;
        FrameHead head = {
                .magic = FRAME_MAGIC,
                .kind = FRAME_ORDER,
                .container = relay->container,
                .n_bytes = sizeof(*order),
        };

        if (order->kind == ORDER_ROLLOUT)
                head.n_bytes += frame_bank_bytes(l);
        send_all(relay, &head, sizeof(head));
        send_all(relay, order, sizeof(*order));
        if (order->kind == ORDER_ROLLOUT)
                send_all(relay,
                                segment_snapshot(relay->context->segments[order->actor], l,
                                                order->snapshot_bank, 0),
                                frame_bank_bytes(l));
}

/* The carrier has checked the lengths already. They are checked again here, where they are used. */
static void receive_rows(const Relay *relay, const Order *order, uint64_t n_finals, uint64_t n_bytes) {
        const SegmentLayout *l = &relay->context->page->segment;
        uint8_t *segment = relay->context->segments[order->actor];

        if (n_finals > l->finals_max || n_bytes != frame_rows_bytes(l, n_finals) + frame_bank_bytes(l))
                _exit(EXIT_NODE_LOST);
        receive_all(relay, segment, frame_rows_bytes(l, n_finals));
        receive_all(relay, segment_snapshot(segment, l, order->snapshot_bank ^ 1, 0), frame_bank_bytes(l));
}

static void receive_answer(const Relay *relay, const Order *order, Answer *ret) {
        FrameAnswer answer;
        FrameEnded ended;
        FrameHead head;

        receive_all(relay, &head, sizeof(head));
        if (head.kind == FRAME_ENDED && head.n_bytes == sizeof(ended)) {
                receive_all(relay, &ended, sizeof(ended));
                *ret = (Answer){
                        .fault = ended.fault == FAULT_NONE ? FAULT_EXITED : ended.fault,
                        .detail = ended.detail,
                        .node_cpu_nsec = ended.use.cpu_nsec,
                        .node_memory_peak_bytes = ended.use.memory_peak_bytes,
                };
                return;
        }
        if (head.kind != FRAME_ANSWER || head.n_bytes < sizeof(answer))
                _exit(EXIT_NODE_LOST);
        receive_all(relay, &answer, sizeof(answer));
        if (order->kind == ORDER_ROLLOUT && answer.answer.fault == FAULT_NONE)
                receive_rows(relay, order, answer.n_finals, head.n_bytes - sizeof(answer));
        else if (head.n_bytes != sizeof(answer))
                _exit(EXIT_NODE_LOST);
        *ret = answer.answer;
        ret->node_cpu_nsec = answer.use.cpu_nsec;
        ret->node_memory_peak_bytes = answer.use.memory_peak_bytes;
}

void relay_main(const RelayContext *context, uint32_t container, int fd) {
        const Relay relay = { .context = context, .container = container, .fd = fd };

        for (;;) {
                Answer answer;
                Order order;

                turn_wait(&context->worker->turn, 0, &order);
                if (order.kind == ORDER_END)
                        _exit(0);
                send_order(&relay, &order);
                receive_answer(&relay, &order, &answer);
                turn_reply(&context->worker->turn, &answer, context->bell_fd);
        }
}
