/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command that submits a node's job. Pure. */
#pragma once

#include <stdbool.h>
#include "cluster/engine.h"
#include "cluster/text.h"

typedef struct SbatchCommand {
        char name[64], time[40], partition[300], account[300], constraint[300];
        char exclude[ENGINE_AVOID_BYTES + 16];
        char *argv[21 + TEXT_OPTIONS_MAX];
} SbatchCommand;

/* Makes the command. name: the Slurm job's name. words: the options of [Slurm] Options=. avoid: hosts that
 * the job must not get, or "". test: Slurm only checks whether it would accept the job. */
void sbatch_command(const EngineTerms *terms, const char *name, char *const words[], int n_words,
                const char *avoid, bool test, SbatchCommand *ret);
