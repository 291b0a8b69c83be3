/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment tried without a job: actord-trial does it, this asks and reads. What it says of a plugin is the plugin's word, so every
 * record is checked before anybody sees it. */
#pragma once

#include "actorctl/submission.h"
#include "include/trial.h"

/* head: what its kind begins with, nothing of a RESET; numbers: what follows it, shapes of a PICTURE. spec: the last SPEC, NULL before it. */
typedef struct TrialRow {
        TrialRecordKind kind;
        const TrialSpec *spec;
        const void *head;
        const double *numbers;
        uint64_t n_numbers;
        const ActordShape *shapes;
        uint64_t n_shapes;
        const uint8_t *pixels; /* of a FRAME */
} TrialRow;

typedef void (*TrialTake)(const TrialRow *row, void *userdata);

/* submission: NULL for CATALOGUE. numbers: of double, NULL: none. STATUS_OK and what became of it; else after having said why. */
ExitStatus trial_call(const TrialRequest *request, const Submission *submission, const GArray *numbers,
                TrialTake take, void *userdata, TrialVerdict *ret);

/* Says what a verdict means. STATUS_OK: nothing was wrong. */
ExitStatus trial_judge(const char *environment, const TrialVerdict *verdict);

/* A submission of two lines for the environment of a name or a file, with --set KEY=VALUE for its options. As submission_load(). */
ExitStatus trial_submission(const Options *options, const char *environment, Submission *ret);

/* Where actord-trial and the modules lie. */
char *trial_directory(void);

/* Numbers in a value of the space, and in the whole state. */
uint64_t trial_space_numbers(const ActordSpace *space);
uint32_t trial_state_numbers(const TrialSpec *spec);

/* The words below env; list takes no environment. */
ExitStatus env_list(const Options *options, const char *environment);
ExitStatus env_show(const Options *options, const char *environment);
ExitStatus env_check(const Options *options, const char *environment);
ExitStatus env_bench(const Options *options, const char *environment);
ExitStatus env_rollout(const Options *options, const char *environment);
