/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/sbatch.h"

#include <inttypes.h>
#include <stdio.h>

/* Asks for one whole node. Slurm must not requeue the job: the head itself replaces a lost node by one with
 * a new number. */
void sbatch_command(const EngineTerms *terms, const char *name, char *const words[], int n_words,
                const char *avoid, bool test, SbatchCommand *ret) {
        size_t n = 0;

        ret->argv[n++] = (char *) "sbatch";
        ret->argv[n++] = (char *) (test ? "--test-only" : "--parsable");
        (void) snprintf(ret->name, sizeof(ret->name), "--job-name=%s", name);
        ret->argv[n++] = ret->name;
        ret->argv[n++] = (char *) "--nodes=1";
        ret->argv[n++] = (char *) "--exclusive";
        ret->argv[n++] = (char *) "--mem=0";
        ret->argv[n++] = (char *) "--no-requeue";
        ret->argv[n++] = (char *) "--export=NONE";
        ret->argv[n++] = (char *) "--chdir=/";
        ret->argv[n++] = (char *) "--output=/dev/null";
        (void) snprintf(ret->time, sizeof(ret->time), "--time=%" PRIu64, (terms->time_limit_sec + 59) / 60);
        if (terms->time_limit_sec > 0)
                ret->argv[n++] = ret->time;
        (void) snprintf(ret->partition, sizeof(ret->partition), "--partition=%.256s", terms->partition);
        if (terms->partition[0])
                ret->argv[n++] = ret->partition;
        (void) snprintf(ret->account, sizeof(ret->account), "--account=%.256s", terms->account);
        if (terms->account[0])
                ret->argv[n++] = ret->account;
        (void) snprintf(ret->constraint, sizeof(ret->constraint), "--constraint=%.256s", terms->constraint);
        if (terms->constraint[0])
                ret->argv[n++] = ret->constraint;
        (void) snprintf(ret->exclude, sizeof(ret->exclude), "--exclude=%.511s", avoid);
        if (avoid[0])
                ret->argv[n++] = ret->exclude;
        for (int i = 0; i < n_words; i++)
                ret->argv[n++] = words[i];
        ret->argv[n] = NULL;
}
