/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The room's own: what a container keeps between orders. Memory for it is taken at the first order; a
 * rollout allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor.h"
#include "lib/forward.h"

/* An environment's instance. Which slot it steps does not matter: its state comes from a snapshot at each
 * invocation, unless the environment is sticky, when each slot has an instance of its own. */
typedef struct Instance {
        void *memory;
        bool initialised;
        /* STICKY: the invocation that may go on from here; 0: none may, since none follows the first */
        uint64_t next_ordinal;
} Instance;

typedef struct Host {
        const ActorContext *context;
        const ActordEnv *env;

        uint32_t envs, n_instances; /* of one actor; of all, and the last one is the evaluation's */
        Instance *instances;
        void *instance_memory;
        uint64_t instance_memory_bytes;

        Forward *forward;
        SlotState *states; /* [envs] */
        /* [envs + 1][observation_bytes]: what slots see, and what a step shows; NULL: no frames are
         * stacked */
        uint8_t *stacks;
        float *parameters;          /* [FORWARD_ROWS_MAX], of one action's distribution each */
        void *action;               /* clipped */
        void *sample, *observation; /* of an evaluation: as drawn, as seen */
} Host;

/* Checks that the table is one of ours and complete. 0 or -ENOEXEC. */
int environment_check(const ActordEnv *env);

/* A user's plugin, loaded in the sandbox. 0 or -ENOEXEC after a sentence on stderr. */
int plugin_load(const char *path, const ActordEnv **ret);

/* Memory for instances: zeroed, aligned to a page, and real only where it is touched. NULL: there is
 * none. */
void *instance_memory_take(uint64_t bytes);
void instance_memory_give_back(void *memory, uint64_t bytes);

/* Takes the memory for all orders. context->page is there. 0, -ENOMEM, -EINVAL. */
int host_new(const ActorContext *context, const ActordEnv *env, Host **ret);
Host *host_free(Host *host);

/* The instance for an actor's environment e, initialised. 0, or what init() returned. */
int host_instance(Host *host, uint32_t actor, uint32_t e, Instance **ret);
int host_evaluation_instance(Host *host, Instance **ret);

/* Takes the version that an order names, out of its bank, to act with it from now on. -ESTALE: another one
 * lies there. */
int host_policy(Host *host, const Order *order);

/* An evaluation's episode, a step at a time, for who looks at each; 0, or what the environment returned.
 * step: the newest, t: how many there were. Every player of an episode of this number with the policy
 * that the host has taken plays the same one. */
int evaluation_begin(Host *host, uint64_t episode, Instance **ret);
int evaluation_step(Host *host, Instance *instance, uint64_t episode, uint32_t t, ActordStep *ret);
bool evaluation_ended(const Host *host, const ActordStep *step, uint32_t t);

/* The orders. Each answers; a negative errno in between becomes answer->fault with the errno as its
 * detail. */
void probe(const ActorContext *context, const ActordEnv *env, Answer *ret);
void invocation_run(Host *host, const Order *order, Answer *ret);
void evaluation_run(Host *host, const Order *order, Answer *ret);
