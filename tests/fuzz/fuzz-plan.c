/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An invoker may send any messages and write any bytes into its spool. The connection ends or goes on, but
 * the daemon reads no impossible record. The input is the spool's bytes after a length of two bytes, then
 * messages, each after a length of its own. The first byte of a message says whether it carries the spool's
 * descriptor. */
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/plan.h"
#include "lib/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_RECORDS = 8, MESSAGES_MAX = 16, MESSAGE_MAX = 512, READS_MAX = 4 * N_RECORDS };

typedef struct Input {
        const uint8_t *data;
        size_t size;
} Input;

typedef struct Daemon {
        PlanLink *link;
        bool over;
} Daemon;

static size_t take_length(Input *in) {
        size_t n;

        if (in->size < 2)
                return 0;
        n = (size_t) in->data[0] | (size_t) in->data[1] << 8;
        in->data += 2;
        in->size -= 2;
        return MIN(n, in->size);
}

static void read_records(Daemon *d) {
        Record record;

        /* Reads records until none is valid or all have been read. */
        for (unsigned i = 0; i < READS_MAX && plan_link_next(d->link, &record) == 1; i++)
                g_assert(record.kind < _RECORD_KIND_MAX);
}

static int on_hello(const Hello *hello, const struct ucred *peer, void *userdata) {
        g_assert(hello->abi == PLAN_ABI && peer);
        return 0;
}

static int on_written(void *userdata) {
        read_records(userdata);
        return 0;
}

static int on_failed(const Failed *failed, const struct ucred *peer, void *userdata) {
        g_assert(failed->step < _INVOKER_STEP_MAX && failed->error < 0);
        return 0;
}

static void on_closed(int error, void *userdata) {
        ((Daemon *) userdata)->over = true;
}

/* A spool as an invoker makes it, with records of the input's bytes: magic and sizes are too hard to
 * guess. */
static int spool_of(Input *in) {
        uint8_t bytes[sizeof(SpoolHead) + N_RECORDS * sizeof(Record)] = {};
        SpoolHead head = { .magic = SPOOL_MAGIC,
                .abi = RECORD_ABI,
                .record_bytes = sizeof(Record),
                .n_records = N_RECORDS };
        size_t n = take_length(in);

        n = MIN(n, sizeof(bytes) - sizeof(head));
        memcpy(bytes + sizeof(head), in->data, n);
        in->data += n;
        in->size -= n;
        for (uint64_t seq = 1; seq <= N_RECORDS; seq++)
                memcpy(bytes + sizeof(head) + (seq - 1) * sizeof(Record) + offsetof(Record, seq), &seq,
                                sizeof(seq));
        head.written = n / sizeof(Record) + 1;
        memcpy(bytes, &head, sizeof(head));
        return memfd_make_sealed("spool", bytes, sizeof(bytes));
}

static void send_message(int fd, const uint8_t *bytes, size_t n, int spool_fd) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        struct iovec iov = { (void *) (uintptr_t) bytes, n };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (spool_fd >= 0) {
                struct cmsghdr *c;

                msg.msg_control = control;
                msg.msg_controllen = sizeof(control);
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &spool_fd, sizeof(int));
        }
        (void) sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends the next bytes of the input as a message. If the first byte says so, the message gets a valid
 * head. */
static void send_next(Input *in, int fd, int spool_fd) {
        union {
                struct {
                        uint32_t abi, message;
                } head;
                uint8_t bytes[MESSAGE_MAX];
        } m = {};
        static const size_t sizes[] = { 0, sizeof(Hello), sizeof(Written), sizeof(Failed) };
        static const uint32_t words[] = { 0, PLAN_MESSAGE_HELLO, PLAN_MESSAGE_WRITTEN, PLAN_MESSAGE_FAILED };
        size_t n = take_length(in), kind = in->size > 0 ? in->data[0] & 3 : 0;
        bool carries = in->size > 0 && in->data[0] & 4;

        n = MIN(n, sizeof(m));
        memcpy(m.bytes, in->data, n);
        in->data += n;
        in->size -= n;
        if (kind > 0) {
                m.head.abi = PLAN_ABI;
                m.head.message = words[kind];
                n = sizes[kind];
        }
        G_STATIC_ASSERT(sizeof(Hello) <= MESSAGE_MAX && sizeof(Failed) <= MESSAGE_MAX);
        send_message(fd, m.bytes, n, carries ? spool_fd : -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const PlanLinkOps ops = { on_hello, on_written, on_failed, on_closed };
        Input in = { data, size };
        Daemon d = {};
        sd_event *event = NULL;
        int pair[2], one = 1, spool_fd = spool_of(&in);

        g_assert_cmpint(spool_fd, >=, 0);
        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), ==, 0);
        g_assert_cmpint(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), ==, 0);
        g_assert_cmpint(plan_link_new(event, pair[0], &ops, &d, &d.link), ==, 0);
        for (unsigned i = 0; i < MESSAGES_MAX && in.size > 2; i++)
                send_next(&in, pair[1], spool_fd);
        for (unsigned i = 0; i < MESSAGES_MAX && !d.over; i++)
                if (sd_event_run(event, 0) <= 0)
                        break;
        (void) plan_link_free(d.link);
        (void) sd_event_unref(event);
        (void) close(pair[1]);
        (void) close(spool_fd);
        return 0;
}
