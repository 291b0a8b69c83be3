/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environment ABI for stormwater tasks: episodes, steps, snapshots. SWMM cannot stop in one process and
 * continue with the same bits in another one, since its own hot-start files hold floats. But a simulation is
 * repeatable. So a snapshot is the storm and all openings so far, and a restore runs the episode again. This
 * takes a tenth of a second, or a second with eleven ponds. If an instance is already at the snapshot's
 * step, as between two invocations of one actor, nothing is repeated. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actor/envs/option.h"
#include "actor/envs/swmm/tasks.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define RAIN_MAX  1e3
#define SCALE_MAX 1e9

enum { STORMS_RANDOM, STORMS_HELD_OUT, STORMS_PUBLISHED };
enum { CONTROLLER_AGENT, CONTROLLER_PASSIVE, CONTROLLER_RULES };
enum { ACTIONS_OPENINGS, ACTIONS_FINE, ACTIONS_CENTRED };

/* The content of a snapshot. A snapshot is cut off after the openings of its task's last step. */
typedef struct Episode {
        Storm storm;
        uint32_t n_steps, reserved;
        float openings[N_OPENINGS_MAX]; /* step by step */
} Episode;

typedef struct Stormwater {
        const Task *task;
        double storm, flood_weight, left_weight, reward_scale;
        int storms, controller, actions;
        bool forecast;
        Episode episode;
        Reading now;
        EngineImage image; /* the last member: its bytes follow */
} Stormwater;

static const char *const storms_words[] = { "random", "held-out", "published", NULL };
static const char *const controller_words[] = { "agent", "passive", "rules", NULL };
static const char *const actions_words[] = { "openings", "fine", "centred", NULL };

#define ENV_INSTANCE Stormwater
static const EnvOption stormwater_options[] = { STORMWATER_GAMMA_OPTIONS(ENV_OPTION) };

static int stormwater_init(
                Stormwater *s, const Task *task, const ActordOption *options, uint32_t n_options) {
        *s = (Stormwater){ .task = task };
        return env_options_parse(stormwater_options, task->n_options, options, n_options, s);
}

static size_t episode_bytes(const Task *task) {
        return offsetof(Episode, openings) + (size_t) task->n_steps * task->n_valves * sizeof(float);
}

/* The openings of step t. */
static float *openings_of(const Task *task, Episode *e, uint32_t t) {
        return e->openings + (size_t) t * task->n_valves;
}

static int stormwater_spec(
                const Task *task, const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Stormwater s;
        int r;

        r = stormwater_init(&s, task, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = space_of_numbers(
                                s.forecast ? task->n_observation : task->n_published, -INFINITY, INFINITY),
                .action = space_of_numbers(task->n_valves, s.actions == ACTIONS_OPENINGS ? 0 : -1, 1),
                .horizon_steps = task->n_steps,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = 0,
                .solved_return = NAN,
                .instance_bytes = sizeof(Stormwater) + ENGINE_IMAGE_MAX,
                .snapshot_bytes = episode_bytes(task),
        };
        (void) snprintf(ret->name, sizeof(ret->name), "%s", task->name);
        return 0;
}

static View stormwater_view(const Stormwater *s) {
        const Episode *e = &s->episode;
        const Task *task = s->task;
        View view = {
                .now = s->now,
                .storm = e->storm,
                .hour = (double) e->n_steps / STEPS_PER_HOUR,
                .flood_weight = s->flood_weight,
                .left_weight = s->left_weight,
        };

        for (uint32_t i = 0; i < task->n_valves; i++)
                view.openings[i] = e->n_steps > 0 ? e->openings[(e->n_steps - 1) * task->n_valves + i]
                                                  : task->opening;
        return view;
}

static void stormwater_observe(const Stormwater *s, void *ret_observation) {
        View view = stormwater_view(s);
        float all[N_OBSERVATION_MAX];

        s->task->observe(&view, all);
        memcpy(ret_observation, all,
                        (s->forecast ? s->task->n_observation : s->task->n_published) * sizeof(float));
}

