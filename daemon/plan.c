/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's link to an invoker: one SEQPACKET socket and one mapped spool. The socket's directory is
 * reached through /proc/self/fd, since a state directory's path may be too long for a socket address. */
#include "daemon/plan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include "daemon/sources.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

#define SPOOL_RECORDS_LIMIT (16u * SPOOL_RECORDS)

struct PlanLink {
        int fd;
        sd_event_source *source;
        const PlanLinkOps *ops;
        void *userdata;

        bool greeted, learner_works;
        uint64_t life;
        const SpoolHead *
                        /* mapped read-only; sealed against shrinking, so that reading it never raises
                         * SIGBUS */
                        spool;
        uint64_t spool_bytes, n_records;
        uint64_t position;

        bool plan_waits;
        Plan plan;
};

DEFINE_CLEANUP(PlanLink *, plan_link_free)

int plan_connect(int directory_fd, const char *name) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;
        int n, one = 1;

        assert(directory_fd >= 0);
        assert(name);

        n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory_fd, name);
        if (n < 0 || (size_t) n >= sizeof(address.sun_path))
                return -ENAMETOOLONG;

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        /* The kernel names the sender of Hello with the message. SO_PEERCRED would name the process that
         * made the listening socket, which is the daemon itself. */
        if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int map_spool(PlanLink *link, int fd) {
        const SpoolHead *head;
        uint64_t bytes;
        uint32_t n_records;
        void *map;
        int r, seals;

        seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || !(seals & F_SEAL_SHRINK))
                return -EPERM;
        r = fd_size(fd, &bytes);
        if (r < 0)
                return r;
        if (bytes < sizeof(SpoolHead) || bytes > sizeof(SpoolHead) + SPOOL_RECORDS_LIMIT * sizeof(Record))
                return -EBADMSG;
        r = fd_map(fd, bytes, false, &map);
        if (r < 0)
                return r;

        head = map;
        /* Read once: the invoker can still change the head, and this number is used as an index later. */
        n_records = __atomic_load_n(&head->n_records, __ATOMIC_RELAXED);
        if (head->magic != SPOOL_MAGIC || head->abi != RECORD_ABI || head->record_bytes != sizeof(Record) ||
                        n_records == 0 || (bytes - sizeof(SpoolHead)) / sizeof(Record) < n_records) {
                fd_unmap(map, bytes);
                return -EBADMSG;
        }
        link->spool = head;
        link->spool_bytes = bytes;
        link->n_records = n_records;
        return 0;
}

static int greet(PlanLink *link, const Hello *hello, const struct ucred *peer, int spool_fd) {
        int r;

        if (link->greeted || hello->abi != PLAN_ABI || spool_fd < 0 || !peer)
                return -EBADMSG;

        r = map_spool(link, spool_fd);
        if (r < 0)
                return r;
        link->greeted = true;
        link->life = hello->life;

        r = link->ops->hello(hello, peer, link->userdata);
        return r < 0 ? r : link->ops->written(link->userdata);
}

static int take_failure(PlanLink *link, const Failed *failed, const struct ucred *peer) {
        if (link->greeted || failed->abi != PLAN_ABI || failed->step >= _INVOKER_STEP_MAX ||
                        failed->error >= 0 || failed->error < -4095 || !peer)
                return -EBADMSG;
        return link->ops->failed(failed, peer, link->userdata);
}

/* Takes the first descriptor of a message and closes the others. No message needs a second one, but the
 * aligned buffer has room for it. If they stayed open, a hostile invoker could use up the daemon's
 * descriptors. */
static int take_first(const struct cmsghdr *c) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        int first = -EBADF;

        for (size_t i = 0; i < n; i++) {
                int fd;

                memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
                if (i == 0)
                        first = fd;
                else
                        (void) close_fd(fd);
        }
        return first;
}

/* Receives one message and its descriptors. 1: handled; 0: the invoker has closed the connection; -EAGAIN:
 * nothing is there. */
static int receive(PlanLink *link) {
        union {
                struct {
                        uint32_t abi, message;
                } head;
                Hello hello;
                Written written;
                Failed failed;
        } m;
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
        struct iovec iov = { &m, sizeof(m) };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        const struct ucred *peer = NULL;
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        n = recvmsg(link->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0)
                return errno == EINTR ? 1 : -errno;
        if (n == 0)
                return 0;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && fd < 0)
                        fd = take_first(c);
                else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
                        peer = (const struct ucred *) CMSG_DATA(c);
        if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
                return -EBADMSG;

        if ((size_t) n == sizeof(Hello) && m.head.message == PLAN_MESSAGE_HELLO) {
                int r = greet(link, &m.hello, peer, fd);

                return r < 0 ? r : 1;
        }
        if ((size_t) n == sizeof(Written) && m.head.message == PLAN_MESSAGE_WRITTEN && link->greeted) {
                int r;

                if (m.written.learner_works > 1)
                        return -EBADMSG;
                link->learner_works = m.written.learner_works > 0;
                r = link->ops->written(link->userdata);
                return r < 0 ? r : 1;
        }
        if ((size_t) n == sizeof(Failed) && m.head.message == PLAN_MESSAGE_FAILED) {
                int r = take_failure(link, &m.failed, peer);

                return r < 0 ? r : 1;
        }
        return -EBADMSG;
}

