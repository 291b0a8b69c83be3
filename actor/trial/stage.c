/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An instance and its memory, stepped like a slot of a job: a random number depends only on its place
 * (lib/rng.h), and an episode is cut at its horizon. */
#include "actor/trial/stage.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/slot.h"

enum { PATTERN = 0xa5, ALIGNMENT = 64 };

static int guarded_init(Guarded *g, uint64_t bytes) {
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), whole;
        uint8_t *map;

        bytes = bytes > 0 ? bytes : 1;
        whole = (bytes + page - 1) & ~(page - 1);
        map = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
                return -ENOMEM;
        if (mprotect(map + page, whole, PROT_READ | PROT_WRITE) < 0) {
                (void) munmap(map, whole + 2 * page);
                return -ENOMEM;
        }

        *g = (Guarded){ .bytes = bytes, .map = map, .map_bytes = whole + 2 * page };
        /* The memory lies as close to the guard page as its alignment allows, since most mistakes write
         * beyond the end. */
        g->memory = map + page + ((whole - bytes) & ~(uint64_t) (ALIGNMENT - 1));
        memset(map + page, PATTERN, (size_t) (g->memory - map) - page);
        memset(g->memory + bytes, PATTERN, (size_t) (map + page + whole - g->memory) - bytes);
        return 0;
}

static void guarded_done(Guarded *g) {
        if (g->map)
                (void) munmap(g->map, g->map_bytes);
        *g = (Guarded){};
}

bool guarded_is_whole(const Guarded *g) {
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
        const uint8_t *from = g->map + page, *to = g->map + g->map_bytes - page;

        for (const uint8_t *p = from; p < g->memory; p++)
                if (*p != PATTERN)
                        return false;
        for (const uint8_t *p = g->memory + g->bytes; p < to; p++)
                if (*p != PATTERN)
                        return false;
        return true;
}

bool guarded_guards(const Guarded *g, const void *address) {
        const uint8_t *p = address;

        return g->map && p >= g->map && p < g->map + g->map_bytes;
}

int stage_init(Stage *stage, const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec) {
        const JobSettings *settings = trial->settings;
        uint64_t n_observation = spec->n_agents * space_numbers(&spec->observation);
        uint64_t n_action = spec->n_agents * space_numbers(&spec->action);
        int r;

        *stage = (Stage){
                .env = env,
                .spec = spec,
                .settings = settings,
                .page = trial->page,
                .n_action = n_action,
                .n_observation = n_observation,
        };
        r = guarded_init(&stage->instance, spec->instance_bytes);
        if (r < 0)
                return r;
        r = guarded_init(&stage->observation, n_observation * element_bytes(spec->observation.element));
        if (r < 0)
                return r;
        r = guarded_init(&stage->snapshot, spec->snapshot_bytes);
        if (r < 0)
                return r;
        stage->action = calloc(n_action, element_bytes(spec->action.element));
        if (!stage->action)
                return -ENOMEM;
        r = env->init(stage->instance.memory, settings->options, settings->n_options);
        stage->initialised = r >= 0;
        return r;
}

bool stage_make(Stage *stage, const Trial *trial, const ActordEnv *env, TrialSpec *ret_said) {
        int r;

        if (!trial_learn_spec(trial, env, ret_said))
                return false;
        r = stage_init(stage, trial, env, &ret_said->spec);
        trial_fail(trial, r);
        return r >= 0;
}

void stage_done(Stage *stage) {
        if (stage->initialised)
                stage->env->close(stage->instance.memory);
        stage->initialised = false;
        free(stage->action);
        stage->action = NULL;
        guarded_done(&stage->snapshot);
        guarded_done(&stage->observation);
        guarded_done(&stage->instance);
}

/* Only this thread writes the number, so a load and a store are enough instead of an atomic addition. */
static void progress(Stage *stage) {
        uint64_t n = atomic_load_explicit(&stage->page->progress, memory_order_relaxed);

        atomic_store_explicit(&stage->page->progress, n + 1, memory_order_relaxed);
}

static int look_who_is_there(Stage *stage) {
        int r = env_active(stage->env, stage->spec, stage->instance.memory, stage->active);

        stage->active_wrong = r == -EPROTO;
        return r == -EPROTO ? 0 : r;
}

int stage_reset(Stage *stage) {
        ActordRandom random;
        int r;

        progress(stage);
        stage->episode++;
        stage->elapsed_steps = 0;
        random_begin(&random, stage->settings->seed, RANDOM_RESET, 0, stage->episode, 0);
        r = stage->env->reset(stage->instance.memory, &random, stage->observation.memory);
        return r < 0 ? r : look_who_is_there(stage);
}

