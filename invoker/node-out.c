/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/node-out.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

int out_init(OutQueue *queue, uint32_t size) {
        *queue = (OutQueue){ .outs = calloc(size, sizeof(Out)), .size = size };
        return queue->outs ? 0 : -ENOMEM;
}

void out_done(OutQueue *queue) {
        free(queue->outs);
        queue->outs = NULL;
}

Out *out_add(OutQueue *queue, FrameKind kind, uint32_t container, uint32_t birth) {
        Out *out;

        if (queue->n == queue->size)
                return NULL;
        out = &queue->outs[(queue->first + queue->n++) % queue->size];
        *out = (Out){
                .head = { .magic = FRAME_MAGIC,
                                .kind = kind,
                                .container = container,
                                .birth = birth,
                                .sequence = queue->sequence++ },
        };
        return out;
}

/* Lists those bytes of the queue's first frame that are not sent yet. Returns the number of parts. */
static size_t parts_left(const OutQueue *queue, struct iovec parts[4]) {
        const Out *out = &queue->outs[queue->first];
        const struct iovec all[] = {
                { (void *) &out->head, sizeof(out->head) },
                { (void *) &out->body, out->body_bytes },
                { (void *) out->rows[0], out->rows_bytes[0] },
                { (void *) out->rows[1], out->rows_bytes[1] },
        };
        uint64_t skip = queue->sent;
        size_t n = 0;

        for (size_t i = 0; i < 4; i++) {
                uint64_t off = skip < all[i].iov_len ? skip : all[i].iov_len;

                skip -= off;
                if (off < all[i].iov_len)
                        parts[n++] = (struct iovec){ (uint8_t *) all[i].iov_base + off,
                                all[i].iov_len - off };
        }
        return n;
}

int out_send(OutQueue *queue, int fd) {
        while (queue->n > 0) {
                struct iovec parts[4];
                struct msghdr message = { .msg_iov = parts };
                ssize_t sent;

                queue->outs[queue->first].head.n_bytes = queue->outs[queue->first].body_bytes +
                                                         queue->outs[queue->first].rows_bytes[0] +
                                                         queue->outs[queue->first].rows_bytes[1];
                message.msg_iovlen = parts_left(queue, parts);
                if (message.msg_iovlen == 0) {
                        queue->first = (queue->first + 1) % queue->size;
                        queue->n--;
                        queue->sent = 0;
                        continue;
                }
                sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (sent < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
                queue->sent += (uint64_t) sent;
        }
        return 0;
}
