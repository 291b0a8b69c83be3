/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=schedule: the numbers of Schedule=, written down beforehand. "25*10 30*5" is 25 actors for ten rounds and 30 for five; the last number stays. MinionsRL's
 * motivation (Yu et al., AAAI 2024, figure 2) compares three such lists of one length and one sum. */
#include "daemon/scheduler.h"

static uint32_t schedule_count(const SchedulerView *view, SchedulerState *state) {
        const setting_counts *s = &view->settings->schedule;
        uint64_t left = view->round; /* rounds before the one to be decided */

        for (uint32_t i = 0; i + 1 < s->n; i++) {
                if (left < s->runs[i].n_rounds)
                        return s->runs[i].n_actors;
                left -= s->runs[i].n_rounds;
        }
        return s->n > 0 ? s->runs[s->n - 1].n_actors : 0;
}

const Scheduler scheduler_schedule = { .count = schedule_count };
