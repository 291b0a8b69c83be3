/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program inside an actor's sandbox. A container hosts the actors with the same number modulo
 * n_containers. It carries out orders on their segments until ORDER_END. It keeps no data from one
 * invocation to the next: all state that lasts is in the slots (include/slot.h). Only the state of a sticky
 * environment stays in the process (actor/host.c). */
#pragma once

#include <stdint.h>
#include "include/actord/env.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/turn.h"
#include "lib/dataset/dataset.h"

typedef struct ActorContext {
        const JobSettings *settings;
        const JobPage *page; /* NULL: only for ORDER_PROBE, when the spec is not known yet */
        WorkerPage *worker;
        /* the environment, loaded before the fork; NULL: load plugin_path inside the sandbox */
        const ActordEnv *env;
        /* the plugin's path inside the sandbox: /plugin/mine.so; in a sandbox without a root of its own:
         * /proc/self/fd/16 */
        const char *plugin_path;
        uint32_t n_containers;
        void *const *segments; /* [actors]: mapped if the actor is in this container, else NULL */
        const void *policy;    /* read-only */
        int bell_fd;
        int ask_fd; /* the learner's eventfd, if the learner acts for this actor */
        uint64_t spin_nsec;
        const DatasetModule *dataset_module; /* NULL: actors act; otherwise they read the file of Dataset= */
        const void *dataset;                 /* the mapped file */
        uint64_t dataset_bytes;
} ActorContext;

/* The environment of an actor whose sandbox is finished: the one that was loaded before the fork, or the
 * plugin. If it cannot be used, the process ends with EXIT_ENVIRONMENT_LOAD. After this call abort() ends
 * the process with EXIT_ABORTED. */
const ActordEnv *actor_acquire(const ActorContext *context);

/* Never returns. It ends with status 0 at ORDER_END, and with EXIT_ENVIRONMENT_LOAD if the environment does
 * not load. */
_Noreturn void actor_main(const ActorContext *context);

/* An administrator's environment: a built-in one, or one in a module beside actord's programs (env-mujoco.so
 * in `directory`). 0; -ENOENT: there is none of this name; -ENOEXEC: the module does not load, or has no
 * such environment. */
int environment_load(const char *name, const char *directory, const ActordEnv **ret);

/* Like environment_load(), for a job, whose Engine= may ask for the module with another release of the
 * engine (env-mujoco-4.0.0.so). -EINVAL: Engine= is not a release; -ENOENT: that module is not installed.
 * The invoker calls this before any fork. */
int environment_load_for(const JobSettings *settings, const char *directory, const ActordEnv **ret);

/* Loads an environment that uses packages of Python=. With an environment in Python, spec() starts the
 * interpreter, and must be called in the sandbox. With EPA SWMM, the first reset(), restore() or set_state()
 * loads the engine. This call itself runs no code of a user. Descriptors in the actor: python_fd is that of
 * the virtual environment (negative: the system's packages), path_fd that of PythonPath= (negative: there is
 * none). 0, -ENOEXEC. */
int environment_load_packages(const JobSettings *settings, const char *directory, int python_fd, int path_fd,
                const ActordEnv **ret);

/* Environment=mujoco:FILE: loads env-mujoco.so, or the module for Engine=. The module reads the model at its
 * first spec(), in the sandbox. model_fd: the descriptor of the model's directory in the actor. 0, -ENOEXEC,
 * or -EINVAL and -ENOENT as in environment_load_for(). */
int environment_load_mjcf(
                const JobSettings *settings, const char *directory, int model_fd, const ActordEnv **ret);

/* Environment=job:FILE: env-job.so in `directory`, with the settings of the job in FILE. 0; -ENOEXEC: the
 * module or the inner job's environment does not load, or the latter rejects its options. The invoker calls
 * this before any fork. */
int environment_load_job(const JobSettings *inner, const char *directory, const ActordEnv **ret);
