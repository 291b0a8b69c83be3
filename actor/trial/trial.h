/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tries one environment without a job, in an actor's sandbox (CATALOGUE has none, and BENCH also measures an
 * administrator's environment without it). The invoker forks an actor for each thing to try
 * (invoker/trial.c). This actor does not wait for orders, but runs the code of these files:
 *
 *   trial.c     chooses what to try
 *   say.c       writes records for actorctl; asks the environment for its spec
 *   stage.c     steps an instance and guards its memory
 *   check.c bench.c rollout.c play.c   try one thing each */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor/actor.h"
#include "include/record.h"
#include "include/trial.h"
#include "lib/slot-refusal.h"

typedef struct Trial {
        const ActorContext *context;
        const JobSettings *settings; /* context->settings */
        const TrialRequest *request;
        const double *numbers; /* the numbers that follow the request in its memfd */
        TrialPage *page;       /* the worker's page, for the verdict */
        const char *directory; /* CATALOGUE: the directory of modules */
        uint32_t level;        /* SandboxLevel */
        uint32_t point;        /* CHECK: the TrialPoint_ to try */
} Trial;

/* Carries out the request, sets page->finished and ends the process. The environment is loaded as in a
 * job. */
_Noreturn void trial_main(const Trial *trial);

/* Writes one record and its body in two parts. Ends the process if the reader has closed the pipe. */
void trial_say(uint32_t kind, const void *head, size_t n_head, const void *body, size_t n_body);

/* Asks the environment for its spec, and checks it. If the spec cannot be used, sets page->fault and detail
 * and returns false. */
bool trial_learn_spec(const Trial *trial, const ActordEnv *env, TrialSpec *ret);

/* Writes a negative errno, from the environment or for lack of memory, into the page as the fault. Does
 * nothing for r >= 0, or for the -ECANCELED of trial_problem(). */
void trial_fail(const Trial *trial, int r);
/* Writes into the page why this trial ends early. Returns -ECANCELED. */
int trial_problem(const Trial *trial, TrialProblem problem, int detail);
/* Writes into the page that the environment does not fit the settings. Returns -ECANCELED. */
int trial_misfit(const Trial *trial, SpecField field);

/* picture_new() allocates room for a picture; NULL, with the problem in the page: the environment draws
 * none, or there is no memory. picture_say() draws an instance and sends the picture: 0; -ECANCELED with the
 * problem in the page; or the error of draw() or paint(). */
void *picture_new(const Trial *trial, const ActordEnv *env);
int picture_say(const Trial *trial, const ActordEnv *env, const void *instance, void *room);

/* Each function carries out one kind of trial, and trial_play() the three TRIAL_PLAY kinds. It puts its
 * verdict on the page, and its results into records; trial_bench() puts its rate on the page. */
void trial_show(const Trial *trial, const ActordEnv *env);
void trial_rollout(const Trial *trial, const ActordEnv *env);
void trial_play(const Trial *trial, const ActordEnv *env);
void trial_check(const Trial *trial, const ActordEnv *env);
void trial_bench(const Trial *trial, const ActordEnv *env);
