/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared memory between invoker, actor and learner. A *slot* is one environment's place in the job, with the
 * state that goes from invocation to invocation. A *segment* is the memfd of one actor, with the actor's
 * slots. The invoker computes layouts once, from the checked spec and the settings (pure functions of
 * lib/slot.c), and stores them in the sealed job page. No program ever reads a layout from a segment, since
 * an actor can write there.
 *
 * Segments hold only raw data. The learner alone scales, discounts and sums it, and computes episode returns
 * from rewards and ends. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "include/actord/env.h"
#include "include/policy.h"

#define SLOT_ABI 10u
#define JOB_PAGE_MAGIC 0x65676170626f6a00ull
#define SEGMENT_BYTES_MAX (4ull << 30)
#define SNAPSHOT_BYTES_MAX (64ull << 20)
#define INSTANCE_BYTES_MAX (1ull << 30)

typedef enum EndKind { END_NOT, END_TERMINATED, END_TRUNCATED } EndKind;

/* Bytes from the segment's start. T = rollout steps, E = environments of the actor; [t][e] means row t * E +
 * e. */
typedef struct SegmentLayout {
        /* the slots of an actor, and the steps of an invocation. An environment with several agents has a
         * slot for each agent, one after another */
        uint32_t envs, steps;
        uint32_t agents, reserved;              /* of an environment */
        /* [K - 1 + T + 1][E][frame_bytes] raw. Before row 0 there are K - 1 rows with the older frames of
         * row 0's stack; row T follows the last step. lib/slot.h finds stacks */
        uint64_t observations_at;
        uint64_t observation_bytes;             /* of one observation; the spec says its element */
        /* of one frame; a row stores only the newest frame of its stack, and the older frames are in earlier
         * rows */
        uint64_t frame_bytes;
        /* K, how many frames a stack has; 1: observations are not stacks, and a frame is a whole
         * observation */
        uint64_t frames;
        uint64_t actions_at, action_bytes;      /* [T][E]: i32 [n]; or float [n] as sampled, not clipped */
        uint64_t rewards_at;                    /* double [T][E] */
        uint64_t log_probabilities_at;          /* float [T][E], by the policy that acted */
        uint64_t ends_at;                       /* uint8_t [T][E]: EndKind */
        /* double [T][E][n_metrics]: the metrics of an episode, in the row in which it ended; other rows are
         * undefined */
        uint64_t metrics_at, n_metrics;
        /* uint8_t [T + 1][E], for agents that come and go: 1: the agent is present before the step.
         * active_at 0: all agents are always present, and there is no such column */
        uint64_t active_at;
        /* [finals_max][frame_bytes]: the last frame of each truncated episode, in (t, e) order, from which a
         * truncation bootstraps */
        uint64_t finals_at;
        uint64_t finals_max;
        /* two banks of E / agents snapshots: an invocation reads one and writes the other */
        uint64_t snapshots_at[2];
        /* a snapshot: for each agent SlotState and the slot's current raw observation, slot_stride bytes
         * together; then snapshot_bytes; each rounded up to 64 */
        uint64_t snapshot_stride, slot_stride;
        uint64_t snapshot_bytes;
        /* the state of exploration noise (lib/noise.h), at the end of each slot_stride */
        uint64_t carried_bytes;
        uint64_t exchange_at;                   /* an Exchange, if the learner acts for the actor */
        uint64_t segment_bytes;                 /* a multiple of the page size */
} SegmentLayout;

/* In an episode with a controller (lib/regulation.h): steps that broke the monitor's bound, and steps that
 * ended outside of the envelope. */
typedef struct RegulationCounts { uint32_t n_violations, n_outside; } RegulationCounts;

/* A slot's snapshot is a SlotState, then the observation for the action of its next step, then the
 * environment's own bytes. (An environment returns an observation only when it resets or steps.) lib/slot.h
 * finds the parts. */
typedef struct SlotState {
        /* the ordinal of the slot's current episode, from 1; 0: none has begun yet */
        uint64_t episode;
        uint64_t elapsed_steps;                 /* of the current episode */
        /* the episode ended with the last step, so a reset comes first */
        uint8_t needs_reset;
        uint8_t reserved[3];
        RegulationCounts counts;                /* of the current episode */
        uint8_t reserved_2[36];
} SlotState;
static_assert(sizeof(SlotState) == 64, "snapshots stay aligned");

/* A request for the actions of one step, and its answer. Only lib/exchange.c uses these words. The step's
 * observations must be in the segment before `asked` is written, and its actions and log-probabilities
 * before `answered` is written. An actor that was restarted asks again from step 0. Actions depend only on
 * (slot, ordinal, step), so it gets the same actions. */
typedef struct Exchange {
        _Atomic uint32_t asked;                 /* the number of the newest request */
        /* atomic, since a hostile actor may write it while the learner reads it */
        _Atomic uint32_t step;
        _Atomic uint64_t ordinal;
        /* set by the actor before it sleeps on `answered`: the learner must wake it */
        _Atomic uint32_t parked;
        uint8_t pad0[44];
        _Atomic uint32_t answered;              /* becomes equal to asked */
        /* set by the learner before it sleeps: the actor must signal its eventfd */
        _Atomic uint32_t asleep;
        uint8_t pad1[56];
} Exchange;
static_assert(offsetof(Exchange, answered) == 64 && sizeof(Exchange) == 128, "one cache line for each side");

typedef struct JobPage {                        /* sealed, read-only for actors and learner */
        uint64_t magic;
        uint32_t abi, struct_bytes;
        ActordEnvSpec spec;                     /* checked; its observation is the one that policies read */
        /* how many numbers of an observation the environment writes; lib/company.c writes the others */
        uint64_t n_own;
        SegmentLayout segment;
        PolicyLayout policy;
        Network network;
        /* of the critics that choose among candidates; n_layers 0: there is one candidate */
        Network judge;
} JobPage;
