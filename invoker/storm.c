/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bells that ring without an answer. Each ring costs this process a wake-up, and a plugin can ring as
 * fast as it can write. So a bell that rang in vain several times within one order is no longer listened
 * to: until that order is answered the timer looks at its worker instead, and the next order listens
 * again. What false rings and looks cost is moved from the control's use to the actor's. */
#include <time.h>

#include "invoker/pool.h"
#include "invoker/report.h"
#include "lib/boottime.h"

static uint64_t own_cpu_nsec(void) {
        struct timespec ts;

        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) < 0)
                return 0;
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

/* What was used since the last charge, if nothing but false rings was served since. */
static void storm_charge(Books *books, Container *c) {
        uint64_t now = own_cpu_nsec();

        if (books->storm_since_nsec > 0 && now > books->storm_since_nsec) {
                c->spare_nsec += now - books->storm_since_nsec;
                books->storm_nsec += now - books->storm_since_nsec;
        }
        books->storm_since_nsec = now;
}

void storm_over(Books *books) {
        books->storm_since_nsec = 0;
}

void storm_ring(Loop *loop, Books *books, Worker *worker, Container *c) {
        if (c)
                storm_charge(books, c);
        if (++worker->n_false_rings < FALSE_RINGS_MAX || worker->muted)
                return;
        worker->muted = loop_mute_bell(loop, worker) >= 0;
        if (worker->muted && worker->busy)
                loop_want_timer(loop, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_looked(Loop *loop, Books *books, const Worker *worker, Container *c) {
        if (!worker->muted || !worker->busy)
                return;
        if (c)
                storm_charge(books, c);
        loop_want_timer(loop, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_listen(Loop *loop, Worker *worker, uint32_t index) {
        worker->n_false_rings = 0;
        if (worker->muted)
                worker->muted = loop_hear_bell(loop, worker, index) < 0;
}

uint64_t storm_take_control(Books *books) {
        uint64_t used_nsec = meter_take(&books->control);
        uint64_t moved_nsec = books->storm_nsec < used_nsec ? books->storm_nsec : used_nsec;

        books->storm_nsec -= moved_nsec;
        return used_nsec - moved_nsec;
}