static void stormwater_read(Stormwater *s) {
        const EngineNames *names = &s->task->names;

        for (int i = 0; i < N_NODES_MAX && names->nodes[i]; i++) {
                s->now.depth[i] = engine_depth(s->image.nodes[i]);
                s->now.flood[i] = engine_overflow(s->image.nodes[i]);
        }
        for (int i = 0; i < N_LINKS_MAX && names->links[i]; i++)
                s->now.flow[i] = engine_flow(s->image.links[i]);
}

static void stormwater_open(Stormwater *s, const float *openings) {
        for (uint32_t i = 0; i < s->task->n_valves; i++)
                engine_set_opening(s->image.links[i], (double) openings[i]);
}

/* Begins a simulation of the episode's storm. */
static int stormwater_begin(Stormwater *s) {
        static char text[DRAINAGE_MAX];
        const Task *task = s->task;
        float openings[N_VALVES_MAX];
        int n, r;

        n = drainage_write(&task->drainage, task->name, &task->family, &s->episode.storm, text);
        if (n < 0)
                return n;
        r = engine_begin(&s->image, text, (size_t) n, &task->names);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < task->n_valves; i++)
                openings[i] = task->opening;
        stormwater_open(s, openings);
        stormwater_read(s);
        return 0;
}

/* Makes step t of the episode, with the episode's openings for that step. *ret: the reward. The instance's
 * image must have the turn. SWMM chooses the length of its own steps. So the last of them ends a little
 * after the 15 minutes, or at the end of the simulation. */
static int stormwater_live(Stormwater *s, uint32_t t, double *ret) {
        int64_t msec = 0, end = (int64_t) (t + 1) * STEP_MSEC;
        bool ends = t + 1 == s->task->n_steps;
        double sum = 0, last = 0;
        int r;

        stormwater_open(s, openings_of(s->task, &s->episode, t));
        s->episode.n_steps = t + 1;
        while (msec < end) {
                View view;

                r = engine_advance(&msec);
                if (r >= 0 && msec <= 0 && ends)
                        msec = end;
                if (r < 0 || msec <= 0) {
                        engine_forget(&s->image);
                        return r < 0 ? r : -EIO;
                }
                stormwater_read(s);
                view = stormwater_view(s);
                view.last = ends && msec >= end;
                last = s->task->reward(&view);
                sum += last;
        }
        *ret = s->reward_scale * (s->task->reward_at_end ? last : sum);
        return 0;
}

static int stormwater_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Stormwater *s = instance;
        const StormFamily *family = &s->task->family;
        int r;

        memset(&s->episode, 0, sizeof(s->episode));
        if (s->storm > 0)
                storm_held_out(family, (uint32_t) s->storm, &s->episode.storm);
        else if (s->storms == STORMS_HELD_OUT)
                storm_held_out(family, 1 + (uint32_t) actord_random_uniform(random, 0, N_HELD_OUT),
                                &s->episode.storm);
        else if (s->storms == STORMS_PUBLISHED)
                storm_published(family, &s->episode.storm);
        else
                storm_draw(family, random, &s->episode.storm);

        r = stormwater_begin(s);
        if (r < 0)
                return r;
        stormwater_observe(s, ret_observation);
        return 0;
}

static float opening_of(const Stormwater *s, float action) {
        float half = (1 + fmaxf(action, -1)) / 2, opening = action;

        if (s->actions == ACTIONS_FINE) /* large ponds need openings below 0.1 in fine steps */
                opening = half * half * half * half;
        else if (s->actions == ACTIONS_CENTRED)
                opening = half;
        return fminf(fmaxf(opening, 0), 1);
}

static int choose_openings(const Stormwater *s, const void *action, float *ret) {
        uint32_t n_valves = s->task->n_valves;
        View view = stormwater_view(s);
        float raw[N_VALVES_MAX];

        memcpy(raw, action, n_valves * sizeof(float));
        for (uint32_t i = 0; i < n_valves; i++) {
                if (isnan(raw[i]))
                        return -EINVAL;
                ret[i] = s->controller == CONTROLLER_PASSIVE ? 1 : opening_of(s, raw[i]);
        }
        if (s->controller == CONTROLLER_RULES)
                s->task->rules(&view, ret);
        return 0;
}

