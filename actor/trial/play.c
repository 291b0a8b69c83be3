/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy plays the same episodes as in an evaluation, through the same functions and random streams.
 * Episodes begin with reset(), or in given states. The report has each state as shapes or pixels, or each
 * step with all numbers, or only the results of episodes. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "actor/trial/stage.h"
#include "lib/cleanup.h"
#include "lib/slot.h"

DEFINE_CLEANUP(Host *, host_free)

void *picture_new(const Trial *trial, const ActordEnv *env) {
        void *room;

        if (!env_has_picture(env) && !env_has_frame(env)) {
                (void) trial_problem(trial, TRIAL_PROBLEM_PICTURE, 0);
                return NULL;
        }
        room = env_has_picture(env) ? calloc(ACTORD_SHAPES_MAX, sizeof(ActordShape))
                                    : calloc(ACTORD_FRAME_SIDE_MAX, 3 * ACTORD_FRAME_SIDE_MAX);
        if (!room)
                (void) trial_problem(trial, TRIAL_PROBLEM_SETUP, ENOMEM);
        return room;
}

static int frame_say(const Trial *trial, const ActordEnv *env, const void *instance, uint8_t *pixels) {
        ActordFrame frame = {};
        int r;

        r = env->paint(instance, &frame, pixels);
        if (r < 0)
                return r;
        if (frame_check(&frame) < 0)
                return trial_problem(trial, TRIAL_PROBLEM_FRAME_BAD,
                                (int) (frame.width > frame.height ? frame.width : frame.height));
        trial_say(TRIAL_FRAME, &frame, sizeof(frame), pixels, frame_bytes(&frame));
        return 0;
}

int picture_say(const Trial *trial, const ActordEnv *env, const void *instance, void *room) {
        ActordShape *shapes = room;
        ActordView view = {};
        int r;

        if (!env_has_picture(env))
                return frame_say(trial, env, instance, room);
        r = env->draw(instance, &view, shapes);
        if (r < 0)
                return r;
        if (picture_check(&view, shapes) < 0)
                return trial_problem(trial, TRIAL_PROBLEM_PICTURE_BAD, (int) view.n_shapes);
        trial_say(TRIAL_PICTURE, &view, sizeof(view), shapes, view.n_shapes * sizeof(*shapes));
        return 0;
}

static void bank_write(uint8_t *bank, uint64_t at, const double *numbers, uint64_t n) {
        float *floats = (float *) (bank + at);

        for (uint64_t i = 0; i < n; i++)
                floats[i] = (float) numbers[i];
}

/* Makes a policy bank with version 0. The request has its numbers as doubles, which hold floats exactly. */
static int policy_new(const Trial *trial, const JobPage *page, void **ret) {
        const TrialRequest *request = trial->request;
        const double *numbers =
                        trial->numbers + request->n_state + request->n_actions * request->action_numbers;
        const uint64_t n_observation = page->network.n_observation;
        const uint64_t n_judges = page->policy.judges_at > 0 ? JUDGES * page->judge.n_parameters : 0;
        const uint64_t n_parameters = page->network.n_parameters;
        const uint64_t n = _TRIAL_POLICY_NUMBER_MAX + 2 * n_observation + n_parameters + n_judges;
        PolicyHead *head;
        uint8_t *bank;

        if (request->n_policy != n)
                return trial_problem(trial, TRIAL_PROBLEM_POLICY, (int) n);
        bank = aligned_alloc(64, (page->policy.bank_bytes + 63) & ~UINT64_C(63));
        if (!bank)
                return -ENOMEM;
        memset(bank, 0, page->policy.bank_bytes);

        head = (PolicyHead *) bank;
        head->observation_clip = numbers[TRIAL_POLICY_CLIP];
        head->epsilon = numbers[TRIAL_POLICY_EPSILON];
        numbers += _TRIAL_POLICY_NUMBER_MAX;
        bank_write(bank, page->policy.mean_at, numbers, n_observation);
        bank_write(bank, page->policy.inverse_sd_at, numbers + n_observation, n_observation);
        bank_write(bank, page->policy.parameters_at, numbers + 2 * n_observation, n_parameters);
        bank_write(bank, page->policy.judges_at, numbers + 2 * n_observation + n_parameters, n_judges);
        *ret = bank;
        return 0;
}

/* The policy and episodes, and room for a picture or for the numbers of a step. */
typedef struct Play {
        const Trial *trial;
        const ActordEnvSpec *spec; /* the environment's own */
        Host *host;
        Instance *instance;
        void *room;
} Play;

static bool says_steps(const Trial *trial) {
        return trial->request->kind == TRIAL_PLAY_STEPS;
}

static bool says_episodes(const Trial *trial) {
        return trial->request->kind == TRIAL_PLAY_EPISODES;
}

/* The environment's own observation, without the numbers that are added for the policy. */
static const void *observation_shown(const Play *p) {
        return p->host->own ? p->host->own : p->host->observation;
}

/* Reports the state after a reset: its picture or its observation, or nothing if only episodes are
 * reported. */
static int reset_say(const Play *p) {
        const ActordSpace *space = &p->spec->observation;

        if (says_episodes(p->trial))
                return 0;
        if (!says_steps(p->trial))
                return picture_say(p->trial, p->host->env, p->instance->memory, p->room);
        space_to_doubles(space, observation_shown(p), space_numbers(space), p->room);
        trial_say(TRIAL_RESET, p->room, space_numbers(space) * sizeof(double), NULL, 0);
        return 0;
}

