/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An event's kind and its worker's number are stored in the 64 bits that epoll returns with it. */
#include "invoker/loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/cleanup.h"

static struct epoll_event event_of(uint32_t events, uint32_t kind, uint32_t index) {
        return (struct epoll_event){ .events = events, .data.u64 = (uint64_t) kind << 32 | index };
}

static int control(Loop *loop, int operation, int fd, uint32_t events, uint32_t kind, uint32_t index) {
        struct epoll_event event = event_of(events, kind, index);

        return epoll_ctl(loop->epoll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

int loop_init(Loop *ret) {
        Loop loop = LOOP_EMPTY;
        int r;

        loop.timer_nsec = UINT64_MAX;
        loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (loop.epoll_fd < 0)
                return -errno;
        loop.timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        r = loop.timer_fd < 0 ? -errno : loop_watch(&loop, loop.timer_fd, EVENT_TIMER);
        if (r >= 0) {
                loop.alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
                /* Edge-triggered: it need not be read. */
                r = loop.alarm_fd < 0 ? -errno
                                      : control(&loop, EPOLL_CTL_ADD, loop.alarm_fd, EPOLLIN | EPOLLET,
                                                        EVENT_ALARM, 0);
        }
        if (r < 0) {
                loop_done(&loop);
                return r;
        }
        *ret = loop;
        return 0;
}

void loop_done(Loop *loop) {
        loop->alarm_fd = close_fd(loop->alarm_fd);
        loop->timer_fd = close_fd(loop->timer_fd);
        loop->epoll_fd = close_fd(loop->epoll_fd);
}

int loop_watch(Loop *loop, int fd, EventKind kind) {
        return control(loop, EPOLL_CTL_ADD, fd, EPOLLIN, kind, 0);
}

int loop_watch_index(Loop *loop, int fd, EventKind kind, uint32_t index) {
        return control(loop, EPOLL_CTL_ADD, fd, EPOLLIN, kind, index);
}

/* Edge-triggered: each signal wakes the invoker once, and the eventfd need not be emptied. */
int loop_watch_bell(Loop *loop, const Worker *worker, uint32_t index) {
        return control(loop, EPOLL_CTL_ADD, worker->bell_fd, EPOLLIN | EPOLLET, EVENT_BELL, index);
}

int loop_watch_process(Loop *loop, const Worker *worker, uint32_t index) {
        return control(loop, EPOLL_CTL_ADD, worker->pid_fd, EPOLLIN, EVENT_PROCESS, index);
}

int loop_mute_bell(Loop *loop, const Worker *worker) {
        return control(loop, EPOLL_CTL_MOD, worker->bell_fd, 0, 0, 0);
}

int loop_hear_bell(Loop *loop, const Worker *worker, uint32_t index) {
        return control(loop, EPOLL_CTL_MOD, worker->bell_fd, EPOLLIN | EPOLLET, EVENT_BELL, index);
}

static void set_timer(int fd, uint64_t nsec) {
        struct itimerspec at = { .it_value = { .tv_sec = (time_t) (nsec / 1000000000u),
                                                 .tv_nsec = (long) (nsec % 1000000000u) } };

        (void) timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void loop_want_timer(Loop *loop, uint64_t nsec) {
        if (nsec >= loop->timer_nsec || nsec == 0)
                return;
        loop->timer_nsec = nsec;
        set_timer(loop->timer_fd, nsec);
}

void loop_alarm(Loop *loop, uint64_t nsec) {
        set_timer(loop->alarm_fd, nsec);
}

uint64_t loop_timer_rang(Loop *loop) {
        uint64_t rings, due_nsec = loop->timer_nsec;

        (void) !read(loop->timer_fd, &rings, sizeof(rings));
        loop->timer_nsec = UINT64_MAX;
        return due_nsec;
}

bool loop_next(Loop *loop, Event *ret) {
        uint64_t data;

        if (loop->n_served == loop->n_seen)
                return false;
        data = loop->seen[loop->n_served++].data.u64;
        *ret = (Event){ .kind = (uint32_t) (data >> 32), .index = (uint32_t) data };
        return true;
}

/* Adds the events that come to the first n_seen. */
static int see(Loop *loop, int n_seen, int timeout_msec) {
        int n = epoll_wait(loop->epoll_fd, loop->seen + n_seen, EVENTS_AT_ONCE - n_seen, timeout_msec);

        loop->n_served = 0;
        loop->n_seen = n_seen + (n > 0 ? n : 0);
        return n < 0 && errno != EINTR ? -errno : 0;
}

int loop_wait(Loop *loop) {
        return see(loop, 0, -1);
}

int loop_ring(Loop *loop, uint32_t index) {
        assert(loop->n_served == loop->n_seen);

        loop->seen[0] = event_of(EPOLLIN, EVENT_BELL, index);
        return see(loop, 1, 0);
}
