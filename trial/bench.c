/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps per CPU second of the bare loop, in the sandbox and out of it by turns, so that what else the machine does falls on both alike. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/slot.h"

#include "trial/stage.h"

enum { N_RUNS = 7, CHUNK = 256, BATCH = 4096 };
#define RUN_NSEC UINT64_C(300000000)

/* Its own CPU time: what others do on the machine is not the environment's. */
static uint64_t now_nsec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* Actions are drawn before: what is measured is the environment. */
static uint8_t *draw_actions(Stage *stage, size_t n_bytes) {
        uint8_t *actions = calloc(BATCH, n_bytes);

        for (uint64_t i = 0; actions && i < BATCH; i++) {
                stage_act_random(stage, i);
                memcpy(actions + i * n_bytes, stage->action, n_bytes);
        }
        return actions;
}

static int run(Stage *stage, const uint8_t *actions, size_t n_bytes, uint64_t n_wanted, double *ret) {
        uint64_t start = now_nsec(), n = 0, nsec;
        int r;

        r = stage_reset(stage);
        do {
                for (int i = 0; i < CHUNK && r >= 0; i++, n++) {
                        memcpy(stage->action, actions + n % BATCH * n_bytes, n_bytes);
                        r = stage_step(stage);
                        if (r >= 0 && stage_ended(stage))
                                r = stage_reset(stage);
                }
                nsec = now_nsec() - start;
        } while (r >= 0 && (n_wanted > 0 ? n < n_wanted : nsec < RUN_NSEC));

        *ret = nsec > 0 ? (double) n * 1e9 / (double) nsec : 0;
        return r;
}

static void bench(const Trial *trial, const ActordEnv *env, const void *userdata) {
        uint8_t *actions = NULL;
        TrialSpec said;
        Stage stage;
        size_t n_bytes;
        int r;

        if (!trial_learn_spec(trial, env, &said))
                return;
        r = stage_init(&stage, trial, env, &said.spec);
        if (r >= 0) {
                n_bytes = stage.n_action * element_bytes(said.spec.action.element);
                actions = draw_actions(&stage, n_bytes);
                r = actions ? run(&stage, actions, n_bytes, trial->request->n_steps, &trial->page->rate)
                            : -ENOMEM;
        }
        if (r < 0) {
                trial->page->fault = FAULT_ENVIRONMENT;
                trial->page->detail = -r;
        }
        free(actions);
        stage_done(&stage);
}

/* What a user wrote runs nowhere else than inside. */
Fault trial_bench(Trial *trial, int32_t *ret_detail) {
        for (int i = 0; i < N_RUNS; i++)
                for (int inside = trial_runs_foreign_code(trial); inside < 2; inside++) {
                        TrialRate rate = { .inside = (uint32_t) inside, .level = trial->level };
                        Fault fault = trial_run(trial, inside, bench, NULL, ret_detail);

                        if (fault != FAULT_NONE)
                                return fault;
                        rate.steps_per_second = trial->page->rate;
                        trial_say(TRIAL_RATE, &rate, sizeof(rate), NULL, 0);
                }
        return FAULT_NONE;
}
