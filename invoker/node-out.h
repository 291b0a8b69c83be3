/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The queue of frames that a node sends. The stream may be full at any time, and the node must still
 * receive, so frames wait in a queue. The rows of a rollout are sent straight from their segment. They do
 * not change meanwhile, since the head gives the container no order before it has the rows. */
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
/* Returns the next entry of the queue, with the frame's header filled in. NULL: the queue is full. This
 * cannot happen unless the head of the job breaks the rules. */
Out *out_add(OutQueue *queue, FrameKind kind, uint32_t container, uint32_t birth);
/* Sends as much as the stream takes now. 0; -EPIPE: it is closed. */
int out_send(OutQueue *queue, int fd);
