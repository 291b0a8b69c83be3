/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine of all tasks on MuJoCo. A task is one row: a model, the constants of its Gymnasium definition,
 * and a function that judges a step. The engine implements the environment ABI for the task.
 *
 * The compiled model is the only state that an environment keeps outside of its instances. The first spec()
 * or init() of a process loads it. For actors, the invoker loads it before it forks them, unless it is a
 * user's own model (mjcf.c). Afterwards the model never changes, and all instances read it. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>

#include "actor/envs/option.h"
#include "actor/envs/state.h"
#include "include/actord/env.h"

/* N_PLACE: how many numbers place() writes in the built-in tasks; CONTROLS_MAX: the most controls of a
 * model */
enum {
        MUJOCO_N_PLACE = 3,
        MUJOCO_PLACES_MAX = 32,
        MUJOCO_CONTROLS_MAX = 256,
        MUJOCO_OBSERVATION_MAX = 4096
};

typedef struct MujocoInstance MujocoInstance;
typedef struct MujocoOptions MujocoOptions;
typedef struct MujocoTask MujocoTask;

typedef enum MujocoSeen { MUJOCO_SEEN_ASIDE, MUJOCO_SEEN_ABOVE, MUJOCO_SEEN_ASLANT } MujocoSeen;

/* The arguments of Gymnasium's constructors. Each task takes some of them. */
struct MujocoOptions {
        double forward_reward_weight;
        double ctrl_cost_weight;
        double healthy_reward;
        bool terminate_when_unhealthy;
        double healthy_state_min, healthy_state_max;
        double healthy_z_min, healthy_z_max;
        double healthy_angle_min, healthy_angle_max;
        double reset_noise_scale;
        bool exclude_current_positions; /* leave the robot's position in the plane out of observations */

        /* further observations of each body or motor */
        bool include_cinert, include_cvel, include_qfrc_actuator, include_cfrc_ext;
        double contact_force_min, contact_force_max; /* external forces are clipped to this range */
        double contact_cost_weight, contact_cost_min, contact_cost_max;
        double reward_near_weight, reward_dist_weight, reward_control_weight, uph_cost_weight;
};

struct MujocoTask {
        const char *name;          /* the task's name without the version */
        const char *xml, *xml_end; /* the text of the model: MUJOCO_MODEL() */
        mjModel **model;           /* where the task keeps the loaded model */
        int frame_skip;
        uint32_t horizon_steps;
        double solved_return;  /* NAN: Gymnasium registers none */
        double velocity_limit; /* observed velocities are clipped to this */
        /* a reset draws velocities from a normal distribution, and not uniformly like the positions */
        bool velocity_noise_normal;
        const EnvOption *options; /* the keys that it takes besides Engine */
        size_t n_options;
        size_t n_v5_options;    /* how many of the last options v4 does not have */
        MujocoOptions defaults; /* values of the members that the task does not offer as options */
        int n_excluded; /* how many positions, from the first, exclude_current_positions leaves out */

        /* Writes the observation, at most n numbers, and returns their count. NULL: the observation is qpos
         * and qvel, then the further numbers that the options include. */
        uint32_t (*observe)(const MujocoInstance *m, float *ret, uint32_t n);
        uint32_t n_observation; /* the count of observe()'s numbers */
        uint32_t n_v5_dropped;  /* how many of observe()'s last numbers v5 leaves out */
        bool reads_forces;      /* judge() reads the external forces on each body */

        /* Changes the state that a reset has drawn. NULL: nothing more is drawn. */
        void (*reset)(MujocoInstance *m, ActordRandom *random);

        /* Writes the *place*: the numbers from which the next step's movement is measured, if they are not
         * in qpos. Bodies' positions lag behind qpos by one stage of the integrator, so a snapshot keeps
         * these numbers. NULL: the place is qpos[0]. */
        void (*place)(const MujocoInstance *m, double *ret);
        int n_place; /* how many numbers place() writes; 0: MUJOCO_N_PLACE */

        bool scaled_controls; /* actions in [-1, 1] are scaled to each motor's range */

        /* The view in pictures: its direction (seen), its width in metres, and the height of its middle. The
         * view follows the first body, unless seen_fixed. */
        MujocoSeen seen;
        bool seen_fixed;
        double seen_width, seen_height;

