/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how many steps per second of CPU time an environment makes in a bare loop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/trial/stage.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/slot.h"

enum { CHUNK = 256, BATCH = 4096 };
#define RUN_NSEC UINT64_C(300000000)

/* The CPU time of this process, so that other load on the machine does not count. */
static uint64_t now_nsec(void) {
        return clock_nsec(CLOCK_PROCESS_CPUTIME_ID);
}

/* Draws the actions before the clock starts, so that only the environment is measured. */
static uint8_t *draw_actions(Stage *stage, size_t n_bytes) {
        uint8_t *actions = calloc(BATCH, n_bytes);

        for (uint64_t i = 0; actions && i < BATCH; i++) {
                stage_act_random(stage, i);
                memcpy(actions + i * n_bytes, stage->action, n_bytes);
        }
        return actions;
}

static int run_chunk(Stage *stage, const uint8_t *actions, size_t n_bytes, uint64_t n) {
        int r;

        for (int i = 0; i < CHUNK; i++, n++) {
                memcpy(stage->action, actions + n % BATCH * n_bytes, n_bytes);
                r = stage_step(stage);
                if (r < 0)
                        return r;
                if (!stage_ended(stage))
                        continue;
                r = stage_reset(stage);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int run(Stage *stage, const uint8_t *actions, size_t n_bytes, uint64_t n_wanted, double *ret) {
        uint64_t start = now_nsec(), n = 0, nsec;
        int r;

        r = stage_reset(stage);
        if (r < 0)
                return r;
        do {
                r = run_chunk(stage, actions, n_bytes, n);
                if (r < 0)
                        return r;
                n += CHUNK;
                nsec = now_nsec() - start;
        } while (n_wanted > 0 ? n < n_wanted : nsec < RUN_NSEC);

        *ret = nsec > 0 ? (double) n * 1e9 / (double) nsec : 0;
        return 0;
}

static int bench(const Trial *trial, Stage *stage) {
        size_t n_bytes = stage->n_action * element_bytes(stage->spec->action.element);
        _cleanup_free_ uint8_t *actions = draw_actions(stage, n_bytes);

        if (!actions)
                return -ENOMEM;
        return run(stage, actions, n_bytes, trial->request->n_steps, &trial->page->rate);
}

void trial_bench(const Trial *trial, const ActordEnv *env) {
        _cleanup_(stage_done) Stage stage = {};
        TrialSpec said;

        if (stage_make(&stage, trial, env, &said))
                trial_fail(trial, bench(trial, &stage));
}