static int flush_plan(PlanLink *link) {
        uint32_t events;

        if (link->plan_waits && link->greeted) {
                if (send(link->fd, &link->plan, sizeof(link->plan), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
                        link->plan_waits = false;
                else if (errno != EAGAIN && errno != EINTR)
                        return -errno;
        }
        events = EPOLLIN | (link->plan_waits && link->greeted ? EPOLLOUT : 0);
        return sd_event_source_set_io_events(link->source, events);
}

/* Drops an invoker that reports impossible values. If it still listens, it gets a plan to end at once. */
static void dismiss(PlanLink *link) {
        Plan plan = link->plan;

        if (plan.abi != PLAN_ABI)
                return;
        plan.end = PLAN_END_FAILED;
        plan.stop_deadline_nsec = 1;
        (void) send(link->fd, &plan, sizeof(plan), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void close_link(PlanLink *link, int error) {
        if (error < 0)
                dismiss(link);
        link->source = sd_event_source_disable_unref(link->source);
        link->fd = close_fd(link->fd);
        link->ops->closed(error, link->userdata);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        enum { MESSAGES_AT_ONCE = 64 }; /* so that one busy invoker does not silence the others */
        PlanLink *link = userdata;
        int r = 1;

        for (unsigned i = 0; i < MESSAGES_AT_ONCE && r > 0; i++)
                r = receive(link);

        if (r == -EAGAIN || r > 0) {
                r = flush_plan(link);
                if (r >= 0)
                        return 0;
        }
        /* A reset is the kernel's sign that the invoker ended before it accepted the connection. */
        close_link(link, r == -ECONNRESET || r == -EPIPE ? 0 : r);
        return 0;
}

int plan_link_new(sd_event *event, int fd, const PlanLinkOps *ops, void *userdata, PlanLink **ret) {
        _cleanup_(plan_link_freep) PlanLink *link = NULL;
        int r;

        assert(event);
        assert(fd >= 0);
        assert(ops);
        assert(ret);

        link = malloc(sizeof(*link));
        if (!link)
                return -ENOMEM;
        *link = (PlanLink){ .fd = -EBADF, .ops = ops, .userdata = userdata };

        r = reading_start(event, &link->source, "invoker", fd, on_io, link);
        if (r < 0)
                return r;

        link->fd = fd;
        *ret = TAKE_PTR(link);
        return 0;
}

PlanLink *plan_link_free(PlanLink *link) {
        if (!link)
                return NULL;

        (void) sd_event_source_disable_unref(link->source);
        (void) close_fd(link->fd);
        if (link->spool)
                fd_unmap((void *) link->spool, link->spool_bytes);
        free(link);
        return NULL;
}

int plan_link_send(PlanLink *link, const Plan *plan) {
        uint32_t waits;

        assert(link);
        assert(plan);

        if (link->fd < 0)
                return 0;

        waits = link->plan_waits && link->plan.ask;
        link->plan = *plan;
        link->plan.ask |= waits; /* a question that could not be sent yet stays in the plan */
        link->plan_waits = true;
        return flush_plan(link);
}

void plan_link_seek(PlanLink *link, uint64_t seq) {
        assert(link);

        link->position = seq;
}

bool plan_link_learner_works(const PlanLink *link) {
        assert(link);

        return link->learner_works;
}

uint64_t plan_link_position(const PlanLink *link) {
        assert(link);

        return link->position;
}

uint64_t plan_link_unread(const PlanLink *link) {
        uint64_t written;

        assert(link);

        if (!link->spool)
                return 0;
        written = atomic_load_explicit(&link->spool->written, memory_order_acquire);
        return written > link->position && written - link->position <= link->n_records
                               ? written - link->position
                               : 0;
}

/* Whether the fields of a record that are used as an index are in range. */
static bool record_is_sane(const Record *record, uint64_t life, uint64_t seq) {
        return record->seq == seq && record->life == life && record->kind < _RECORD_KIND_MAX &&
               record->fault < _FAULT_MAX && record->level < _SANDBOX_LEVEL_MAX &&
               record->limits_missing < 1u << _LIMIT_MAX && record->end < _PLAN_END_MAX &&
               record->metered.start_nsec <= record->metered.end_nsec;
}

int plan_link_next(PlanLink *link, Record *ret) {
        uint64_t written, seq;
        Record copy;

        assert(link);
        assert(ret);

        if (!link->spool)
                return 0;

        written = atomic_load_explicit(&link->spool->written, memory_order_acquire);
        if (written <= link->position)
                return written < link->position ? -EBADMSG : 0;
        if (written - link->position > link->n_records)
                return -EOVERFLOW;

        /* The record is copied first and then checked, since its writer can still change it. */
        seq = link->position + 1;
        memcpy(&copy, (const Record *) (link->spool + 1) + (seq - 1) % link->n_records, sizeof(copy));
        if (!record_is_sane(&copy, link->life, seq))
                return -EBADMSG;

        link->position = seq;
        *ret = copy;
        return 1;
}
