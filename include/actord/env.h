/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environment ABI: the one header that authors of environments compile against. It needs nothing else of
 * actord.
 *
 * An environment is a table of functions named `actord_env` in a shared object (`Environment=./mine.so`), or
 * a row of the built-in table; both are called in exactly the same way. All memory belongs to the caller: an
 * instance is `instance_bytes` bytes, zeroed and aligned to 64; observations and snapshots are in shared
 * memory. An environment keeps no other state: no statics that change, no threads, no files. So a run of
 * steps (an invocation) can be repeated, moved and replayed bit for bit.
 *
 * The order of calls is: spec once; init; any number of reset, step, snapshot, restore; close. Each function
 * of type int returns 0, or a negative errno. An errno fails the invocation, and is the reason in messages.
 * If an environment is built with -ffp-contract=off and without -ffast-math, it computes the same steps on
 * all machines of one kind.
 *
 * An environment may have several agents (ABI 2) that act together and share one policy. Then a function
 * that reads or writes an observation, an action or an ActordStep has n_agents of them, one after another in
 * the order of agents. Each has the size that the spec gives. An episode begins and ends for all agents at
 * once. Within an episode agents may come and go: see active(). */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ABI 2 added agents, their presence, shared state for a critic, metrics, and actions of several choices
 * that differ in size. Plugins that were compiled for ABI 1 still load. */
#define ACTORD_ENV_ABI 2u
#define ACTORD_ENV_ABI_OLDEST 1u

typedef enum ActordSpaceKind { ACTORD_DISCRETE = 1, ACTORD_MULTI_DISCRETE, ACTORD_BOX } ActordSpaceKind;
typedef enum ActordElement { ACTORD_F32 = 1, ACTORD_F64, ACTORD_I32, ACTORD_U8 } ActordElement;

#define ACTORD_STACK_MAX 16u
#define ACTORD_AGENTS_MAX 64u
#define ACTORD_METRICS_MAX 8u
#define ACTORD_METRIC_BYTES 24u         /* the size of a name, with its final 0 */
#define ACTORD_CHOICES_MAX 64u          /* the most numbers of a MULTI_DISCRETE action */

enum {
        /* it cannot make snapshots: its state stays in the actor's process, and a crash loses the current
         * episode */
        ACTORD_ENV_STICKY = 1u << 0,
        ACTORD_ENV_TRUNCATES = 1u << 1, /* step() may set `truncated` by itself, besides horizon_steps */
        ACTORD_ENV_COME_AND_GO = 1u << 2, /* ABI 2: agents may be absent; active() says which are present */
};

/* DISCRETE: one I32 in [0, n_choices). MULTI_DISCRETE: shape[0] numbers of I32, each in [0, n_choices); if
 * an action's n_choices is 0, number k lies in [0, action_choices[k]) of the spec. A policy makes all of
 * these choices at once. BOX: shape[0..n_dims) numbers of `element`, each in [low, high] (infinite bounds
 * are allowed). step() gets a policy's continuous action as F32 clipped to [low, high], and a discrete
 * action as I32. */
typedef struct ActordSpace {
        uint32_t kind, element;
        uint32_t n_dims, n_choices;
        uint32_t shape[4];
        double low, high;
} ActordSpace;

typedef struct ActordEnvSpec {
        char name[64];
        ActordSpace observation, action;
        uint32_t horizon_steps;         /* the caller truncates an episode at this length; 0: never */
        uint32_t n_agents;              /* 1, or up to ACTORD_AGENTS_MAX */
        double reward_low, reward_high; /* of one step; infinite if not known */
        double solved_return;           /* the mean return that counts as solved; NaN: there is none */
        uint64_t instance_bytes;        /* at most 1 GiB */
        uint64_t snapshot_bytes;        /* 0 with ACTORD_ENV_STICKY; at most 64 MiB */
        uint32_t flags;
        /* K, 2 to ACTORD_STACK_MAX: an observation is a stack of the last K frames along its first
         * dimension, the oldest first. At the beginning of an episode, copies of its first frame stand for
         * the older frames. actord stores each frame of a stack only once. 0: observations are not
         * stacks. */
        uint32_t stack;
        /* ABI 2. The names of the numbers that metrics() returns at the end of an episode, such as
         * "latency_p99": a lower-case letter, then lower-case letters, digits and "_"; each name once. */
        uint32_t n_metrics;
        /* ABI 2. How many numbers shared() writes; 0: there are none, and a centralised critic reads the
         * observations of all agents. */
        uint32_t n_shared;
        char metrics[ACTORD_METRICS_MAX][ACTORD_METRIC_BYTES];
        /* ABI 2. For a MULTI_DISCRETE action with n_choices 0: how many choices each of its numbers has. */
        uint32_t action_choices[ACTORD_CHOICES_MAX];
} ActordEnvSpec;

