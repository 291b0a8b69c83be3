/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A SEQPACKET socket with a few messages. The daemon is trusted with the job, but not with the invoker's
 * memory: sizes and numbers are checked. */
#include "invoker/link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/message.h"

/* The loop reads a few messages at a time, so that a peer that sends many does not keep it from its
 * actors. */
enum { MESSAGES_AT_ONCE = 16, FAILED_WAIT_MSEC = 10000 };

int link_init(int listen_fd, uint32_t n_actors_max, Link *ret) {
        Link link = LINK_EMPTY;
        int flags;

        assert(ret);

        flags = fcntl(listen_fd, F_GETFL);
        if (flags < 0 || fcntl(listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;

        link.listen_fd = listen_fd;
        link.n_actors_max = n_actors_max;
        *ret = link;
        return 0;
}

static void link_close(Link *link) {
        link->fd = close_fd(link->fd);
}

void link_done(Link *link) {
        link_close(link);
        link->listen_fd = close_fd(link->listen_fd);
}

int link_accept(Link *link, const Hello *hello, const Spool *spool) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = accept4(link->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;

        /* If this peer has gone already, the earlier connection stays. */
        r = message_send(fd, hello, sizeof(*hello), &spool->fd, 1);
        if (r < 0)
                return r;

        link_close(link);
        link->fd = TAKE_FD(fd);
        link->told = hello->written;
        link->told_works = false;
        link->was_connected = true;
        return 0;
}

static bool plan_is_sane(const Link *link, const Plan *plan) {
        return plan->abi == PLAN_ABI && plan->message == PLAN_MESSAGE_PLAN && plan->end < _PLAN_END_MAX &&
               plan->decision.n_actors >= 1 && plan->decision.n_actors <= link->n_actors_max &&
               plan->decision.taken <= link->n_actors_max;
}

int link_receive(Link *link, Spool *spool) {
        int changed = 0;

        for (unsigned i = 0; i < MESSAGES_AT_ONCE && link->fd >= 0; i++) {
                Plan plan;
                ssize_t n = recv(link->fd, &plan, sizeof(plan), MSG_DONTWAIT | MSG_TRUNC);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return changed;
                if (n != sizeof(plan) || !plan_is_sane(link, &plan) ||
                                spool_acknowledge(spool, plan.acknowledged) < 0) {
                        link_close(link);
                        return n > 0 ? -EBADMSG : -ECONNRESET;
                }

                /* A later plan does not cancel a checkpoint that was requested before. */
                plan.checkpoint |= link->has_plan && link->plan.checkpoint;
                link->asked = link->asked || plan.ask;
                link->plan = plan;
                link->has_plan = true;
                changed = 1;
        }
        return changed;
}

void link_tell(Link *link, const Spool *spool, bool learner_works) {
        Written written = { .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_WRITTEN,
                .seq = spool->written,
                .learner_works = learner_works };
        bool ends = link->has_plan && link->plan.end != PLAN_END_NOT;
        bool is_new = link->told != spool->written || (ends && link->told_works != learner_works);

        if (link->fd < 0 || (!is_new && !link->asked))
                return;
        link->asked = false;
        link->told_works = learner_works;
        /* EAGAIN: the daemon has not read earlier messages yet. When it does, it reads the whole spool. */
        if (send(link->fd, &written, sizeof(written), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN)
                link->told = spool->written;
        link->told_nsec = clock_boottime();
}

void link_tell_failed(int listen_fd, const Failed *failed) {
        struct pollfd p = { .fd = listen_fd, .events = POLLIN };
        _cleanup_close_ int fd = -EBADF;

        assert(listen_fd >= 0);
        assert(failed && failed->error < 0);

        (void) close_range((unsigned) listen_fd + 1, ~0u, 0);
        if (poll(&p, 1, FAILED_WAIT_MSEC) > 0)
                fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
                (void) send(fd, failed, sizeof(*failed), MSG_NOSIGNAL);
}
