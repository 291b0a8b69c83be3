/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker signals an eventfd, its bell, when it has answered. A storm is a bell that rings without an
 * answer. Each ring wakes this process, and a plugin can ring as fast as it can write. So if a bell rings
 * several times within one order without an answer, it is muted. Until the order is answered, the invoker
 * looks at the worker by a timer instead. The next order unmutes the bell. The CPU time of false rings and
 * looks is charged to the actor, although the invoker spends it. */
#include "invoker/pool.h"
#include "invoker/report.h"
#include "lib/boottime.h"

/* Charges the container for the invoker's CPU time since the last charge, if the invoker served only false
 * rings and looks in this time. */
static void storm_charge(Reporter *reporter, Container *c) {
        uint64_t now = clock_nsec(CLOCK_PROCESS_CPUTIME_ID);

        if (reporter->storm_since_nsec > 0 && now > reporter->storm_since_nsec) {
                c->spare_nsec += now - reporter->storm_since_nsec;
                reporter->storm_nsec += now - reporter->storm_since_nsec;
        }
        reporter->storm_since_nsec = now;
}

void storm_over(Reporter *reporter) {
        reporter->storm_since_nsec = 0;
}

void storm_ring(Loop *loop, Reporter *reporter, Worker *worker, Container *c) {
        if (c)
                storm_charge(reporter, c);
        if (++worker->n_false_rings < FALSE_RINGS_MAX || worker->muted)
                return;
        worker->muted = loop_mute_bell(loop, worker) >= 0;
        if (worker->muted && worker->busy)
                loop_want_timer(loop, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_looked(Loop *loop, Reporter *reporter, const Worker *worker, Container *c) {
        if (!worker->muted || !worker->busy)
                return;
        if (c)
                storm_charge(reporter, c);
        loop_want_timer(loop, clock_boottime() + STORM_LOOK_NSEC);
}

void storm_listen(Loop *loop, Worker *worker, uint32_t index) {
        worker->n_false_rings = 0;
        if (worker->muted)
                worker->muted = loop_hear_bell(loop, worker, index) < 0;
}

uint64_t storm_take_control(Reporter *reporter) {
        uint64_t used_nsec = meter_take(&reporter->control);
        uint64_t moved_nsec = reporter->storm_nsec < used_nsec ? reporter->storm_nsec : used_nsec;

        reporter->storm_nsec -= moved_nsec;
        return used_nsec - moved_nsec;
}
