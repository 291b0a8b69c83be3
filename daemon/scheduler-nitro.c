/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=nitro: Nitro's boosting by its paper (Yu et al., PVLDB 18(1), 2024, sections 3 and 4): more actors where the surrogate objective is flat.
 *
 * R = -lambda_max / lambda_min of the objective's Hessian (equation 2), as the learner measured it at the end of the round before; over the last n = Window= values
 * S_k = (Rmax - R_k) / (Rmax - Rmin) d^k with d = Decay=, and I_k = clip(Imax S_k, Imin, Imax). k counts rounds from 1. Where the paper is silent: without a
 * negative curvature R is infinite; what is not finite never enters the window, and its score is 0; so is that of a window of one value, or of equal ones. */
#include <math.h>

#include "daemon/scheduler-window.h"

static uint32_t nitro_count(const SchedulerView *view, SchedulerState *state) {
        return window_count(view, state, view->statistics ? view->statistics->curvature_ratio : NAN);
}

const Scheduler scheduler_nitro = { .count = nitro_count };
