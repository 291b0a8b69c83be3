/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes episodes as a data set in Minari's layout (lib/dataset/dataset.h), two files in a directory:
 * main_data.hdf5 and metadata.json. Call data_set_open(), data_set_describe(), then _begin(), _step() and
 * _end() for each episode, and data_set_commit(). The first error is kept, and the calls after it do
 * nothing; data_set_commit() reports it. */
#pragma once

#include <glib.h>

#include "actorctl/actorctl.h"
#include "actorctl/file.h"
#include "lib/dataset/dataset.h"
#include "lib/settings/settings.h"

typedef struct DataSet {
        const DatasetModule *module;
        const char *directory;
        char *data_path, *metadata_path;
        Aside data;
        void *writer; /* the module's open data file; NULL: there is no spec yet */
        ActordEnvSpec spec;
        GArray *observations, *actions, *rewards; /* doubles, of the episode that is being collected */
        GByteArray *terminations, *truncations;
        uint64_t n_episodes, n_steps;
        double mean; /* of returns */
        int error;
} DataSet;
#define DATA_SET_EMPTY ((DataSet){ .data = ASIDE_EMPTY })

/* STATUS_OK; or another status, with a message. Call data_set_done() in both cases. */
ExitStatus data_set_open(DataSet *set, const char *directory);
void data_set_done(DataSet *set);

/* Says what the numbers of observations and actions are. A second call changes nothing. */
void data_set_describe(DataSet *set, const ActordEnvSpec *spec);

typedef struct DataSetStep {
        const double *action,
                        *observation; /* as many numbers as the spec says; the observation after the step */
        double reward;
        bool terminated, truncated;
} DataSetStep;

/* n: how many numbers the first observation has */
void data_set_begin(DataSet *set, const double *observation, uint64_t n);
void data_set_step(DataSet *set, const DataSetStep *step);
void data_set_end(DataSet *set);

/* Completes both files, and prints how much they hold. STATUS_OK; or another status, with a message. */
ExitStatus data_set_commit(DataSet *set, const JobSettings *settings, bool quiet);
