/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment that misbehaves as How= of [Environment] says. Tests check that jobs survive it. They
 * compile it with the installed header alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include "actord/env.h"

#ifndef TABLE_BYTES
#define TABLE_BYTES sizeof(ActordEnv)
#endif

typedef struct Hostile {
        char how[16];
        uint32_t steps;
        uint32_t kept; /* over the episodes */
} Hostile;

static const char *option_how(const ActordOption *options, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(options[i].key, "How") == 0)
                        return options[i].value;
        return "";
}

/* Writes to every descriptor the records that a trial's invoker would write if all were well
 * (include/trial.h). */
static void forge_points(void) {
        for (int fd = 3; fd < 64; fd++)
                for (uint32_t i = 0; i < 10; i++) {
                        const uint32_t record[] = { 3 /* POINT */, 16, i, 0 /* KEPT */, 0, 0 };

                        (void) !write(fd, record, sizeof(record));
                }
}

static int hostile_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        const char *how = option_how(options, n_options);

        if (strcmp(how, "load") == 0)
                return -EINVAL;
        if (strcmp(how, "points") == 0)
                forge_points();
        if (strcmp(how, "stall") == 0)
                for (volatile int forever = 1; forever;)
                        ;
        *ret = (ActordEnvSpec){
                .name = "hostile",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 2 }, -10, 10 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .horizon_steps = 50,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Hostile),
                .snapshot_bytes = sizeof(Hostile),
        };
        if (strcmp(how, "loader") == 0)
                abort();
        if (strcmp(how, "early") == 0)
                _exit(200); /* before the first answer, as if the sandbox could not be closed */
        if (strcmp(how, "spec") == 0)
                ret->observation.shape[0] = 0xffffffff;
        return 0;
}

static int hostile_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Hostile *h = instance;

        strncpy(h->how, option_how(options, n_options), sizeof(h->how) - 1);
        if (strcmp(h->how, "init") == 0)
                *(volatile int *) 8 = 1;
        return 0;
}

static int hostile_reset(void *instance, ActordRandom *random, void *ret_observation) {
        float *o = ret_observation;

        ((Hostile *) instance)->steps = 0;
        o[0] = (float) actord_random_uniform(random, -1, 1);
        o[1] = 0;
        return 0;
}

static unsigned n_steps_ever;
static char *volatile kept;

static char megabyte[1 << 20];

/* Writes hostile text to stderr: a new title of the terminal, a sequence that clears the screen, a line of a
 * megabyte, and eight megabytes of lines. */
static void talk(void) {
        (void) dprintf(STDERR_FILENO, "\033]0;taken over\007\033[2J\n");
        memset(megabyte, 'x', sizeof(megabyte));
        (void) !write(STDERR_FILENO, megabyte, sizeof(megabyte));
        for (int i = 0; i < 80000; i++)
                (void) dprintf(STDERR_FILENO, "\n%0100d", i);
        (void) dprintf(STDERR_FILENO, "\nactord-learner: a sentence that counts\nthe last word");
}

/* Rings each bell that it finds, up to a million times each. Then sleeps, so that its answer is late. */
static void ring(void) {
        static const uint64_t one = 1;

        for (int fd = STDERR_FILENO + 1; fd < 32; fd++)
                for (int i = 0; i < 1000000 && write(fd, &one, sizeof(one)) == (ssize_t) sizeof(one); i++)
                        ;
        (void) usleep(300000);
}

/* Changes the rollouts of other actors of the same process, one of which learners may be copying. */
static void meddle(float *o) {
        static float *volatile kept_rows[4];
        static unsigned n_kept;

        for (unsigned i = 0; i < 4000000; i++) {
                float *row = kept_rows[i % 4];

                if (row)
                        *(volatile float *) row = (float) (i % 17) / 17;
        }
        kept_rows[n_kept++ % 4] = o;
}