        /* Computes reward and termination of a step. m->place is the place (see place()) before the step,
         * and m->data the state after it. velocity: by how much the place's first number changed in the
         * step, per second. */
        void (*judge)(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret);
};

struct MujocoInstance {
        const MujocoTask *task;
        int version; /* the version of Gymnasium's definition: 4 or 5; 0: a user's model */
        const mjModel *model;
        mjData *data; /* NULL: after close() */
        MujocoOptions options;
        double place[MUJOCO_PLACES_MAX]; /* as task->place() wrote it after the last step or the reset */
};

/* Checks whether an option is Engine=, which every task accepts. 1: it is, and names this module's engine;
 * 0: the option has another key; -EINVAL: it names another engine. */
int mujoco_take_engine(const ActordOption *option);

/* The functions of the ABI. MUJOCO_ENV() gives task and version to spec and init. */
int mujoco_spec(const MujocoTask *task, int version, const ActordOption *options, uint32_t n_options,
                ActordEnvSpec *ret);
int mujoco_init(const MujocoTask *task, int version, MujocoInstance *m, const ActordOption *options,
                uint32_t n_options);
int mujoco_reset(void *instance, ActordRandom *random, void *ret_observation);
int mujoco_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret);
int mujoco_snapshot(const void *instance, void *ret_snapshot);
int mujoco_restore(void *instance, const void *snapshot);
void mujoco_close(void *instance);
int mujoco_state_parts(const void *instance, ActordStatePart *ret);
int mujoco_get_state(const void *instance, double *ret);
int mujoco_set_state(void *instance, const double *state, void *ret_observation);
int mujoco_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes);

/* The reward for not having fallen. In v5 the robot gets this reward only while it is healthy. In v4 it also
 * gets the reward for its last step, if episodes end at a fall. */
static inline double mujoco_healthy_reward(const MujocoInstance *m, bool healthy) {
        bool paid = healthy || (m->version < 5 && m->options.terminate_when_unhealthy);

        return paid ? m->options.healthy_reward : 0;
}

/* Runs f(userdata). -EIO: MuJoCo reported an error in f, which would otherwise end the process. Then objects
 * that f was writing may only be closed. */
int mujoco_guard(void (*f)(void *userdata), void *userdata);

/* MuJoCo's message for the last error that a guard caught; "": there was none. */
const char *mujoco_guard_message(void);

/* The text of a model file, as the symbols NAME_xml and NAME_xml_end, so that the module needs no files. */
#define MUJOCO_MODEL(name)                                                    \
        __asm__(".pushsection .rodata\n"                                      \
                ".hidden " #name "_xml\n" #name "_xml:\n"                     \
                ".incbin \"actor/envs/mujoco/" #name ".xml\"\n"               \
                ".hidden " #name "_xml_end\n" #name "_xml_end:\n"             \
                ".popsection\n");                                             \
        extern const char name##_xml[] __attribute__((visibility("hidden"))); \
        extern const char name##_xml_end[] __attribute__((visibility("hidden")))

/* Defines the environment `name_vN_env`, version N of the task in this row. */
#define MUJOCO_ENV(name, number, row)                                                          \
        static int name##_v##number##_spec(                                                    \
                        const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) { \
                return mujoco_spec(&row, number, options, n_options, ret);                     \
        }                                                                                      \
        static int name##_v##number##_init(                                                    \
                        void *instance, const ActordOption *options, uint32_t n_options) {     \
                return mujoco_init(&row, number, instance, options, n_options);                \
        }                                                                                      \
        const ActordEnv name##_v##number##_env = {                                             \
                .abi = ACTORD_ENV_ABI,                                                         \
                .struct_bytes = sizeof(ActordEnv),                                             \
                .spec = name##_v##number##_spec,                                               \
                .init = name##_v##number##_init,                                               \
                .reset = mujoco_reset,                                                         \
                .step = mujoco_step,                                                           \
                .snapshot = mujoco_snapshot,                                                   \
                .restore = mujoco_restore,                                                     \
                .close = mujoco_close,                                                         \
                .state_parts = mujoco_state_parts,                                             \
                .get_state = mujoco_get_state,                                                 \
                .set_state = mujoco_set_state,                                                 \
                .draw = mujoco_draw,                                                           \
        }
