/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory that a container keeps between orders. It is allocated at the first rollout or evaluation;
 * later ones allocate none. Besides files of actor/, only the learners that act include this header
 * (learner/fused.c, learner/job/loop.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor.h"
#include "lib/forward.h"
#include "lib/pair.h"
#include "lib/regulation.h"

/* An instance of the environment. It can step any slot, since its state comes from a snapshot at each
 * invocation. But an environment without snapshots (ACTORD_ENV_STICKY) has an instance for each slot. */
typedef struct Instance {
        void *memory;
        bool initialised;
        /* for ACTORD_ENV_STICKY: the ordinal of the invocation that may continue this instance's episode; 0:
         * none may */
        uint64_t next_ordinal;
} Instance;

typedef struct Host {
        const ActorContext *context;
        const ActordEnv *env;

        uint32_t envs;        /* of one actor */
        uint32_t n_instances; /* for all actors; the last one is for evaluations */
        Instance *instances;
        void *instance_memory;
        uint64_t instance_memory_bytes;

        Forward *forward;
        SlotState *states; /* [envs] */
        double *noise;     /* [envs + agents][n_action]: its state (lib/noise.h); NULL: no state */
        PairWalk *pairs;   /* [envs / 2]; NULL: there are no pairs */
        /* [envs + agents][observation_bytes]: the frame stack of each slot, then those of the newest step,
         * one for each agent; NULL: observations are not stacks of frames */
        uint8_t *stacks;
        float *parameters; /* of at most FORWARD_ROWS_MAX rows: the distribution of each row's action */
        /* the newest action and step of each agent of one environment */
        void *action; /* clipped */
        ActordStep *steps;
        void *sample, *observation; /* in an evaluation: the action before clipping, and the observation */
        Regulation regulation;      /* for a job with a controller or an envelope */
        bool regulated;
        RegulationCounts counts; /* of the episode that an evaluation plays */
        void *before;            /* in an evaluation: the observation before the newest step */
        /* [agents][n_own]: the environment's own observations; NULL: observations have no other part */
        float *own;
        float *shared;                     /* [n_shared]: the shared state; NULL: it is not read */
        bool come_and_go;                  /* agents come and go; otherwise all stay marked as present */
        uint8_t active[ACTORD_AGENTS_MAX]; /* which agents are present after the newest reset or step */
        uint8_t acted[ACTORD_AGENTS_MAX];  /* which agents were present before the newest step */
        Dataset *dataset;                  /* NULL: it has not been read yet */
} Host;

/* Reset and step an instance of the environment. A step reads host->action and writes host->steps.
 * ret_observations: of all agents, with the parts about other agents (lib/company.h). */
int host_reset(Host *host, Instance *instance, ActordRandom *random, void *ret_observations);
int host_step(Host *host, Instance *instance, ActordRandom *random, void *ret_observations);

/* Writes for each agent of the instance whether it is present. 0; -EPROTO: no agent is, or a flag is not 0
 * or 1; or the environment's error. */
int host_active(const Host *host, const Instance *instance, uint8_t *ret);

/* Call this after a reset or a step. It notes which agents are present, if agents come and go. If there is a
 * host->own, it writes the observations in it, with the parts about other agents or about the shared state
 * (lib/company.h), to ret_observations. actions: NULL after a reset. 0, or an error as of host_active(). */
int host_show(Host *host, const Instance *instance, const void *actions, void *ret_observations);

/* Checks that the table has an ABI that actord knows, and the seven functions that it needs. 0 or
 * -ENOEXEC. */
int environment_check(const ActordEnv *env);

/* Loads a user's plugin in the sandbox. 0, or -ENOEXEC after a sentence on stderr. */
int plugin_load(const char *path, const ActordEnv **ret);

/* Memory for instances: zeroed and aligned to a page. The kernel allocates only pages that are used. NULL:
 * there is no memory. */
void *instance_memory_take(uint64_t bytes);
void instance_memory_give_back(void *memory, uint64_t bytes);

/* Allocates the memory for all orders. It needs context->page. 0; -ENOMEM; or, if the network is impossible
 * or too large, -EINVAL or -E2BIG. */
int host_new(const ActorContext *context, const ActordEnv *env, Host **ret);
Host *host_free(Host *host);

/* Turns the policy's action, float or int32_t, into the environment's action. It adds the controller's part,
 * if the job has one, and keeps the bounds. */
void host_act(const Host *host, const void *observation, const void *policy, void *ret_action);
/* Call this after a step. If the job has an envelope, the envelope's reward replaces the step's reward, and
 * the step is counted. */
void host_regulate(const Host *host, const void *before, const void *after, RegulationCounts *counts,
                ActordStep *step);
/* Writes the page->spec.n_metrics metrics of an episode that has ended. 0, or the environment's error. */
int host_metrics(const Host *host, const Instance *instance, const RegulationCounts *counts, double *ret);

/* The initialised instance for an actor's environment e. 0, or the error of init(). */
int host_instance(Host *host, uint32_t actor, uint32_t e, Instance **ret);
int host_evaluation_instance(Host *host, Instance **ret);

/* Loads the policy version that an order names; all later steps act with it. -ESTALE: the bank has another
 * version. */
int host_policy(Host *host, const Order *order);

/* Plays an evaluation's episode, one step at a time, so that a recording can show each step. 0, or the
 * environment's error. step: the newest step, with the mean reward of all agents; t: the number of steps.
 * The episode follows from its number and from the policy that the host has loaded. */
int evaluation_begin(Host *host, uint64_t episode, Instance **ret);
int evaluation_step(Host *host, Instance *instance, uint64_t episode, uint32_t t, ActordStep *ret);
/* Call this after evaluation_begin(): the episode then begins in this state instead of the one that reset()
 * chose. The environment must have set_state(). */
int evaluation_set_state(Host *host, Instance *instance, const double *state);
bool evaluation_ended(const Host *host, const ActordStep *step, uint32_t t);

static inline void answer_fault(Answer *answer, Fault fault, int detail) {
        answer->fault = fault;
        answer->detail = detail;
}

/* Each function carries out an order. After an error the answer has a fault and, as its detail, an errno, a
 * field of the spec (FAULT_SPEC) or a problem of the data set (FAULT_DATASET). */
void probe(const ActorContext *context, const ActordEnv *env, Answer *ret);
void invocation_run(Host *host, const Order *order, Answer *ret);
void offline_run(Host *host, const Order *order, Answer *ret); /* for a job with a data set */
void evaluation_run(Host *host, const Order *order, Answer *ret);
