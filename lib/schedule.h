/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The value of a scheduled number in a round: LearningRateSchedule=, ClipSchedule=. The learner computes
 * with it, and schedulers compare it with the learner's report. */
#pragma once

#include <math.h>

#include "include/settings.h"

/* SCHEDULE_LINEAR: falls to 0 with the share of StopSteps= that was done when the round began. */
static inline double schedule_value(
                const JobSettings *settings, double value, uint32_t schedule, uint64_t n_env_steps_before) {
        double done = (double) n_env_steps_before / (double) settings->stop_steps;

        return schedule == SCHEDULE_LINEAR ? value * (1.0 - fmin(done, 1.0)) : value;
}
