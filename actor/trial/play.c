/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy plays the same episodes as in an evaluation, through the same functions and random streams, and
 * each state is drawn as shapes or pixels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "actor/trial/trial.h"
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

/* A bank with policy version 0. The request has its numbers as doubles, which hold floats exactly. */
static int policy_new(const Trial *trial, const JobPage *page, void **ret) {
        const TrialRequest *request = trial->request;
        const double *numbers =
                        trial->numbers + request->n_state + request->n_actions * request->action_numbers;
        const uint64_t n_observation = page->network.n_observation;
        const uint64_t n = _TRIAL_POLICY_NUMBER_MAX + 2 * n_observation + page->network.n_parameters;
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
        bank_write(bank, page->policy.parameters_at, numbers + 2 * n_observation,
                        page->network.n_parameters);
        *ret = bank;
        return 0;
}

static int play_episode(const Trial *trial, Host *host, uint64_t episode, void *room) {
        TrialEpisode said = { .episode = episode };
        ActordStep step = {};
        Instance *instance;
        uint32_t t;
        int r;

        r = host_policy(host, &(Order){ .kind = ORDER_EVALUATE });
        if (r < 0)
                return r;
        r = evaluation_begin(host, episode, &instance);
        if (r < 0)
                return r;
        r = picture_say(trial, host->env, instance->memory, room);
        if (r < 0)
                return r;

        for (t = 0; !evaluation_ended(host, &step, t); t++) {
                atomic_fetch_add_explicit(&trial->page->progress, 1, memory_order_relaxed);
                r = evaluation_step(host, instance, episode, t, &step);
                if (r < 0)
                        return r;
                r = picture_say(trial, host->env, instance->memory, room);
                if (r < 0)
                        return r;
                said.episode_return += step.reward;
        }
        said.n_steps = t;
        trial_say(TRIAL_EPISODE, &said, sizeof(said), NULL, 0);
        return 0;
}

static int play(const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec) {
        _cleanup_free_ void *room = picture_new(trial, env);
        _cleanup_free_ JobPage *page = calloc(1, sizeof(*page));
        _cleanup_free_ void *policy = NULL;
        _cleanup_(host_freep) Host *host = NULL;
        ActorContext context = { .settings = trial->settings, .page = page, .n_containers = 1 };
        int r;

        if (!room)
                return -ECANCELED;
        r = page ? job_page_make(trial->settings, spec, page) : -ENOMEM;
        if (r < 0)
                return trial_problem(trial, TRIAL_PROBLEM_SETUP, -r);
        r = policy_new(trial, page, &policy);
        if (r < 0)
                return r;

        context.policy = policy;
        r = host_new(&context, env, &host);
        if (r < 0)
                return r;
        for (uint64_t episode = 0; episode < trial->request->n_episodes; episode++) {
                r = play_episode(trial, host, episode, room);
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