/* a row of the job file's [Environment] */
typedef struct ActordOption { char key[32]; char value[224]; } ActordOption;

/* a stream of random numbers that the caller owns; do not keep the pointer between calls */
typedef struct ActordRandom ActordRandom;

typedef struct ActordStep {
        double reward;
        uint8_t terminated, truncated;
        uint8_t reserved[6];
} ActordStep;

#define ACTORD_STATE_PARTS 8u
#define ACTORD_STATE_NUMBERS_MAX 65536u         /* the most numbers of a state, all parts together */

typedef struct ActordStatePart {
        char name[24];                  /* such as "qpos" */
        uint32_t n_numbers, reserved;
} ActordStatePart;

#define ACTORD_SHAPES_MAX 1024u                 /* the most shapes in one picture */
#define ACTORD_SHAPE_POINTS 8u

/* The area of the plane that a picture shows: this rectangle, x to the right and y up, in any unit that
 * suits the task. */
typedef struct ActordView {
        double left, bottom, right, top;
        double step_seconds;            /* how long a step takes in the task; 0: the task has no time */
        uint32_t background;            /* 0xRRGGBB */
        uint32_t n_shapes;
} ActordView;

/* All points within `radius` of a point (a disc), of a line between two points (a line with round ends), or
 * of a filled polygon of more points (a body). */
typedef struct ActordShape {
        uint32_t colour, n_points;      /* 0xRRGGBB; 1 to ACTORD_SHAPE_POINTS */
        double radius;
        double points[ACTORD_SHAPE_POINTS][2];
} ActordShape;

#define ACTORD_FRAME_SIDE_MAX 1600u

/* A painted picture: height rows from the top of width pixels, each a byte of red, green and blue. */
typedef struct ActordFrame {
        uint32_t width, height;         /* each 1 to ACTORD_FRAME_SIDE_MAX */
        double step_seconds;            /* as in ActordView */
} ActordFrame;

