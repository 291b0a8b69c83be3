/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command that submits a node's job. Pure. */
#pragma once

#include <stdbool.h>
#include "cluster/engine.h"
#include "cluster/text.h"

typedef struct SbatchCommand {
        char name[64], time[40], partition[300], account[300], constraint[300];
        char *argv[20 + TEXT_OPTIONS_MAX];
} SbatchCommand;

/* name: of the job. words: of [Slurm] Options=. test: Slurm only says whether it would take the job. */
void sbatch_command(const EngineTerms *terms, const char *name, char *const words[], int n_words, bool test,
                SbatchCommand *ret);
