/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to this room: what a container keeps between orders. Its memory is taken at the first order; a
 * rollout allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor.h"
#include "lib/forward.h"
#include "lib/pair.h"
#include "lib/regulation.h"

/* An environment's instance. It can step any slot, since its state comes from a snapshot at each invocation.
 * If the environment is sticky, each slot has an instance of its own. */
typedef struct Instance {
        void *memory;
        bool initialised;
        /* STICKY: the invocation that may continue this instance's episode; 0: none may */
        uint64_t next_ordinal;
} Instance;

typedef struct Host {
        const ActorContext *context;
        const ActordEnv *env;

        uint32_t envs;        /* of one actor */
        uint32_t n_instances; /* of all actors; the last one is for evaluations */
        Instance *instances;
        void *instance_memory;
        uint64_t instance_memory_bytes;

        Forward *forward;
        SlotState *states; /* [envs] */
        double *noise;     /* [envs][n_action]; NULL: it is no process */
        PairWalk *pairs;   /* [envs / 2]; NULL: environments go on alone */
        /* [envs + agents][observation_bytes]: what each slot sees, and last what a step shows; NULL:
         * observations are no stacks */
        uint8_t *stacks;
        float *parameters; /* [FORWARD_ROWS_MAX], of one action's distribution each */
        /* of all agents of an environment */
        void *action; /* clipped */
        ActordStep *steps;
        void *sample, *observation; /* of an evaluation: as drawn, as seen */
        Regulation regulation;      /* if regulated */
        bool regulated;
        RegulationCounts counts; /* of an evaluation's episode */
        void *before;            /* observation before its step */
        float *own;    /* [agents][n_own]: as the environment wrote it; NULL: agents see no more than that */
        float *shared; /* [n_shared]: as the environment wrote it; NULL: it is not read */
        bool come_and_go;                  /* the agents; else all stay marked as being there */
        uint8_t active[ACTORD_AGENTS_MAX]; /* which agents are there after the newest reset or step */
        uint8_t acted[ACTORD_AGENTS_MAX];  /* which were there before it */
        Dataset *dataset;                  /* NULL: not read yet */
} Host;

/* The environment's functions, with what agents see of each other (lib/company.h). ret_observations: of all
 * agents, as the page's spec has them. host->action acts, host->steps is written. */
int host_reset(Host *host, Instance *instance, ActordRandom *random, void *ret_observations);
int host_step(Host *host, Instance *instance, ActordRandom *random, void *ret_observations);

/* Which agents of the instance are there: [agents]. 0, or what the environment returned. */
int host_active(const Host *host, const Instance *instance, uint8_t *ret);

/* After a reset or a step: notes who is there, and joins what the environment showed in host->own with what
 * agents see of each other and of the state that they share. actions: NULL after a reset. 0, or what the
 * environment returned. */
int host_show(Host *host, const Instance *instance, const void *actions, void *ret_observations);

/* Checks that the table is one of ours and complete. 0 or -ENOEXEC. */
int environment_check(const ActordEnv *env);

/* A user's plugin, loaded in the sandbox. 0 or -ENOEXEC after a sentence on stderr. */
int plugin_load(const char *path, const ActordEnv **ret);

/* Memory for instances: zeroed, aligned to a page, and backed by the kernel only where it is touched.
 * NULL: there is none. */
void *instance_memory_take(uint64_t bytes);
void instance_memory_give_back(void *memory, uint64_t bytes);

/* Takes the memory for all orders; needs context->page. 0, -ENOMEM, -EINVAL. */
int host_new(const ActorContext *context, const ActordEnv *env, Host **ret);
Host *host_free(Host *host);

/* The policy's action, float or int32_t, as the environment gets it: with the controller's part, if the job
 * has one, and within the bounds. */
void host_act(const Host *host, const void *observation, const void *policy, void *ret_action);
/* After a step: its reward is the envelope's, if the job has one, and the step is counted. */
void host_regulate(const Host *host, const void *before, const void *after, RegulationCounts *counts,
                ActordStep *step);
/* Of an episode that has ended: [page->spec.n_metrics]. 0, or what the environment returned. */
int host_metrics(const Host *host, const Instance *instance, const RegulationCounts *counts, double *ret);

/* The instance for an actor's environment e, initialised. 0, or what init() returned. */
int host_instance(Host *host, uint32_t actor, uint32_t e, Instance **ret);
int host_evaluation_instance(Host *host, Instance **ret);

/* Takes the policy version that an order names, to act with it from now on. -ESTALE: its bank holds another
 * one. */
int host_policy(Host *host, const Order *order);

/* An evaluation's episode, one step at a time, so that a recording can look at each. 0, or what the
 * environment returned. step: the newest one, its reward the mean over all agents; t: how many there were.
 * The episode follows from its number and the policy that the host has taken. */
int evaluation_begin(Host *host, uint64_t episode, Instance **ret);
int evaluation_step(Host *host, Instance *instance, uint64_t episode, uint32_t t, ActordStep *ret);
/* What evaluation_begin() began goes on from this state instead, which the environment can be put in. */
int evaluation_set_state(Host *host, Instance *instance, const double *state);
bool evaluation_ended(const Host *host, const ActordStep *step, uint32_t t);

static inline void answer_fault(Answer *answer, Fault fault, int detail) {
        answer->fault = fault;
        answer->detail = detail;
}

/* Each carries out an order. A negative errno becomes the answer's fault, with the errno as its detail. */
void probe(const ActorContext *context, const ActordEnv *env, Answer *ret);
void invocation_run(Host *host, const Order *order, Answer *ret);
void offline_run(Host *host, const Order *order, Answer *ret); /* instead, where there is a data set */
void evaluation_run(Host *host, const Order *order, Answer *ret);
