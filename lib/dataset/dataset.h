/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recorded episodes in files: HDF5, in the layout of Minari (https://minari.farama.org), version 0.5. A file
 * has a group for each episode: episode_0, episode_1, ... The group of an episode of T steps has the
 * attributes id and total_steps, and the arrays
 *
 *   observations  [T + 1][shape of an observation]: before each step, and after the last one
 *   actions       [T][shape of an action]
 *   rewards       [T]
 *   terminations, truncations  [T]: whether the episode ended with that step
 *
 * The HDF5 library is large, so no program links it. Only the module dataset.so links it, and is loaded to
 * read or write such a file. A build without the library has no such module. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "include/actord/env.h"

#define DATASET_ABI      2u
#define DATASET_MODULE   "dataset.so"
#define DATASET_ENTRANCE "actord_dataset"

/* The most steps of an episode that is exported, or read for an environment without a horizon. */
#define DATASET_EPISODE_STEPS_MAX (UINT64_C(1) << 20)

/* All numbers are doubles, regardless of the element type of the space. */
typedef struct DatasetEpisode {
        uint64_t number, n_steps;
        const double *observations, *actions, *rewards;
        const uint8_t *terminations, *truncations;
} DatasetEpisode;

#define DATASET_EPISODES_MAX ((1u << 24) - 1) /* a file with more episodes is refused */

/* Episodes one after another. Each has one more observation than steps. If step i, counted over all
 * episodes, belongs to episode k, the observation before it is row i + k. All numbers are inside the
 * environment's spaces. */
typedef struct Dataset {
        uint64_t n_episodes, n_steps;
        uint64_t *first;     /* [n_episodes + 1]: the number of steps before each episode */
        float *observations; /* [n_steps + n_episodes][numbers of an observation] */
        float *actions;      /* [n_steps][numbers of an action] */
        double *rewards;     /* [n_steps] */
        uint8_t *ends;       /* [n_steps]: EndKind; the last step of an episode has one */
} Dataset;

/* X(name, words): why a file cannot be used. LACKS and the problems after it concern one episode. */
#define DATASET_PROBLEMS(X)                                                                                 \
        X(NONE, "")                                                                                         \
        X(NO_MODULE, "dataset.so does not load: this actord was built without libhdf5-dev, or libhdf5 is "  \
                     "not installed")                                                                       \
        X(NO_FILE, "it is not a whole HDF5 file")                                                           \
        X(EMPTY, "it has no group episode_0: is it main_data.hdf5 of Minari's layout?")                     \
        X(EPISODES, "it has more than 16,777,215 episodes")                                                 \
        X(MEMORY, "it needs more memory than [Actor] MemoryMax= gives")                                     \
        X(SLOTS, "it has fewer steps than the job has slots (MaxActors= times EnvsPerActor=)")              \
        X(STACKS, "the environment's observations are stacks of frames, which data sets do not have")       \
        X(LACKS, "it lacks observations, actions, rewards, terminations or truncations, as numbers")        \
        X(LENGTH, "it has no step, more steps than the environment allows, or arrays of different lengths") \
        X(SPACE, "the shape of its observations or actions is not the environment's")                       \
        X(OBSERVATION, "an observation is not finite, or is outside the environment's space")               \
        X(ACTION, "an action is not finite, or is outside the environment's space")                         \
        X(REWARD, "a reward is not finite, or is outside the environment's range")                          \
        X(END, "it has steps after a step that ends it")

typedef enum DatasetProblem {
#define X(name, words) DATASET_##name,
        DATASET_PROBLEMS(X)
#undef X
                        _DATASET_PROBLEM_MAX,
} DatasetProblem;

/* Packs a problem and its episode into one number (a detail), for a fault. */
static inline int32_t dataset_detail(DatasetProblem problem, uint64_t episode) {
        return (int32_t) ((uint32_t) problem << 24 | (uint32_t) (episode & DATASET_EPISODES_MAX));
}

typedef struct DatasetModule {
        uint32_t abi, struct_bytes;
        /* Writes into an existing file, and empties it first. The calls are: episodes in order, then the
         * end. The call for the end frees the writer, even if it fails. 0, -ENOMEM, -EIO. */
        int (*create)(const char *path, const ActordEnvSpec *spec, void **ret);
        int (*add)(void *writer, const DatasetEpisode *episode);
        int (*close)(void *writer);
        /* Reads a file from memory, for an environment with this spec, and checks the whole file. 0; or a
         * detail, as dataset_detail() makes it. *ret: free it with dataset_free(). */
        int32_t (*read)(const void *image, size_t n_bytes, const ActordEnvSpec *spec, Dataset **ret);
} DatasetModule;

/* This is inline, since the module for HDF5 and the programs that load the module call it. */
static inline Dataset *dataset_free(Dataset *dataset) {
        if (!dataset)
                return NULL;

        free(dataset->first);
        free(dataset->observations);
        free(dataset->actions);
        free(dataset->rewards);
        free(dataset->ends);
        free(dataset);
        return NULL;
}

/* The episode that a step belongs to. */
uint64_t dataset_episode(const Dataset *dataset, uint64_t step);
/* Explains an Answer's detail about a data set. *ret_episode: the episode that is wrong, or -1. NULL: the
 * detail names no problem. */
const char *dataset_problem(int32_t detail, int64_t *ret_episode);

/* Loads the module from this path. 0; -ENOENT: the module is missing, or does not load; -EPROTO: it is from
 * another build. */
int dataset_load(const char *path, const DatasetModule **ret);