static int misbehave(const Hostile *h, float *o) {
        if (strcmp(h->how, "meddle") == 0)
                meddle(o);
        if (strcmp(h->how, "ring") == 0)
                ring();
        if (strcmp(h->how, "crash") == 0)
                *(volatile int *) 8 = 1;
        if (strcmp(h->how, "abort") == 0)
                abort();
        if (strcmp(h->how, "exit") == 0)
                _exit(0);
        if (strcmp(h->how, "pretend") == 0)
                _exit(205); /* the exit status of a sandbox that could not be closed */
        if (strcmp(h->how, "flags") == 0)
                return fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
        if (strcmp(h->how, "hang") == 0)
                for (volatile int forever = 1; forever;)
                        ;
        if (strcmp(h->how, "talk") == 0 && n_steps_ever++ == 0)
                talk();
        if (strcmp(h->how, "chat") == 0)
                (void) !write(STDERR_FILENO, megabyte, sizeof(megabyte) / 8);
        if (strcmp(h->how, "nan") == 0)
                o[0] = NAN;
        if (strcmp(h->how, "range") == 0)
                o[0] = 1e9f;
        if (strcmp(h->how, "beyond") == 0)
                o[2] = 1;
        if (strcmp(h->how, "before") == 0)
                o[-1] = 1;
        if (strcmp(h->how, "flood") == 0)
                memset(o, 1, 10 * sizeof(megabyte));
        if (strcmp(h->how, "slow") == 0)
                (void) usleep(1200000);
        if (strcmp(h->how, "static") == 0)
                o[1] = (float) (n_steps_ever++ % 7);
        if (strcmp(h->how, "rows") == 0)
                (void) !write(7, "not a row of a rollout, whatever its reader may hope for", 56);
        if (strcmp(h->how, "leak") == 0)
                kept = strdup(h->how);
        if (strcmp(h->how, "error") == 0)
                return -EIO;
        if (strcmp(h->how, "fork") == 0)
                return fork() < 0 ? -errno : 0;
        if (strcmp(h->how, "file") == 0)
                return open("/etc/passwd", O_RDONLY) < 0 ? -errno : 0;
        return 0;
}

static int hostile_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Hostile *h = instance;
        float *o = ret_observation;

        h->steps++;
        h->kept++;
        o[0] = (float) h->steps / 50;
        if (strcmp(h->how, "part") != 0)
                o[1] = (float) actord_random_normal(random) > 0;
        if (strcmp(h->how, "remember") == 0)
                o[1] = (float) (h->kept % 7);
        if (strcmp(h->how, "result") == 0) {
                ret->reward = 0;
                return 0;
        }
        *ret = (ActordStep){ .reward = *(const int32_t *) action ? 1 : 0 };
        if (h->steps == 20 && strcmp(h->how, "reward") == 0)
                ret->reward = NAN;
        if (h->steps == 20 && strcmp(h->how, "paid") == 0)
                ret->reward = 77;
        if (h->steps == 20 && strcmp(h->how, "flag") == 0)
                ret->terminated = 7;
        if (h->steps == 20 && strcmp(h->how, "cut") == 0)
                ret->truncated = 1;
        return h->steps == 20 ? misbehave(h, o) : 0;
}

static int hostile_snapshot(const void *instance, void *ret_snapshot) {
        Hostile h = *(const Hostile *) instance;

        if (strcmp(h.how, "lose") == 0)
                h.steps = 0;
        memcpy(ret_snapshot, &h, sizeof(h));
        if (strcmp(h.how, "longer") == 0)
                ((char *) ret_snapshot)[sizeof(h)] = 1;
        return 0;
}

static int hostile_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Hostile));
        return 0;
}

static void hostile_close(void *instance) {
}

static int hostile_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Hostile *h = instance;

        *ret_view = (ActordView){ 0, 0, 1, 1, 0.1, 0, 1 };
        ret_shapes[0] = (ActordShape){ 0, 1, 1, { { 0.5, 0.5 } } };
        if (strcmp(h->how, "shapes") == 0)
                ret_view->n_shapes = 0xffffffff;
        if (strcmp(h->how, "nowhere") == 0 && h->steps == 20)
                ret_shapes[0].points[0][0] = NAN;
        return strcmp(h->how, "blind") == 0 ? -EIO : 0;
}

extern const ActordEnv actord_env;
const ActordEnv actord_env = {
        ACTORD_ENV_ABI,
        TABLE_BYTES,
        hostile_spec,
        hostile_init,
        hostile_reset,
        hostile_step,
        hostile_snapshot,
        hostile_restore,
        hostile_close,
        .draw = hostile_draw,
};
