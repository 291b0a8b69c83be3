/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an environment is, and what it does under given actions: every number it shows, as it is. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/slot.h"
#include "trial/stage.h"

void trial_say(uint32_t kind, const void *head, size_t n_head, const void *body, size_t n_body) {
        const TrialRecord record = { .kind = kind, .n_bytes = (uint32_t) (n_head + n_body) };

        if (write_full(TRIAL_FD_ROWS, &record, sizeof(record)) < 0 ||
                        write_full(TRIAL_FD_ROWS, head, n_head) < 0 ||
                        write_full(TRIAL_FD_ROWS, body, n_body) < 0)
                _exit(EXIT_FAILURE);
}

static bool fail(const Trial *trial, Fault fault, int detail) {
        trial->page->fault = fault;
        trial->page->detail = detail;
        return false;
}

bool trial_learn_spec(const Trial *trial, const ActordEnv *env, TrialSpec *ret) {
        const JobSettings *settings = trial->settings;
        int r, field;

        *ret = (TrialSpec){ .level = trial->level };
        r = env->spec(settings->options, settings->n_options, &ret->spec);
        if (r < 0)
                return fail(trial, FAULT_LOAD, -r);
        if (spec_check(&ret->spec, &field) < 0)
                return fail(trial, FAULT_SPEC, field);
        return true;
}

/* Numbers of its state; 0: it shows none. */
static uint32_t learn_parts(const Trial *trial, const Stage *stage, TrialSpec *said) {
        uint32_t n = 0;
        int n_parts;

        if (!env_has_state(stage->env))
                return 0;
        n_parts = stage->env->state_parts(stage->instance.memory, said->parts);
        if (n_parts <= 0 || n_parts > (int) ACTORD_STATE_PARTS)
                return 0;
        for (int i = 0; i < n_parts; i++) {
                if (said->parts[i].n_numbers > ACTORD_STATE_NUMBERS_MAX - n)
                        return 0;
                n += said->parts[i].n_numbers;
        }
        said->n_parts = (uint32_t) n_parts;
        return n;
}

void trial_show(const Trial *trial, const ActordEnv *env, const void *userdata) {
        TrialSpec said;
        Stage stage;
        int r;

        if (!trial_learn_spec(trial, env, &said))
                return;
        r = stage_init(&stage, trial, env, &said.spec);
        if (r < 0)
                (void) fail(trial, FAULT_ENVIRONMENT, -r);
        else {
                (void) learn_parts(trial, &stage, &said);
                trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
        }
        stage_done(&stage);
}

typedef struct Rollout {
        const Trial *trial;
        Stage stage;
        uint32_t n_state;
        double *row;    /* action, observation and state of a step; state and observation of a reset */
        void *pictures; /* room for one; NULL: none is wanted */
} Rollout;

static int problem(const Rollout *o, TrialProblem problem, int detail) {
        o->trial->page->problem = problem;
        o->trial->page->detail = detail;
        return -ECANCELED;
}

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
                        return problem(o, TRIAL_PROBLEM_STATE, (int) o->n_state);
                r = o->stage.env->set_state(
                                o->stage.instance.memory, o->trial->numbers, o->stage.observation.memory);
                if (r < 0)
                        return problem(o, TRIAL_PROBLEM_STATE_REFUSED, -r);
        }
        r = get_state(o, o->row);
        if (r < 0)
                return r;
        space_to_doubles(&o->stage.spec->observation, o->stage.observation.memory, o->row + o->n_state);
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
                return problem(o, TRIAL_PROBLEM_ACTION_VALUE, (int) t);
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
        space_to_doubles(&stage->spec->action, stage->action, o->row);
        space_to_doubles(&stage->spec->observation, stage->observation.memory, o->row + stage->n_action);
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
        int r = 0;

        if (request->each_picture) {
                o->pictures = picture_new(o->trial, o->stage.env);
                if (!o->pictures)
                        return -ECANCELED;
        }
        if (request->actions == TRIAL_ACTIONS_GIVEN && request->action_numbers != o->stage.n_action)
                return problem(o, TRIAL_PROBLEM_ACTION_NUMBERS, (int) o->stage.n_action);
        for (uint64_t t = 0; t < request->n_steps && r >= 0; t++) {
                if (t == 0 || stage_ended(&o->stage))
                        r = episode_begin(o);
                if (r >= 0)
                        r = step(o, t);
        }
        return r;
}

void trial_rollout(const Trial *trial, const ActordEnv *env, const void *userdata) {
        Rollout o = { .trial = trial };
        TrialSpec said;
        int r;

        if (!trial_learn_spec(trial, env, &said))
                return;
        r = stage_init(&o.stage, trial, env, &said.spec);
        if (r >= 0) {
                o.n_state = learn_parts(trial, &o.stage, &said);
                trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
                o.row = calloc(o.stage.n_action + o.stage.n_observation + o.n_state, sizeof(double));
                r = o.row ? rollout(&o) : -ENOMEM;
        }
        if (r < 0 && r != -ECANCELED)
                (void) fail(trial, FAULT_ENVIRONMENT, -r);
        free(o.pictures);
        free(o.row);
        stage_done(&o.stage);
}
