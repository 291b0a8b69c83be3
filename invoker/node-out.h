/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A node's frames on their way out. The stream may be full at any time, and the node must still receive, so
 * frames wait in a queue. The rows of a rollout are sent from their segment. They stay unchanged until the
 * head has them, since the head gives the container no order before that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "invoker/frame.h"

typedef union OutBody {
        FrameAnswer answer;
        FrameEnded ended;
} OutBody;

typedef struct Out {
        FrameHead head;
        OutBody body;
        const void *rows[2]; /* the data behind the body, in two parts */
        uint64_t rows_bytes[2], body_bytes;
} Out;

typedef struct OutQueue {
        Out *outs; /* [size], a ring */
        uint32_t size, first, n;
        uint64_t sent;     /* bytes of the first frame that were sent */
        uint64_t sequence; /* the number of the next frame */
} OutQueue;

int out_init(OutQueue *queue, uint32_t size);
void out_done(OutQueue *queue);
/* The next place, with its head filled in. NULL: the queue is full, which the head of the job can cause only
 * by breaking the rules. */
Out *out_add(OutQueue *queue, FrameKind kind, uint32_t container, uint32_t birth);
/* Sends as much as the stream takes now. 0; -EPIPE: it is closed. */
int out_send(OutQueue *queue, int fd);
