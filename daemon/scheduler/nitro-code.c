/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=nitro-code: Nitro's boosting as in its published code (IntelliSys-Lab/Nitro, 2024), which differs
 * from the paper.
 *
 * R is curvature_ratio_loss() (learner/curvature/curvature.h) of the whole loss: the objective's negative
 * and the value's part. So a high R means more actors. d is Decay=. Imin and Imax are the fewest and the
 * most actors that the job may have. The window has the newest Window= values; Rmin and Rmax are its
 * extremes.
 *
 * In round k, counted from 1, R d^k enters the window, and the score is (R d^k - Rmin) / (Rmax - Rmin). Then
 * R itself enters the window as well. So each round adds two values, and Window=6 holds three rounds. The
 * first score is 1. The next round has int(clip(Imax score, floor, Imax)) actors with floor = clip(Imax
 * d^(k^2), Imin, Imax). In the published code the floor is 64 d^(k^2), between 8 and 64. The first round has
 * 16 actors. If all values are equal, the published code divides by zero; here the score is 0. The score is
 * also 0 for an R that is not finite, which never enters the window. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler/window.h"
#include "lib/doubles.h"

#define FIRST_ACTORS 16u

static uint32_t nitro_code_count(const SchedulerView *view, SchedulerState *state) {
        const JobSettings *settings = view->settings;
        uint64_t k = view->round;
        double highest = scheduler_highest(settings), score = 0, r, decayed;
        uint32_t lowest = scheduler_clip(settings, highest * double_power(settings->decay, k * k));
        Window window;

        if (!view->statistics)
                return FIRST_ACTORS;

        memcpy(&window, state->own, sizeof(window));
        r = view->statistics->curvature_loss;
        decayed = r * double_power(settings->decay, k);
        if (isfinite(r)) {
                window_add(&window, settings->window, decayed);
                score = window.n == 1 ? 1 : window_highness(&window, settings->window, decayed);
                window_add(&window, settings->window, r);
        }
        memcpy(state->own, &window, sizeof(window));
        return (uint32_t) fmax(lowest, scheduler_clip(settings, highest * score));
}

const Scheduler scheduler_NITRO_CODE = { .count = nitro_code_count };
