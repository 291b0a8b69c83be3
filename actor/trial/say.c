/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reports of a trial. Its records (TrialRecord) go to actorctl through a pipe, and its verdict is in the
 * trial's page. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "actor/trial/trial.h"
#include "lib/fd.h"
#include "lib/slot.h"

void trial_say(uint32_t kind, const void *head, size_t n_head, const void *body, size_t n_body) {
        const TrialRecord record = { .kind = kind, .n_bytes = (uint32_t) (n_head + n_body) };

        if (write_full(TRIAL_FD_ROWS, &record, sizeof(record)) < 0 ||
                        write_full(TRIAL_FD_ROWS, head, n_head) < 0 ||
                        write_full(TRIAL_FD_ROWS, body, n_body) < 0)
                _exit(EXIT_FAILURE);
}

static void fault(const Trial *trial, Fault fault, int detail) {
        trial->page->fault = fault;
        trial->page->detail = detail;
}

void trial_fail(const Trial *trial, int r) {
        if (r < 0 && r != -ECANCELED)
                fault(trial, FAULT_ENVIRONMENT, -r);
}

int trial_problem(const Trial *trial, TrialProblem problem, int detail) {
        trial->page->problem = problem;
        trial->page->detail = detail;
        return -ECANCELED;
}

int trial_misfit(const Trial *trial, SpecField field) {
        fault(trial, FAULT_SPEC, (int) field);
        return -ECANCELED;
}

bool trial_learn_spec(const Trial *trial, const ActordEnv *env, TrialSpec *ret) {
        const JobSettings *settings = trial->settings;
        int r, field;

        *ret = (TrialSpec){ .level = trial->level };
        r = env->spec(settings->options, settings->n_options, &ret->spec);
        if (r < 0) {
                fault(trial, FAULT_LOAD, -r);
                return false;
        }
        if (spec_check(&ret->spec, &field) < 0) {
                fault(trial, FAULT_SPEC, field);
                return false;
        }
        if (env_lacks(env, &ret->spec) != SPEC_FIELD_NONE) {
                fault(trial, FAULT_SPEC, env_lacks(env, &ret->spec));
                return false;
        }
        return true;
}
