/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bells that ring without an answer. Each ring costs this process a wake-up, and a plugin can ring as
 * fast as it can write. So a bell that rang in vain several times within one order is no longer listened
 * to: until that order is answered the timer looks at its worker instead, and the next order listens
 * again. What false rings and looks cost is moved from the control's use to the actor's. */
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#include "invoker/invoker.h"
#include "lib/boottime.h"

static uint64_t own_cpu_nsec(void) {
        struct timespec ts;

        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) < 0)
                return 0;
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

/* What was used since the last charge, if nothing but false rings was served since. */
static void storm_charge(Invoker *i, Container *c) {
        uint64_t now = own_cpu_nsec();

        if (i->storm_since_nsec > 0 && now > i->storm_since_nsec) {
                c->spare_nsec += now - i->storm_since_nsec;
                i->storm_nsec += now - i->storm_since_nsec;
        }
        i->storm_since_nsec = now;
}

void storm_over(Invoker *i) {
        i->storm_since_nsec = 0;
}

void storm_ring(Invoker *i, Worker *worker, Container *c) {
        struct epoll_event none = {};

        if (c)
                storm_charge(i, c);
        if (++worker->n_false_rings < FALSE_RINGS_MAX || worker->muted)
                return;
        worker->muted = epoll_ctl(i->epoll_fd, EPOLL_CTL_MOD, worker->bell_fd, &none) >= 0;
        if (worker->muted && worker->busy)
                invoker_want_timer(i, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_looked(Invoker *i, const Worker *worker, Container *c) {
        if (!worker->muted || !worker->busy)
                return;
        if (c)
                storm_charge(i, c);
        invoker_want_timer(i, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_listen(Invoker *i, Worker *worker, uint32_t index) {
        worker->n_false_rings = 0;
        if (worker->muted)
                worker->muted = invoker_listen(i, worker, index) < 0;
}

uint64_t storm_take_control(Invoker *i) {
        uint64_t used_nsec = meter_take(&i->control);
        uint64_t moved_nsec = i->storm_nsec < used_nsec ? i->storm_nsec : used_nsec;

        i->storm_nsec -= moved_nsec;
        return used_nsec - moved_nsec;
}