static int stormwater_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Stormwater *s = instance;
        uint32_t t = s->episode.n_steps;
        double reward;
        int r;

        if (!s->image.live || t >= s->task->n_steps)
                return -EINVAL;
        r = choose_openings(s, action, openings_of(s->task, &s->episode, t));
        if (r < 0)
                return r;

        engine_turn(&s->image);
        r = stormwater_live(s, t, &reward);
        if (r < 0)
                return r;
        stormwater_observe(s, ret_observation);
        *ret = (ActordStep){ .reward = reward, .terminated = t + 1 == s->task->n_steps };
        return 0;
}

static int stormwater_snapshot(const void *instance, void *ret_snapshot) {
        const Stormwater *s = instance;

        memcpy(ret_snapshot, &s->episode, episode_bytes(s->task));
        return 0;
}

static bool storm_is_valid(const Storm *storm) {
        for (int h = 0; h < STORM_HOURS; h++)
                if (!(storm->rain[h] >= 0 && storm->rain[h] <= RAIN_MAX))
                        return false;
        return storm->tide >= 0 && storm->tide <= 1;
}

static bool episode_is_valid(const Stormwater *s, const Episode *e) {
        if (!storm_is_valid(&e->storm) || e->n_steps > s->task->n_steps || e->reserved != 0)
                return false;
        for (uint32_t k = 0; k < s->task->n_steps * s->task->n_valves; k++)
                if (!(e->openings[k] >= 0 && e->openings[k] <= (k < e->n_steps * s->task->n_valves ? 1 : 0)))
                        return false;
        return true;
}

static int stormwater_restore(void *instance, const void *snapshot) {
        Stormwater *s = instance;
        size_t n = episode_bytes(s->task);
        Episode episode = {};
        double reward;
        int r = 0;

        memcpy(&episode, snapshot, n);
        if (!episode_is_valid(s, &episode))
                return -EINVAL;
        if (s->image.live && memcmp((const void *) &s->episode, (const void *) &episode, n) == 0)
                return 0;

        s->episode = episode;
        r = stormwater_begin(s);
        for (uint32_t t = 0; t < episode.n_steps && r >= 0; t++)
                r = stormwater_live(s, t, &reward);
        return r;
}

static void stormwater_close(void *instance) {
        Stormwater *s = instance;

        engine_forget(&s->image);
}

/* The state is the storm with which the episode begins. */
static int stormwater_state_parts(const void *instance, ActordStatePart *ret) {
        ret[0] = (ActordStatePart){ .name = "rain", .n_numbers = STORM_HOURS };
        ret[1] = (ActordStatePart){ .name = "tide", .n_numbers = 1 };
        return 2;
}

static int stormwater_get_state(const void *instance, double *ret) {
        const Stormwater *s = instance;

        memcpy(ret, &s->episode.storm, sizeof(s->episode.storm));
        return 0;
}

static int stormwater_set_state(void *instance, const double *state, void *ret_observation) {
        Stormwater *s = instance;
        Episode episode = {};
        int r;

        memcpy(&episode.storm, state, sizeof(episode.storm));
        if (!storm_is_valid(&episode.storm))
                return -EINVAL;
        s->episode = episode;
        r = stormwater_begin(s);
        if (r < 0)
                return r;
        stormwater_observe(s, ret_observation);
        return 0;
}

/* The ABI's functions have no parameter that names the environment, so each task has its own functions. */
#define STORMWATER(task)                                                                              \
        static int task##_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) { \
                return stormwater_spec(&task##_task, options, n_options, ret);                        \
        }                                                                                             \
        static int task##_init(void *instance, const ActordOption *options, uint32_t n_options) {     \
                return stormwater_init(instance, &task##_task, options, n_options);                   \
        }                                                                                             \
        const ActordEnv task##_env = {                                                                \
                .abi = ACTORD_ENV_ABI,                                                                \
                .struct_bytes = sizeof(ActordEnv),                                                    \
                .spec = task##_spec,                                                                  \
                .init = task##_init,                                                                  \
                .reset = stormwater_reset,                                                            \
                .step = stormwater_step,                                                              \
                .snapshot = stormwater_snapshot,                                                      \
                .restore = stormwater_restore,                                                        \
                .close = stormwater_close,                                                            \
                .state_parts = stormwater_state_parts,                                                \
                .get_state = stormwater_get_state,                                                    \
                .set_state = stormwater_set_state,                                                    \
        };

STORMWATER(theta)
STORMWATER(tidal)
STORMWATER(gamma)