typedef struct ActordEnv {
        uint32_t abi;                   /* ACTORD_ENV_ABI */
        /* sizeof(ActordEnv) when the plugin was compiled; at least ACTORD_ENV_BYTES_MIN, which ends with
         * close(). Functions beyond these bytes are missing */
        uint32_t struct_bytes;
        /* The spec under these options. -EINVAL: an option is unknown or its value is out of range.
         * -ENOPKG: a package is missing, whose name is in ret->name. */
        int (*spec)(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret);
        int (*init)(void *instance, const ActordOption *options, uint32_t n_options);
        /* Begins a new episode, and writes its first observation. */
        int (*reset)(void *instance, ActordRandom *random, void *ret_observation);
        /* One step. If there are several agents, each has its own reward, but terminated and truncated have
         * the same value in each agent's ActordStep. After terminated or truncated the caller resets before
         * the next step. */
        int (*step)(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                        ActordStep *ret);
        /* Writes all data on which the next step and its reward depend, in snapshot_bytes bytes without
         * pointers. */
        int (*snapshot)(const void *instance, void *ret_snapshot);
        int (*restore)(void *instance, const void *snapshot);
        void (*close)(void *instance);

        /* Optional, all three or none: NULL, or beyond struct_bytes. The physical state as doubles, for
         * `actorctl env rollout` and for people who compare two implementations. It has only the numbers
         * with which such a comparison begins, and not all data of a snapshot. state_parts() writes the
         * parts in order; they are the same for each instance with these options. It returns how many there
         * are, at most ACTORD_STATE_PARTS. */
        int (*state_parts)(const void *instance, ActordStatePart *ret);
        int (*get_state)(const void *instance, double *ret);
        /* Begins a new episode, as reset() does, but in this state. -EINVAL: it is not a state of this
         * environment. */
        int (*set_state)(void *instance, const double *state, void *ret_observation);

        /* Optional: NULL, or beyond struct_bytes. Draws a picture of the present state, for people who watch
         * recordings: up to ACTORD_SHAPES_MAX shapes, each painted over the earlier ones. It must change
         * nothing on which a step depends. A recording paints its pictures from these shapes, outside of the
         * sandbox. */
        int (*draw)(const void *instance, ActordView *ret_view, ActordShape *ret_shapes);

        /* Optional: NULL, or beyond struct_bytes. Draws the same picture as pixels, for an environment that
         * paints by itself. If there is a draw(), it is used instead. There is room for
         * ACTORD_FRAME_SIDE_MAX rows and columns. All pictures of an episode have one size. */
        int (*paint)(const void *instance, ActordFrame *ret_frame, uint8_t *ret_pixels);

        /* ABI 2; needed if n_metrics of the spec is above 0. Called after the step that ended an episode (by
         * itself or by horizon_steps) and before the next reset(). Writes the n_metrics numbers of that
         * episode, in the order of their names. NaN: this episode has no such figure. A number beyond 3.4e38
         * (FLT_MAX) fails the invocation. metrics() must change nothing, and sums over an episode must be
         * part of the snapshot. */
        int (*metrics)(const void *instance, double *ret);

        /* ABI 2; needed with ACTORD_ENV_COME_AND_GO. Called after reset(), set_state(), restore() and
         * step(). Writes into ret[n_agents] a 1 for each agent that is present in this state and acts in the
         * next step, and a 0 for the others. At least one agent must always be present. active() must change
         * nothing, and the presence of agents must be part of the snapshot. The action of an absent agent is
         * not read, its reward counts as 0, and nothing is learned from it. Its observation must still be
         * within the bounds. When an agent leaves, its own episode ends as if it had terminated. */
        int (*active)(const void *instance, uint8_t *ret);

        /* ABI 2; needed if n_shared of the spec is above 0. Called after reset(), set_state() and step().
         * Writes into ret[n_shared] the state that all agents share. A centralised critic reads this state
         * after an agent's own observation. Its numbers must be within the bounds of observations. shared()
         * must change nothing. */
        int (*shared)(const void *instance, float *ret);
} ActordEnv;

static_assert(sizeof(ActordSpace) == 48, "ABI");
static_assert(sizeof(ActordEnvSpec) == 64 + 2 * 48 + 8 + 24 + 16 + 8 + 8 + 8 * 24 + 64 * 4, "ABI");
static_assert(sizeof(ActordOption) == 256, "ABI");
static_assert(sizeof(ActordStep) == 16, "ABI");
static_assert(sizeof(ActordStatePart) == 32, "ABI");
static_assert(sizeof(ActordView) == 48, "ABI");
static_assert(sizeof(ActordShape) == 144, "ABI");
static_assert(sizeof(ActordFrame) == 16, "ABI");
static_assert(sizeof(ActordEnv) == 8 + 15 * sizeof(void *), "ABI");

/* later functions are optional: a plugin without them still runs */
#define ACTORD_ENV_BYTES_MIN (8 + 7 * sizeof(void *))

/* Defined by a plugin: extern const ActordEnv actord_env; */

/* The program that loads a plugin provides these. */
uint32_t actord_random_u32(ActordRandom *random);
/* a number in [low, high) with 53 random bits */
double actord_random_uniform(ActordRandom *random, double low, double high);
double actord_random_normal(ActordRandom *random);                              /* mean 0, variance 1 */

#ifdef __cplusplus
}
#endif
