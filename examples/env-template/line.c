/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole environment in one file, to copy and change: a walker on a line of squares.
 *
 *        0   1   2   3   4   5   6   7   8   9
 *      [   |   |   |   |   | S |   |   |   | G ]
 *
 * It starts near the middle, steps left or right, slips now and then, and is paid for reaching the goal G at
 * the right end. Square 0 is a hole: falling into it ends the episode as well.
 *
 *     make                            builds line.so; needs actord/env.h and a C compiler, nothing else
 *     actorctl env check ./line.so    tries point by point whether it keeps the rules, in a sandbox
 *     actorctl env rollout ./line.so  prints what it does, step by step
 *     Environment=./line.so           in a job file trains on it
 *
 * Three rules make an environment repeatable, and that is what lets a job be moved, resumed and replayed:
 *   - all that changes lives in the instance: no static variables, no files, no clock;
 *   - all chance comes from the `random` argument, and it is not kept;
 *   - a snapshot holds all that the next step depends on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <actord/env.h>

#define SQUARES_MAX 1000

/* The instance: one running environment. Its memory is zeroed before init(), which sets the members that are
 * not state: here the options. */
typedef struct Line {
        int32_t position; /* the state */

        int32_t n_squares; /* the options */
        double slip;
} Line;

/* Text on stderr reaches the user who submitted the job. */
static int refuse(const ActordOption *option, const char *reason) {
        fprintf(stderr, "%s=%s: %s\n", option->key, option->value, reason);
        return -EINVAL;
}

/* Options are the rows of the job's [Environment] section, as text. Refuse unknown keys: a misspelt key that
 * is ignored is a wasted experiment. */
static int parse(const ActordOption *options, uint32_t n_options, Line *ret) {
        *ret = (Line){ .n_squares = 10, .slip = 0.1 };

        for (uint32_t i = 0; i < n_options; i++) {
                const ActordOption *option = &options[i];
                char *end;

                if (strcmp(option->key, "Squares") == 0) {
                        long n = strtol(option->value, &end, 10);

                        if (end == option->value || *end || n < 3 || n > SQUARES_MAX)
                                return refuse(option, "it must be a whole number from 3 to 1000");
                        ret->n_squares = (int32_t) n;
                } else if (strcmp(option->key, "Slip") == 0) {
                        ret->slip = strtod(option->value, &end);

                        if (end == option->value || *end || !(ret->slip >= 0 && ret->slip <= 1))
                                return refuse(option, "it must be a number from 0 to 1");
                } else
                        return refuse(option, "the line takes Squares and Slip");
        }
        return 0;
}

/* Describes the environment. actord asks for this once, before anything runs. */
static int line_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Line line;
        int r;

        r = parse(options, n_options, &line);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "Line",
                /* One float: the position as a fraction of the line. */
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 1 },
                                .low = 0,
                                .high = 1 },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 2 },
                .horizon_steps = 100, /* the caller ends longer episodes: do not count steps yourself */
                .n_agents = 1,
                .reward_low = -0.01,
                .reward_high = 1,
                .solved_return = NAN, /* none registered */
                .instance_bytes = sizeof(Line),
                .snapshot_bytes = sizeof(int32_t),
        };
        return 0;
}

/* Makes an instance in zeroed memory, with the same options as in spec(). */
static int line_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return parse(options, n_options, instance);
}

/* Both reset() and step() end here, so that an observation means the same in both. */
static void observe(const Line *line, float *ret_observation) {
        *ret_observation = (float) line->position / (float) (line->n_squares - 1);
}

/* A new episode. `random` is a stream of its own for each episode. */
static int line_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Line *line = instance;

        line->position = line->n_squares / 2 - (int32_t) (actord_random_u32(random) & 1);
        observe(line, ret_observation);
        return 0;
}

/* One step: change the state, then write observation and result. */
static int line_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Line *line = instance;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        if (choice != 0 && choice != 1)
                return -EINVAL; /* any negative errno fails the job with that reason */

        if (actord_random_uniform(random, 0, 1) < line->slip)
                choice = !choice;
        line->position += choice == 1 ? 1 : -1;

        /* Every field of *ret is written, since *ret may hold any bytes before. */
        *ret = (ActordStep){ .reward = -0.01 };
        if (line->position == line->n_squares - 1) {
                ret->reward = 1;
                ret->terminated = 1;
        } else if (line->position == 0)
                ret->terminated = 1;

        observe(line, ret_observation);
        return 0;
}

/* The state as bytes: no pointers, since they are read in another process, perhaps on another day. */
static int line_snapshot(const void *instance, void *ret_snapshot) {
        const Line *line = instance;

        memcpy(ret_snapshot, &line->position, sizeof(line->position));
        return 0;
}

static int line_restore(void *instance, const void *snapshot) {
        Line *line = instance;
        int32_t position;

        memcpy(&position, snapshot, sizeof(position));
        if (position < 0 || position >= line->n_squares)
                return -EINVAL;

        line->position = position;
        return 0;
}

/* The next three functions are optional: they get and set the physical state as plain numbers, for
 * `actorctl env rollout --state`. */
static int line_state_parts(const void *instance, ActordStatePart *ret) {
        ret[0] = (ActordStatePart){ .name = "square", .n_numbers = 1 };
        return 1;
}

static int line_get_state(const void *instance, double *ret) {
        ret[0] = ((const Line *) instance)->position;
        return 0;
}

static int line_set_state(void *instance, const double *state, void *ret_observation) {
        Line *line = instance;

        if (!(state[0] > 0 && state[0] < line->n_squares - 1) || state[0] != floor(state[0]))
                return -EINVAL; /* no episode goes on in the hole or at the goal */

        line->position = (int32_t) state[0];
        observe(line, ret_observation);
        return 0;
}

/* Optional: draws the state, for `actorctl env rollout --gif` and `actorctl eval --gif`. A square is 1 wide
 * here. */
static int line_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Line *line = instance;
        double right = line->n_squares - 1;

        *ret_view = (ActordView){ .left = -1,
                .right = right + 1,
                .bottom = -right / 8 - 1,
                .top = right / 8 + 1,
                .step_seconds = 0.1,
                .background = 0xffffff,
                .n_shapes = 4 };
        /* Later shapes are painted over earlier ones. */
        ret_shapes[0] = (ActordShape){
                .colour = 0xcccccc, .n_points = 2, .radius = 0.1, .points = { {}, { right } }
        };
        ret_shapes[1] = (ActordShape){ .colour = 0x333333, .n_points = 1, .radius = 0.4 };
        ret_shapes[2] = (ActordShape){
                .colour = 0x339933, .n_points = 1, .radius = 0.4, .points = { { right } }
        };
        ret_shapes[3] = (ActordShape){
                .colour = 0xcc3333, .n_points = 1, .radius = 0.3, .points = { { line->position } }
        };
        return 0;
}

/* Frees the resources that init() acquired besides the instance itself; here there are none. */
static void line_close(void *instance) {
}

/* The only symbol that actord looks up. */
extern const ActordEnv actord_env;

__attribute__((visibility("default"))) const ActordEnv actord_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = line_spec,
        .init = line_init,
        .reset = line_reset,
        .step = line_step,
        .snapshot = line_snapshot,
        .restore = line_restore,
        .close = line_close,
        .state_parts = line_state_parts,
        .get_state = line_get_state,
        .set_state = line_set_state,
        .draw = line_draw,
};
