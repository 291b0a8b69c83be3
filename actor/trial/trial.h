/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One environment, tried without a job, inside of an actor's sandbox: the invoker forks an actor for each
 * thing that is to be tried (invoker/trial.c), and these files are what it does in the place of orders.
 *
 *   trial.c     which of them
 *   say.c       records for actorctl, and the spec
 *   stage.c     an instance that is stepped, and its memory
 *   check.c bench.c rollout.c play.c   what is tried
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor/actor.h"
#include "include/record.h"
#include "include/trial.h"

typedef struct Trial {
        const ActorContext *context;
        const JobSettings *settings; /* the context's */
        const TrialRequest *request;
        const double *numbers; /* behind the request */
        TrialPage *page;       /* of the context's worker: the answer, beside the records */
        const char *directory; /* CATALOGUE: where modules lie */
        uint32_t level;        /* SandboxLevel */
        uint32_t point;        /* CHECK: which of TrialPoint_ */
} Trial;

/* Does what the request asks for and ends the process, with page->finished if it came that far. The
 * environment is acquired as for a job's orders. */
_Noreturn void trial_main(const Trial *trial);

/* Writes one record and its body, in two parts; ends the process when the reader has closed the pipe. */
void trial_say(uint32_t kind, const void *head, size_t n_head, const void *body, size_t n_body);

/* The spec, checked. Sets page->fault and detail and returns false when it cannot be used. */
bool trial_learn_spec(const Trial *trial, const ActordEnv *env, TrialSpec *ret);

/* What the environment, or memory for it, failed with: a negative errno. 0 and -ECANCELED, after
 * trial_problem(), are no fault. */
void trial_fail(const Trial *trial, int r);
/* Says in the page why this trial ends early. -ECANCELED. */
int trial_problem(const Trial *trial, TrialProblem problem, int detail);

/* Room for a picture, and one of an instance said in it. picture_new(): NULL with the problem in the page
 * when the environment draws none. picture_say(): 0, -ECANCELED with the problem in the page, or what
 * draw() or paint() returned. */
void *picture_new(const Trial *trial, const ActordEnv *env);
int picture_say(const Trial *trial, const ActordEnv *env, const void *instance, void *room);

/* Each answers through the page and the records. */
void trial_show(const Trial *trial, const ActordEnv *env);
void trial_rollout(const Trial *trial, const ActordEnv *env);
void trial_play(const Trial *trial, const ActordEnv *env);
void trial_check(const Trial *trial, const ActordEnv *env);
void trial_bench(const Trial *trial, const ActordEnv *env);