static void step_of_all(Stage *stage) {
        for (uint32_t a = 0; a < stage->spec->n_agents; a++)
                stage->steps[a].reward = stage->active[a] ? stage->steps[a].reward : 0;
        stage->step = stage->steps[0];
        for (uint32_t a = 1; a < stage->spec->n_agents; a++)
                stage->step.reward += stage->steps[a].reward;
        stage->step.reward /= stage->spec->n_agents;
}

int stage_step(Stage *stage) {
        uint64_t n = stage->n_steps++;
        ActordRandom random;
        int r;

        progress(stage);
        r = look_who_is_there(stage); /* a restored snapshot may have other agents present */
        if (r < 0)
                return r;
        random_begin(&random, stage->settings->seed, RANDOM_STEP, 0, n >> RANDOM_STEP_BITS,
                        (uint32_t) (n & RANDOM_STEP_MAX));
        r = stage->env->step(stage->instance.memory, stage->action, &random, stage->observation.memory,
                        stage->steps);
        step_of_all(stage);
        stage->elapsed_steps++;
        if (r < 0)
                return r;
        r = look_who_is_there(stage);
        if (r < 0 || !stage_ended(stage))
                return r;
        return env_metrics(stage->env, stage->spec, stage->instance.memory, stage->metrics);
}

bool stage_ended(const Stage *stage) {
        uint32_t horizon = stage->spec->horizon_steps;

        return stage->step.terminated || stage->step.truncated ||
               (horizon > 0 && stage->elapsed_steps >= horizon);
}

/* How many choices there are for number i of the actions, counted over all agents. */
static uint32_t choices_of(const Stage *stage, uint64_t i) {
        return spec_choices(stage->spec, i % space_numbers(&stage->spec->action));
}

void stage_act_random(Stage *stage, uint64_t t) {
        const ActordSpace *space = &stage->spec->action;
        ActordRandom random;

        random_begin(&random, stage->settings->seed, RANDOM_ACTION, 0, t >> RANDOM_STEP_BITS,
                        (uint32_t) (t & RANDOM_STEP_MAX));
        for (uint64_t i = 0; i < stage->n_action; i++) {
                if (space->kind != ACTORD_BOX)
                        ((int32_t *) stage->action)[i] =
                                        (int32_t) random_below(&random, choices_of(stage, i));
                else if (isfinite(space->low) && isfinite(space->high))
                        ((float *) stage->action)[i] = fminf(
                                        (float) actord_random_uniform(&random, space->low, space->high),
                                        (float) space->high);
                else
                        ((float *) stage->action)[i] = (float) fmin(
                                        fmax(actord_random_normal(&random), space->low), space->high);
        }
}

void stage_act_zero(Stage *stage) {
        const ActordSpace *space = &stage->spec->action;

        for (uint64_t i = 0; i < stage->n_action; i++)
                if (space->kind != ACTORD_BOX)
                        ((int32_t *) stage->action)[i] = 0;
                else
                        ((float *) stage->action)[i] = (float) fmin(fmax(0, space->low), space->high);
}

int stage_act(Stage *stage, const double *numbers) {
        const ActordSpace *space = &stage->spec->action;

        for (uint64_t i = 0; i < stage->n_action; i++) {
                double x = numbers[i];

                if (space->kind != ACTORD_BOX) {
                        if (!(x >= 0 && x < choices_of(stage, i)) || x != floor(x))
                                return -EINVAL;
                        ((int32_t *) stage->action)[i] = (int32_t) x;
                } else {
                        if (!(x >= space->low && x <= space->high))
                                return -EINVAL;
                        ((float *) stage->action)[i] = (float) x;
                }
        }
        return 0;
}

uint32_t state_learn_parts(const ActordEnv *env, const void *instance, TrialSpec *said) {
        uint32_t n = 0;
        int n_parts;

        if (!env_has_state(env))
                return 0;
        n_parts = env->state_parts(instance, said->parts);
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

void space_to_doubles(const ActordSpace *space, const void *values, uint64_t n, double *ret) {
        for (uint64_t i = 0; i < n; i++)
                switch (space->element) {
                case ACTORD_F32: ret[i] = ((const float *) values)[i]; break;
                case ACTORD_F64: ret[i] = ((const double *) values)[i]; break;
                case ACTORD_I32: ret[i] = ((const int32_t *) values)[i]; break;
                default: ret[i] = ((const uint8_t *) values)[i]; break;
                }
}
