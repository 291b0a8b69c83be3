/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=kungfu: the number of actors grows with the gradient's noise scale, as Nitro's authors run KungFu's
 * adaptation (Mai et al., OSDI 2020) for comparison. The noise scale is that of McCandlish et al. (2018).
 * The number begins at MinActors=. When the noise scale is above its first measurement, the number is
 * multiplied by the ratio of the two, up to MaxActors=, and rounded down; it never falls. The estimate can
 * be negative or infinite, and is then ignored. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"

typedef struct KungFu {
        double first; /* 0: none yet */
        double n_actors;
} KungFu;
static_assert(sizeof(KungFu) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

static uint32_t kungfu_count(const SchedulerView *view, SchedulerState *state) {
        double scale = view->statistics ? view->statistics->noise_scale : NAN;
        KungFu f;

        memcpy(&f, state->own, sizeof(f));
        if (f.n_actors == 0)
                f.n_actors = scheduler_lowest(view->settings);
        if (isfinite(scale) && scale > 0) {
                if (f.first == 0)
                        f.first = scale;
                else if (scale > f.first)
                        f.n_actors = scheduler_clip(view->settings, f.n_actors * (scale / f.first));
        }
        memcpy(state->own, &f, sizeof(f));
        return (uint32_t) f.n_actors;
}

const Scheduler scheduler_KUNGFU = { .count = kungfu_count };
