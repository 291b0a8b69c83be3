/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What runs inside an actor's sandbox: a container hosts the actors a with the same a % n_containers, and
 * carries out orders on their segments until it is told to end. Pure from invocation to invocation: all
 * that lasts is in the slots. */
#pragma once

#include <stdint.h>
#include "include/actord/env.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/turn.h"

typedef struct ActorContext {
        const JobSettings *settings;
        const JobPage *page; /* NULL for ORDER_PROBE only: the spec is not known yet */
        WorkerPage *worker;
        const ActordEnv *
                        /* loaded before the fork; NULL: load plugin_path after the sandbox has closed */
                        env;
        const char *plugin_path; /* inside the root: /plugin/mine.so */
        uint32_t n_containers;
        void *const *segments; /* [actors]: mapped where the actor is ours, NULL elsewhere */
        const void *policy;    /* read-only */
        int bell_fd;
        int ask_fd; /* the learner's bell, where it acts for us */
        uint64_t spin_nsec;
} ActorContext;

/* The environment, as an actor has it once its sandbox has closed: the one that was loaded before the
 * fork, or the plugin. Ends the process with EXIT_ENVIRONMENT_LOAD when there is none that can be used;
 * from here on abort() ends it with EXIT_ABORTED. */
const ActordEnv *actor_acquire(const ActorContext *context);

/* Never returns: ends with status 0 at ORDER_END, EXIT_ENVIRONMENT_LOAD if the environment does not load. */
_Noreturn void actor_main(const ActorContext *context);

/* An administrator's environment: built in, or of a module beside our programs (env-mujoco.so in
 * `directory`). 0; -ENOENT: no such name; -ENOEXEC: the module does not load. Called by the invoker,
 * before any fork. */
int environment_load(const char *name, const char *directory, const ActordEnv **ret);

/* The same for a job, whose Engine= may ask for the module with another release of the engine
 * (env-mujoco-4.0.0.so). -EINVAL: that is no name of one; -ENOENT: it is not installed. */
int environment_load_for(const JobSettings *settings, const char *directory, const ActordEnv **ret);

/* One that loads packages of Python=: Environment=gym:ID, whose spec() starts the interpreter and is
 * called in the sandbox, or one on EPA SWMM, whose first reset() loads the engine. Nothing of a user's
 * has begun yet. python_fd: the virtual environment's descriptor, where the actor has one; -1: the
 * system's packages. 0, -ENOEXEC. */
int environment_load_packages(
                const JobSettings *settings, const char *directory, int python_fd, const ActordEnv **ret);

/* Environment=mujoco:FILE: env-mujoco.so, or that of Engine=, which reads the model at its first spec(),
 * in the sandbox. model_fd: the descriptor of its directory, where the actor has one. 0, -ENOEXEC,
 * -EINVAL, -ENOENT as environment_load_for(). */
int environment_load_mjcf(
                const JobSettings *settings, const char *directory, int model_fd, const ActordEnv **ret);

/* Environment=job:FILE, with the job that FILE is: env-job.so in `directory`. 0; -ENOEXEC: it, or the
 * inner job's environment, does not load. Called by the invoker, before any fork. */
int environment_load_job(const JobSettings *inner, const char *directory, const ActordEnv **ret);
