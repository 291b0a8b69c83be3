/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The room's own: one environment, tried without a job. What a plugin's code does happens in a child that is confined as an actor is; the
 * process outside of the sandbox watches over it and never loads what a user wrote. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/record.h"
#include "include/settings.h"
#include "include/trial.h"

/* Shared with the child, which may write anything there. */
typedef struct TrialPage {
        _Atomic uint64_t progress; /* grows with each step: a plugin that never returns is found by it */
        uint32_t finished;         /* it came to its end: a plugin may exit(0) anywhere */
        uint32_t problem, finding;
        uint32_t fault;
        int32_t detail;
        double rate;
} TrialPage;

typedef struct Trial {
        const TrialRequest *request;
        const JobSettings *settings;
        const double *numbers;
        const ActordEnv *env; /* an administrator's, loaded before any fork; NULL: a user's plugin */
        char plugin[128];     /* where the sandbox has it */
        uint32_t level;
        struct Sandbox *sandbox;
        TrialPage *page;
} Trial;

/* What runs in the child; it answers through trial->page and the rows. */
typedef void (*TrialChild)(const Trial *trial, const ActordEnv *env, const void *userdata);

/* Loads an administrator's environment, and prepares the sandbox. TRIAL_PROBLEM_NONE, or why not. */
TrialProblem trial_prepare(Trial *trial, int32_t *ret_detail);
void trial_done(Trial *trial);

/* Whether what a user wrote runs in the child, which is then always confined. */
bool trial_runs_foreign_code(const Trial *trial);

/* Forks, confines if `inside`, runs f. Returns how it ended: FAULT_NONE, or what became of the child. */
Fault trial_run(Trial *trial, bool inside, TrialChild f, const void *userdata, int32_t *ret_detail);

/* One record and its body, in two parts; ends the child when nobody reads any more. */
void trial_say(uint32_t kind, const void *head, size_t n_head, const void *body, size_t n_body);

/* The spec, checked, and the parts of the state. Sets page->fault and detail and returns false when it cannot be used. */
bool trial_learn_spec(const Trial *trial, const ActordEnv *env, TrialSpec *ret);

/* Room for a picture, and one of an instance said in it. picture_new(): NULL with the problem in the page when the environment draws none.
 * picture_say(): 0, -ECANCELED with the problem in the page, or what draw() or paint() returned. */
void *picture_new(const Trial *trial, const ActordEnv *env);
int picture_say(const Trial *trial, const ActordEnv *env, const void *instance, void *room);

/* The child of SHOW, ROLLOUT and PLAY, and CHECK and BENCH as a whole. */
void trial_show(const Trial *trial, const ActordEnv *env, const void *userdata);
void trial_rollout(const Trial *trial, const ActordEnv *env, const void *userdata);
void trial_play(const Trial *trial, const ActordEnv *env, const void *userdata);
void trial_check(Trial *trial);
Fault trial_bench(Trial *trial, int32_t *ret_detail);
void trial_catalogue(void);
