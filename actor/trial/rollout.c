/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows an environment's spec, and makes steps with given, random or zero actions. The report has every
 * number of action and observation and, if asked for, of the state, unrounded. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/slot.h"
#include "actor/trial/stage.h"

void trial_show(const Trial *trial, const ActordEnv *env) {
        _cleanup_(stage_done) Stage stage = {};
        TrialSpec said;

        if (!stage_make(&stage, trial, env, &said))
                return;
        (void) state_learn_parts(env, stage.instance.memory, &said);
        trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
}

typedef struct Rollout {
        const Trial *trial;
        Stage stage;
        uint32_t n_state;
        double *row;    /* action, observation and state of a step; or state and observation of a reset */
        void *pictures; /* room for one; NULL: none is wanted */
} Rollout;

static int get_state(const Rollout *o, double *ret) {
        return o->n_state > 0 ? o->stage.env->get_state(o->stage.instance.memory, ret) : 0;
}

static int show(const Rollout *o) {
        return o->pictures ? picture_say(o->trial, o->stage.env, o->stage.instance.memory, o->pictures) : 0;
}

static int episode_begin(Rollout *o) {
        const TrialRequest *request = o->trial->request;
        bool first = o->stage.episode == 0;
        int r;

        r = stage_reset(&o->stage);
        if (r < 0)
                return r;
        if (first && request->n_state > 0) {
                if (request->n_state != o->n_state)
                        return trial_problem(o->trial, TRIAL_PROBLEM_STATE, (int) o->n_state);
                r = o->stage.env->set_state(
                                o->stage.instance.memory, o->trial->numbers, o->stage.observation.memory);
                if (r < 0)
                        return trial_problem(o->trial, TRIAL_PROBLEM_STATE_REFUSED, -r);
        }
        r = get_state(o, o->row);
        if (r < 0)
                return r;
        space_to_doubles(&o->stage.spec->observation, o->stage.observation.memory, o->stage.n_observation,
                        o->row + o->n_state);
        trial_say(TRIAL_RESET, o->row, (o->n_state + o->stage.n_observation) * sizeof(double), NULL, 0);
        return show(o);
}

static int act(Rollout *o, uint64_t t) {
        const TrialRequest *request = o->trial->request;

        if (request->actions == TRIAL_ACTIONS_RANDOM)
                stage_act_random(&o->stage, t);
        else if (request->actions == TRIAL_ACTIONS_ZERO)
                stage_act_zero(&o->stage);
        else if (stage_act(&o->stage, o->trial->numbers + request->n_state + t * request->action_numbers) <
                        0)
                return trial_problem(o->trial, TRIAL_PROBLEM_ACTION_VALUE, (int) t);
        return 0;
}

static int step(Rollout *o, uint64_t t) {
        const Stage *stage = &o->stage;
        TrialStep head;
        uint64_t n = stage->n_action + stage->n_observation;
        int r;

        r = act(o, t);
        if (r < 0)
                return r;
        o->stage.step = (ActordStep){};
        r = stage_step(&o->stage);
        if (r < 0)
                return r;

        head = (TrialStep){
                .reward = stage->step.reward,
                .terminated = stage->step.terminated,
                .truncated = !stage->step.terminated && stage_ended(stage),
        };
        space_to_doubles(&stage->spec->action, stage->action, stage->n_action, o->row);
        space_to_doubles(&stage->spec->observation, stage->observation.memory, stage->n_observation,
                        o->row + stage->n_action);
        if (o->trial->request->each_state) {
                r = get_state(o, o->row + n);
                if (r < 0)
                        return r;
                n += o->n_state;
        }
        trial_say(TRIAL_STEP, &head, sizeof(head), o->row, n * sizeof(double));
        return show(o);
}

static int rollout(Rollout *o) {
        const TrialRequest *request = o->trial->request;
        int r;

        if (request->each_picture) {
                o->pictures = picture_new(o->trial, o->stage.env);
                if (!o->pictures)
                        return -ECANCELED;
        }
        if (request->actions == TRIAL_ACTIONS_GIVEN && request->action_numbers != o->stage.n_action)
                return trial_problem(o->trial, TRIAL_PROBLEM_ACTION_NUMBERS, (int) o->stage.n_action);
        for (uint64_t t = 0; t < request->n_steps; t++) {
                if (t == 0 || stage_ended(&o->stage)) {
                        r = episode_begin(o);
                        if (r < 0)
                                return r;
                }
                r = step(o, t);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void rollout_done(Rollout *o) {
        free(o->pictures);
        free(o->row);
        stage_done(&o->stage);
}

void trial_rollout(const Trial *trial, const ActordEnv *env) {
        _cleanup_(rollout_done) Rollout o = { .trial = trial };
        TrialSpec said;

        if (!stage_make(&o.stage, trial, env, &said))
                return;
        o.n_state = state_learn_parts(env, o.stage.instance.memory, &said);
        trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
        o.row = calloc(o.stage.n_action + o.stage.n_observation + o.n_state, sizeof(double));
        trial_fail(trial, o.row ? rollout(&o) : -ENOMEM);
}
