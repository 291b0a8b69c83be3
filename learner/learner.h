/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's learner: takes rollouts, learns, publishes, writes and restores checkpoints, one order at a
 * time. */
#pragma once

#include <stdio.h>

#include "include/launch.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/turn.h"
#include "learner/algorithm/algorithm.h"
#include "learner/store/batch.h"
#include "learner/episode-statistics.h"
#include "learner/curvature/curvature.h"
#include "learner/validation.h"
#include "learner/normaliser.h"
#include "learner/runtime-internal.h"
#include "learner/serve.h"
#include "lib/checkpoint/checkpoint.h"

typedef struct LearnerContext { /* exists when the program starts, and outlives the learner */
        const JobSettings *settings;
        const JobPage *page;
        WorkerPage *worker;
        void *policy;          /* the policy segment, mapped for writing */
        void *const *segments; /* [actors] */
        int state_fd, checkpoint_fd;
        uint32_t learner, n_learners; /* this learner's number; how many learners there are (0 means 1) */
        uint32_t n_updaters;          /* how many of the learners, from the first on, update parameters */
        void *reduce;                 /* memory that several learners share (lib/reduce.h) */
        /* an epoll of the actors' requests for actions; 0: actors act by themselves */
        int asks_fd;
} LearnerContext;

typedef struct Learner {
        LearnerContext context;
        const Algorithm *algorithm;
        Batch *batch;
        EpisodeStatistics *episodes;
        Validation *validation;
        Normaliser *observation, *discounted; /* the newest running statistics */
        Runtime *runtime;
        Serve *serve;         /* NULL: actors act by themselves */
        Curvature *curvature; /* NULL: it is not measured */
        uint64_t policy_version, round;
        uint32_t policy_bank; /* the bank of the newest version */
        uint32_t *banks;      /* for each rollout of the batch: the bank of the version that made it */
        uint64_t take_nsec;   /* CPU time since the last update: serving actors and taking rollouts */
        Statistics statistics;
        uint64_t reserved_bytes; /* kept free on the disk for the job's last checkpoint */
        int checkpoint_error;    /* of the newest checkpoint; 0: it was written */
        /* versions of the arithmetic that computed earlier rounds; a checkpoint has them as its
         * METADATA_ARITHMETIC_BEFORE */
        char arithmetic_before[128];
} Learner;

/* 0; -ENOMEM, -EFBIG: the job does not fit; -EINVAL: the page or the settings are not valid; -ENODEV: this
 * CPU lacks KernelClass=; or an error of a part, such as threads_new(). */
int learner_new(const LearnerContext *context, Learner **ret);
Learner *learner_free(Learner *learner);

/* Carries out one order and fills in the answer. Sentences about failures go to stderr. */
void learner_obey(Learner *learner, const Order *order, Answer *ret);

/* learner/publish.c: writes the newest policy into a bank. */
void learner_publish(Learner *learner, uint64_t policy_version, uint32_t policy_bank);
/* Hashes the policy: the parameters as floats, then mean, variance and count of the observations as doubles,
 * all little-endian. */
void learner_hash_policy(const Learner *learner, uint8_t ret_sha256[32]);
double learner_observation_clip(const JobSettings *settings); /* for PolicyHead; 0: not normalised */

/* learner/checkpoint/checkpoint.c, learner/checkpoint/restore.c: 0, or a negative errno after a sentence on
 * stderr. A reason why checkpoints fail is printed once, until it changes. A checkpoint that succeeds was
 * written, synced and read back, and its name is on the disk. */
int learner_write_checkpoint(Learner *learner, const Order *order, uint8_t ret_sha256[32]);
/* Reserves space for the job's last checkpoint, if the file system can. */
void learner_reserve_checkpoint(Learner *learner);
/* plays: as in Order. */
int learner_restore(Learner *learner, bool plays);

/* Lists the tensors of a checkpoint of this format, and where their numbers are in memory. Snapshots are in
 * bank banks[actor] (NULL: 0). The same list serves writing and reading. Returns the number of tensors,
 * below SAFETENSORS_ENTRIES_MAX. */
size_t learner_tensors(Learner *learner, unsigned format, const uint32_t *banks, TensorRow *ret);

/* learner/checkpoint/digest.c: hashes those tensors of a checkpoint that hold what the learner has
 * learned. */
void learner_hash_state(const TensorRow *rows, size_t n, uint8_t ret_sha256[32]);

/* Lists only the policy's parameters, for a file of parameters. */
size_t learner_parameters(Learner *learner, TensorRow *ret);

static inline void sha256_print(const uint8_t sha256[32], char ret[65]) {
        for (unsigned i = 0; i < 32; i++)
                (void) snprintf(ret + 2 * i, 3, "%02x", sha256[i]);
}
