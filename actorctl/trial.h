/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tries an environment without a job: an invoker runs it in a sandbox, and this file sends the request and
 * reads the rows. A plugin's rows may be hostile, so each one is checked before it is used. */
#pragma once

#include "actorctl/job-file.h"
#include "include/trial.h"

/* head: the fixed part of this kind of row; a RESET has none. numbers: the rest of the row; a PICTURE has
 * shapes in their place. spec: the newest SPEC; NULL: no SPEC has come yet. */
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

/* Makes a trial. job_file names the environment; for CATALOGUE it may be any valid one. numbers: the doubles
 * that the request needs, or NULL. STATUS_OK and the verdict; or another status, with a message. If the
 * caller has blocked Ctrl-C and similar signals (follow_prepare()), they end the trial, with
 * STATUS_INTERRUPTED; then the caller can remove its files. */
ExitStatus trial_call(const TrialRequest *request, const JobFile *job_file, const GArray *numbers,
                TrialTake take, void *userdata, TrialVerdict *ret);

/* Reads the rows of the invoker and its actors, until their pipe ends. 0; -EBADMSG: a row does not fit this
 * request; -EINTR: one of the signals above is pending. */
int trial_rows_read(int fd, const TrialRequest *request, TrialTake take, void *userdata);

/* Prints what was wrong, by a verdict. STATUS_OK: nothing was, so nothing is printed. */
ExitStatus trial_judge(const char *environment, const TrialVerdict *verdict);

/* Asks the environment of job_file for its spec. STATUS_OK; or another status, with a message. */
ExitStatus trial_spec(const JobFile *job_file, TrialSpec *ret);

/* Makes a job file for an environment (a name or a file), with its options from --set KEY=VALUE and settings
 * from --set SECTION.KEY=VALUE. Returns as job_file_load(). */
ExitStatus trial_submission(const Options *options, const char *environment, JobFile *ret);

/* How many numbers the environment's whole state has. */
uint32_t trial_state_numbers(const TrialSpec *spec);

/* The words after `actorctl env` that have files of their own. */
ExitStatus env_check(const Options *options, const char *environment);
ExitStatus env_bench(const Options *options, const char *environment);
ExitStatus env_rollout(const Options *options, const char *environment);