static bool play_is_over(const Play *p, const ActordStep *step, uint32_t t) {
        uint64_t most = p->trial->request->n_steps;

        return evaluation_ended(p->host, step, t) || (most > 0 && t >= most);
}

/* t: the number of steps, including this one. */
static int step_say(const Play *p, const ActordStep *step, uint32_t t) {
        const ActordEnvSpec *spec = p->spec;
        uint64_t n_action = space_numbers(&spec->action), n_observation = space_numbers(&spec->observation);
        const TrialStep head = {
                .reward = step->reward,
                .terminated = step->terminated,
                .truncated = !step->terminated && play_is_over(p, step, t),
        };
        double *numbers = p->room;

        if (says_episodes(p->trial))
                return 0;
        if (!says_steps(p->trial))
                return picture_say(p->trial, p->host->env, p->instance->memory, p->room);
        space_to_doubles(&spec->action, p->host->action, n_action, numbers);
        space_to_doubles(&spec->observation, observation_shown(p), n_observation, numbers + n_action);
        trial_say(TRIAL_STEP, &head, sizeof(head), numbers, (n_action + n_observation) * sizeof(double));
        return 0;
}

/* Puts the environment into the state in which this episode begins, if the request has states. */
static int state_set(const Play *p, uint64_t episode) {
        const TrialRequest *request = p->trial->request;
        TrialSpec said;
        uint32_t n;
        int r;

        if (request->n_state == 0)
                return 0;
        n = state_learn_parts(p->host->env, p->instance->memory, &said);
        if (n == 0 || request->n_state != n * request->n_episodes)
                return trial_problem(p->trial, TRIAL_PROBLEM_STATE, (int) n);
        r = evaluation_set_state(p->host, p->instance, p->trial->numbers + episode * n);
        return r < 0 ? trial_problem(p->trial, TRIAL_PROBLEM_STATE_REFUSED, -r) : 0;
}

static bool is_inside(const Host *host) {
        return host->regulated && regulation_value(&host->regulation, host->observation) <= 1;
}

static int play_episode(Play *p, uint64_t episode) {
        TrialEpisode said = { .episode = episode };
        ActordStep step = {};
        uint32_t t;
        int r;

        r = host_policy(p->host, &(Order){ .kind = ORDER_EVALUATE });
        if (r < 0)
                return r;
        r = evaluation_begin(p->host, episode, &p->instance);
        if (r < 0)
                return r;
        r = state_set(p, episode);
        if (r < 0)
                return r;
        r = reset_say(p);
        if (r < 0)
                return r;

        said.began_inside = is_inside(p->host);
        for (t = 0; !play_is_over(p, &step, t); t++) {
                atomic_fetch_add_explicit(&p->trial->page->progress, 1, memory_order_relaxed);
                r = evaluation_step(p->host, p->instance, episode, t, &step);
                if (r < 0)
                        return r;
                r = step_say(p, &step, t + 1);
                if (r < 0)
                        return r;
                said.episode_return += step.reward;
        }
        said.n_steps = t;
        said.terminated = step.terminated;
        said.n_violations = p->host->counts.n_violations;
        said.n_outside = p->host->counts.n_outside;
        trial_say(TRIAL_EPISODE, &said, sizeof(said), NULL, 0);
        return 0;
}

static void *room_new(const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec) {
        uint64_t n = space_numbers(&spec->action) + space_numbers(&spec->observation);
        void *room;

        if (!says_steps(trial) && !says_episodes(trial))
                return picture_new(trial, env);
        assert(n > 0);
        room = calloc(n, sizeof(double));
        if (!room)
                (void) trial_problem(trial, TRIAL_PROBLEM_SETUP, ENOMEM);
        return room;
}

static int play(const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec) {
        _cleanup_free_ void *room = room_new(trial, env, spec);
        _cleanup_free_ JobPage *page = calloc(1, sizeof(*page));
        _cleanup_free_ void *policy = NULL;
        _cleanup_(host_freep) Host *host = NULL;
        ActorContext context = { .settings = trial->settings, .page = page, .n_containers = 1 };
        int r;

        if (!room)
                return -ECANCELED;
        if (says_steps(trial) && spec->n_agents > 1)
                return trial_problem(trial, TRIAL_PROBLEM_AGENTS, (int) spec->n_agents);
        r = page ? job_page_make(trial->settings, spec, page) : -ENOMEM;
        if (r < 0)
                return r == -ENOMEM ? trial_problem(trial, TRIAL_PROBLEM_SETUP, ENOMEM)
                                    : trial_misfit(trial, spec_field_of_error(r));
        r = policy_new(trial, page, &policy);
        if (r < 0)
                return r;

        context.policy = policy;
        r = host_new(&context, env, &host);
        if (r < 0)
                return r;
        for (uint64_t episode = 0; episode < trial->request->n_episodes; episode++) {
                r = play_episode(&(Play){ .trial = trial, .spec = spec, .host = host, .room = room },
                                episode);
                if (r < 0)
                        return r;
        }
        return 0;
}

void trial_play(const Trial *trial, const ActordEnv *env) {
        TrialSpec said;

        if (!trial_learn_spec(trial, env, &said))
                return;
        trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
        trial_fail(trial, play(trial, env, &said.spec));
}
