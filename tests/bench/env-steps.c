/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures the steps per second of each environment in a bare loop, on one core and without an actor: no
 * actor can be faster.
 *
 *     env-steps [MODULE [NAME...]]        MODULE: the path of env-mujoco.so
 *
 * Random actions are drawn beforehand; the scripted policy is a fixed linear one, which keeps some episodes
 * longer. The best of three runs is printed, since other processes use the caches, too. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "actor/envs/builtin.h"
#include "lib/environments.h"
#include "lib/rng.h"
#include "tests/bench/figure.h"

enum { N_RUNS = 3, CHUNK = 1000, BATCH = 4096, ACTION_MAX = 32, OBSERVATION_MAX = 1024 };
#define RUN_SECONDS 0.3

typedef struct Loop {
        const ActordEnv *abi;
        ActordEnvSpec spec;
        void *instance;
        float observation[OBSERVATION_MAX];
        uint32_t actions[BATCH][ACTION_MAX]; /* drawn beforehand, so that only the environment is measured */
        uint32_t n_steps;                    /* of this episode */
        uint64_t episode;
} Loop;

/* CPU time of this process, so that other processes do not count. */
static double seconds_now(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void fail(const char *name, const char *what) {
        fprintf(stderr, "env-steps: %s: %s\n", name, what);
        exit(EXIT_FAILURE);
}

static const ActordEnv *find(void *module, const EnvironmentRow *row) {
        const ActordEnv *(*find_in_module)(const char *name);

        if (!row->module[0])
                return builtin_env_find(row->name);
        if (!module)
                return NULL;
        find_in_module = (const ActordEnv *(*) (const char *) ) dlsym(module, "actord_env_find");
        return find_in_module ? find_in_module(row->name) : NULL;
}

static void loop_reset(Loop *loop) {
        ActordRandom random;

        random_begin(&random, 1, RANDOM_RESET, 0, loop->episode++, 0);
        loop->n_steps = 0;
        if (loop->abi->reset(loop->instance, &random, loop->observation) < 0)
                fail(loop->spec.name, "reset failed");
}

static void draw_actions(Loop *loop) {
        const ActordSpace *space = &loop->spec.action;
        ActordRandom random;

        random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < BATCH; i++)
                if (space->kind == ACTORD_DISCRETE)
                        loop->actions[i][0] = random_below(&random, space->n_choices);
                else
                        for (uint32_t k = 0; k < space->shape[0]; k++) {
                                float force = (float) actord_random_uniform(
                                                &random, space->low, space->high);

                                memcpy(&loop->actions[i][k], &force, sizeof(force));
                        }
}

/* Pushes against the first number that looks like an angle: a cheap and steady policy, not a good one. */
static void script(const Loop *loop, uint32_t ret_action[ACTION_MAX]) {
        const ActordSpace *space = &loop->spec.action;
        uint32_t last = loop->spec.observation.shape[0] - 1;
        float lean = loop->observation[last / 2 + 1] + loop->observation[last];

        if (space->kind == ACTORD_DISCRETE) {
                ret_action[0] = lean > 0 ? space->n_choices - 1 : 0;
                return;
        }
        for (uint32_t k = 0; k < space->shape[0]; k++) {
                float force = fminf(fmaxf(-0.1f * lean, (float) space->low), (float) space->high);

                memcpy(&ret_action[k], &force, sizeof(force));
        }
}

/* Steps per second over RUN_SECONDS. */
static double run(Loop *loop, bool scripted) {
        double start = seconds_now(), now;
        uint64_t n = 0;

        loop_reset(loop);
        do {
                for (int i = 0; i < CHUNK; i++, n++) {
                        uint32_t chosen[ACTION_MAX], *action = loop->actions[n % BATCH];
                        ActordRandom random;
                        ActordStep step;

                        if (scripted)
                                script(loop, action = chosen);
                        random_begin(&random, 1, RANDOM_STEP, 0, loop->episode, loop->n_steps++);
                        if (loop->abi->step(loop->instance, action, &random, loop->observation, &step) < 0)
                                fail(loop->spec.name, "step failed");
                        if (step.terminated || loop->n_steps >= loop->spec.horizon_steps)
                                loop_reset(loop);
                }
                now = seconds_now();
        } while (now - start < RUN_SECONDS);
        return (double) n / (now - start);
}

static void measure(const ActordEnv *abi) {
        static Loop loop; /* too large for some stacks */
        double best[2] = {};
        char name[128];

        loop = (Loop){ .abi = abi };
        if (abi->spec(NULL, 0, &loop.spec) < 0)
                fail("an environment", "spec failed");

        loop.instance = aligned_alloc(64, (loop.spec.instance_bytes + 63) / 64 * 64);
        if (!loop.instance)
                fail(loop.spec.name, "out of memory");
        memset(loop.instance, 0, loop.spec.instance_bytes);
        if (abi->init(loop.instance, NULL, 0) < 0)
                fail(loop.spec.name, "init failed");

        draw_actions(&loop);
        for (int i = 0; i < N_RUNS; i++)
                for (int scripted = 0; scripted < 2; scripted++)
                        best[scripted] = fmax(best[scripted], run(&loop, scripted));

        printf("%-26s %12.0f %12.0f\n", loop.spec.name, best[0], best[1]);
        (void) snprintf(name, sizeof(name), "%s, bare loop", loop.spec.name);
        figure_note(&(Figure){ .name = name, .unit = "steps/s", .value = best[0] });
        abi->close(loop.instance);
        free(loop.instance);
}

static bool wanted(const char *name, int argc, char *argv[]) {
        for (int i = 2; i < argc; i++)
                if (strcmp(argv[i], name) == 0)
                        return true;
        return argc <= 2;
}

int main(int argc, char *argv[]) {
        void *module = NULL;

        if (argc > 1) {
                module = dlopen(argv[1], RTLD_NOW);
                if (!module)
                        fail(argv[1], dlerror());
        }

        printf("%-26s %12s %12s\n", "steps/s", "random", "scripted");
        for (size_t i = 0; i < environment_count(); i++) {
                const EnvironmentRow *row = environment_at(i);
                const ActordEnv *abi = find(module, row);

                if (abi && wanted(row->name, argc, argv))
                        measure(abi);
        }
        return EXIT_SUCCESS;
}
