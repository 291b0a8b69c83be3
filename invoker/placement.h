/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts of a job that do not change: settings, sizes, shared memory, descriptors, sandboxes. They are
 * filled in while the job is prepared, and only read afterwards. progress.h has the state that changes. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "include/actord/env.h"
#include "include/fragment.h"
#include "include/launch.h"
#include "include/slot.h"
#include "include/trial.h"
#include "include/turn.h"
#include "invoker/cgroup.h"
#include "lib/dataset/dataset.h"

typedef struct Sandbox Sandbox;

/* How a round is conducted under the job's distribution. The invoker uses these traits, and knows no
 * distribution by name. */
typedef struct Traits {
        /* The learner's OrderKind while actors make their rollouts. NONE: actors act by themselves; SERVE:
         * the learner acts for them; ROLLOUT: the learner's process steps all environments, and no container
         * trains */
        uint32_t rolls_with;
        uint32_t acting_phases; /* Phases, as bits, in which actors have orders */
        /* a round learns from one actor that is ready, and the others go on acting */
        bool overlaps;
} Traits;

/* For LAUNCH_TRIAL: what the next actor tries. Such an actor gets no orders. */
typedef struct TrialOrder {
        const TrialRequest *request;
        uint32_t point; /* CHECK: TrialPoint_ */
        bool inside;    /* run the trial in the sandbox; outside only an administrator's code may run */
} TrialOrder;

/* Descriptors with low numbers, which the invoker lends to each new actor for a moment (fork.c). */
typedef enum Lent {
        LENT_BELL,
        LENT_ASK,
        LENT_RELAY,
        LENT_APART, /* the eventfd of SandboxEntry.apart_fd */
        _LENT_MAX,
} Lent;

typedef struct Placement {
        const Invoked *invoked;
        const JobSettings *settings;
        const JobSettings *inner; /* of the inner job of Environment=job:FILE; NULL: there is none */
        const JobPage *page;
        const TrialOrder *trial; /* NULL: this is a job and not a trial */
        const Distribution *distribution;
        Traits traits;
        uint32_t n_actors, n_containers, n_learners, n_cpus;
        /* how many further containers there are, which only play the evaluations of a job that trains */
        uint32_t n_evaluators;
        uint64_t n_episodes;     /* in an evaluation */
        uint32_t level, missing; /* a SandboxLevel; bits of Limit */

        const ActordEnv *env;                /* NULL: it is a plugin, which loads inside the sandbox */
        const DatasetModule *dataset_module; /* NULL: there is no data set */
        const void *dataset;                 /* the file's bytes, which only actors read */
        uint64_t dataset_bytes;
        const char *plugin_path; /* a plugin's path inside the sandbox */
        FusedRun run_acting;     /* the function that a learner runs if it also acts */
        Sandbox *actor_sandbox, *learner_sandbox, *relay_sandbox;
        Cgroup cgroup;
        int proc_fd;
        int lent_fds[_LENT_MAX]; /* those that are not lent are duplicates of LENT_APART */

        int page_fd, policy_fd;
        int policy_read_fd; /* the same file for reading only; without /proc, policy_fd once it is sealed */
        int *segment_fds;   /* [n_actors] */
        /* asks_fd: an epoll of the eventfds that actors signal; stop_fd: the invoker's own eventfd in this
         * epoll; -EBADF: actors act by themselves */
        int asks_fd, stop_fd;
        int reduce_fd; /* shared by several learners; -EBADF: there is one learner */
} Placement;

#define PLACEMENT_EMPTY                                                                                \
        {                                                                                              \
                .cgroup = { .fd = -EBADF }, .proc_fd = -EBADF, .page_fd = -EBADF, .policy_fd = -EBADF, \
                .policy_read_fd = -EBADF, .asks_fd = -EBADF, .stop_fd = -EBADF, .reduce_fd = -EBADF,   \
                .lent_fds = { -EBADF, -EBADF, -EBADF, -EBADF },                                        \
        }

static inline bool place_trains(const Placement *place) {
        return place->invoked->launch.purpose == LAUNCH_TRAIN;
}

/* The descriptor of the file or directory that is mounted at `at` in an actor's root; -EBADF: there is
 * none. */
static inline int place_mount_fd(const Placement *place, const char *at) {
        const Launch *launch = &place->invoked->launch;

        for (uint32_t i = 0; i < launch->n_mounts; i++)
                if (strcmp(launch->mounts[i].at, at) == 0)
                        return INVOKER_FD_MOUNTS + (int) i;
        return -EBADF;
}

/* Whether the learner's process also steps environments. */
static inline bool place_fuses(const Placement *place) {
        return place->traits.rolls_with == ORDER_ROLLOUT;
}

static inline uint32_t containers_all(const Placement *place) {
        return place->n_containers + place->n_evaluators;
}

static inline uint64_t timeout_nsec(const Placement *place) {
        uint64_t nsec;

        return __builtin_mul_overflow(place->settings->timeout_usec, 1000u, &nsec) ? UINT64_MAX / 2 : nsec;
}
