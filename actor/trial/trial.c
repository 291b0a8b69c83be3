/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process of a trial, once its sandbox, if it has one, is finished: it tries one thing and ends. It
 * waits for no orders. */
#include "actor/trial/trial.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/environments.h"

/* Reports a SPEC for each environment that has a name of its own and loads. An administrator installed them
 * all, so they need no sandbox. */
static void catalogue(const Trial *trial) {
        for (size_t i = 0; i < environment_count(); i++) {
                TrialSpec said = {};
                const ActordEnv *env;

                if (environment_load(environment_at(i)->name, trial->directory, &env) < 0)
                        continue;
                if (env->spec(NULL, 0, &said.spec) >= 0)
                        trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
        }
}

static void try(const Trial *trial) {
        const ActordEnv *env;

        if (trial->request->kind == TRIAL_CATALOGUE) {
                catalogue(trial);
                return;
        }
        env = actor_acquire(trial->context);
        switch ((TrialKind) trial->request->kind) {
        case TRIAL_SHOW: trial_show(trial, env); break;
        case TRIAL_ROLLOUT: trial_rollout(trial, env); break;
        case TRIAL_CHECK: trial_check(trial, env); break;
        case TRIAL_BENCH: trial_bench(trial, env); break;
        case TRIAL_PLAY:
        case TRIAL_PLAY_STEPS:
        case TRIAL_PLAY_EPISODES: trial_play(trial, env); break;
        case TRIAL_CATALOGUE:
        case _TRIAL_KIND_MAX: break;
        }
}

void trial_main(const Trial *trial) {
        try(trial);
        trial->page->finished = 1;
        _exit(EXIT_SUCCESS);
}
