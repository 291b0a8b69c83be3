/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From actorctl to the invoker, through the spawner (LAUNCH_TRIAL): a request to show, roll out, check or
 * measure one environment, without a job. The request is sealed memory. The answer is a sequence of records
 * in a pipe, and a verdict. A plugin's process may have written a record, so records are not trusted. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include "include/actord/env.h"
#include "include/launch.h"

#define TRIAL_ABI 6u
#define TRIAL_RECORD_BYTES_MAX (256u << 20)

/* A trial has no job, so its descriptors take the places of descriptors that only a job needs. The seed and
 * the environment's options are in the settings. */
typedef enum TrialFd {
        /* memfd: TrialVerdict, which the invoker writes at the end */
        TRIAL_FD_VERDICT = INVOKER_FD_STATE,
        TRIAL_FD_ROWS = INVOKER_FD_SOCKET,      /* pipe: TrialRecords, each followed by its body */
        /* sealed memfd: TrialRequest, then arrays of doubles: n_state numbers, n_actions actions of
         * action_numbers numbers each, n_policy numbers */
        TRIAL_FD_REQUEST = INVOKER_FD_CHECKPOINT,
} TrialFd;

typedef enum TrialKind {
        TRIAL_SHOW,             /* one SPEC */
        TRIAL_CATALOGUE,        /* a SPEC for each environment that has a name and is installed */
        TRIAL_ROLLOUT,          /* SPEC, then RESET and STEP */
        TRIAL_CHECK,            /* a POINT for each TrialPoint_ */
        TRIAL_BENCH,            /* many RATEs */
        /* SPEC; then, for each episode of an evaluation, its PICTUREs or FRAMEs, and EPISODE */
        TRIAL_PLAY,
        TRIAL_PLAY_STEPS,       /* like PLAY, with a RESET and STEPs instead of pictures */
        TRIAL_PLAY_EPISODES,    /* like PLAY, with EPISODEs only */
        _TRIAL_KIND_MAX,
} TrialKind;

typedef enum TrialActions {
        TRIAL_ACTIONS_RANDOM,
        TRIAL_ACTIONS_ZERO,
        TRIAL_ACTIONS_GIVEN,
        _TRIAL_ACTIONS_MAX,
} TrialActions;

typedef struct TrialRequest {
        uint32_t abi, struct_bytes;
        uint32_t kind, actions;                 /* TrialKind, TrialActions; PLAY...: the last three kinds */
        /* ROLLOUT: how many steps; BENCH: steps of one run, or 0: as many as fit in the time of a run;
         * PLAY...: the most steps of an episode, or 0: no limit */
        uint64_t n_steps;
        /* ROLLOUT: whether the state is sent after each step, too; how many numbers one given action has */
        uint32_t each_state, action_numbers;
        uint64_t n_actions;
        /* the count of numbers of the states at which episodes begin, or 0: reset() begins them. ROLLOUT has
         * one state, for its first episode; PLAY... has a state for each of n_episodes. each_picture, for
         * ROLLOUT: whether a PICTURE or FRAME follows each RESET and STEP */
        uint32_t n_state, each_picture;
        /* PLAY...: how many episodes, and how many numbers the policy has: TrialPolicyNumber, then means,
         * inverse deviations, parameters, and those of critics that choose among candidates */
        uint64_t n_episodes, n_policy;
} TrialRequest;

typedef enum TrialRecordKind {
        TRIAL_SPEC,
        TRIAL_RESET,
        TRIAL_STEP,
        TRIAL_POINT,
        TRIAL_RATE,
        TRIAL_PICTURE,
        TRIAL_FRAME,
        TRIAL_EPISODE,
        _TRIAL_RECORD_MAX,
} TrialRecordKind;

typedef struct TrialRecord { uint32_t kind, n_bytes; } TrialRecord;

typedef struct TrialSpec {
        ActordEnvSpec spec;
        uint32_t n_parts, level;                /* SandboxLevel */
        ActordStatePart parts[ACTORD_STATE_PARTS];
} TrialSpec;

typedef enum TrialPolicyNumber {
        TRIAL_POLICY_CLIP,
        TRIAL_POLICY_EPSILON,
        _TRIAL_POLICY_NUMBER_MAX,
} TrialPolicyNumber;

/* PICTURE: an ActordView, then its ActordShapes. FRAME: an ActordFrame, then its pixels. RESET: doubles of
 * the state (only of a ROLLOUT), then of the observation. STEP: a TrialStep, then doubles of the action, the
 * observation and, if asked for, the state. */
typedef struct TrialStep {
        double reward;
        uint32_t terminated, truncated;
} TrialStep;

typedef struct TrialEpisode {
        uint64_t episode, n_steps;
        double episode_return;
        uint32_t terminated;
        /* with an envelope (lib/regulation.h): whether the first state was inside, how many steps broke the
         * monitor's bound, and how many ended outside */
        uint32_t began_inside, n_violations, n_outside;
} TrialEpisode;

/* X(NAME, promise) */
#define TRIAL_POINTS(X)                                                                        \
        X(SPEC, "it loads, and its spec is possible")                                          \
        X(OPTIONS, "it refuses unknown options")                                               \
        X(SHAPES, "reset() and step() fill the whole observation and result")                  \
        X(RANGES, "observations, rewards and ends are as its spec says")                       \
        X(BOUNDS, "it accesses nothing outside its memory")                                    \
        X(RESETS, "it can be reset at any time, and then begins afresh")                       \
        X(DETERMINISM, "equal seeds and actions give equal episodes, whatever runs beside it") \
        X(SNAPSHOTS, "an instance restored from a snapshot continues as the original")         \
        X(STATE, "its physical state can be read and set")                                     \
        X(LEAKS, "100,000 steps leave its memory as large as it was")

enum TrialPoint_ {
#define X(name, promise) TRIAL_POINT_##name,
        TRIAL_POINTS(X)
#undef X
        _TRIAL_POINT_MAX,
};

/* X(NAME, sentence): the detail replaces %d in the sentence. */
#define TRIAL_FINDINGS(X)                                                                               \
        X(KEPT, "%d")                                                                                   \
        X(STICKY, "it is sticky and takes no snapshots")                                                \
        X(STATELESS, "it shows no physical state")                                                      \
        X(FAULT, "%d")                                                                                  \
        X(NOT_TRIED, "not tried, because point %d failed")                                              \
        X(NONSENSE, "spec() accepted Nonsense=1: return -EINVAL for keys that it does not know")        \
        X(ERROR, "one of its functions returned error %d")                                              \
        X(RESET_PART, "reset() left byte %d of the observation as it was")                              \
        X(STEP_PART, "step() left byte %d of the observation as it was")                                \
        X(RESULT_PART, "step() left byte %d of its result as it was: write all of *ret")                \
        X(NOT_FINITE, "number %d of an observation is not finite")                                      \
        X(OUTSIDE, "number %d of an observation is outside the range that the spec gives")              \
        X(REWARD, "the reward of step %d is not finite, or outside the range that the spec gives")      \
        X(FLAGS, "terminated or truncated is neither 0 nor 1 after step %d")                            \
        X(TRUNCATED, "step %d is truncated, but the spec lacks ACTORD_ENV_TRUNCATES")                   \
        X(BEYOND_INSTANCE, "it accessed memory outside its instance of %d bytes")                       \
        X(BEYOND_OBSERVATION, "it accessed memory outside the observation of %d bytes")                 \
        X(BEYOND_SNAPSHOT, "it accessed memory outside the snapshot of %d bytes")                       \
        X(REMEMBERS, "after a reset a used instance differs from a new one at step %d")                 \
        X(PARTS, "two runs with one seed differ at step %d: is there state outside the instance?")      \
        X(SNAPSHOT_PARTS,                                                                               \
                "it differs from the original %d steps after restore(): the snapshot lacks some state") \
        X(STATE_PARTS, "state_parts() describes an impossible state (%d)")                              \
        X(STATE_DIFFERS, "get_state() after set_state() gives another number %d")                       \
        X(GROWS, "its memory grew by %d bytes")                                                         \
        X(METRIC, "number %d of an episode's metrics is beyond 3.4e38; use NaN where there is none")    \
        X(AGENT_ENDS, "the episode of agent %d ends at another step than that of agent 0")              \
        X(ACTIVE, "active() says after step %d that no agent is there, or gives neither 0 nor 1 for one")

typedef enum TrialFinding {
#define X(name, sentence) TRIAL_FINDING_##name,
        TRIAL_FINDINGS(X)
#undef X
        _TRIAL_FINDING_MAX,
} TrialFinding;

typedef struct TrialPoint {
        uint32_t point, finding;
        uint32_t fault;                         /* with FINDING_FAULT: a Fault */
        int32_t detail;
} TrialPoint;

typedef struct TrialRate {
        /* whether the run was inside the sandbox, and at which level */
        uint32_t inside, level;
        double steps_per_second;
} TrialRate;

/* X(NAME, sentence): why a trial ended early. The detail replaces %d. */
#define TRIAL_PROBLEMS(X)                                                                                 \
        X(NONE, "%d")                                                                                     \
        X(FAULT, "%d")                                                                                    \
        X(STATE, "it has no physical state of that shape: --state needs %d numbers")                      \
        X(STATE_REFUSED, "it refuses that state (error %d)")                                              \
        X(ACTION_NUMBERS, "the count of numbers in one of its actions is %d")                             \
        X(ACTION_VALUE, "action %d is not one of its actions")                                            \
        X(PICTURE, "it does not draw itself: plugins do with draw() or paint() of actord/env.h")          \
        X(FRAME_BAD, "its picture is invalid: a side of %d pixels")                                       \
        X(PICTURE_BAD, "the picture of its draw() is invalid: %d shapes, or numbers that are not finite") \
        X(POLICY, "the checkpoint's network does not fit it: %d numbers are needed")                      \
        X(SETUP, "%d")                                                                                    \
        X(AGENTS, "a data set has one agent, and the environment has %d")

typedef enum TrialProblem {
#define X(name, sentence) TRIAL_PROBLEM_##name,
        TRIAL_PROBLEMS(X)
#undef X
        _TRIAL_PROBLEM_MAX,
} TrialProblem;

/* The answers of the process that tries the environment (include/turn.h); hostile if a plugin wrote them. */
typedef struct TrialPage {
        _Atomic uint64_t progress;              /* grows with each step; if it does not, the plugin hangs */
        /* the process came to its proper end; the exit status does not show this, since a plugin may call
         * exit(0) anywhere */
        uint32_t finished;
        uint32_t problem, finding;
        uint32_t fault;
        int32_t detail;
        double rate;
} TrialPage;

typedef struct TrialVerdict {
        /* 1: the trial came to its end, and the other members are set */
        uint32_t done;
        uint32_t problem, fault;
        int32_t detail;
} TrialVerdict;

static_assert(sizeof(TrialRequest) == 64, "ABI");
static_assert(sizeof(TrialSpec) == sizeof(ActordEnvSpec) + 8 + 8 * sizeof(ActordStatePart), "ABI");
static_assert(sizeof(TrialStep) == 16, "ABI");
static_assert(sizeof(TrialEpisode) == 40, "ABI");
static_assert(sizeof(TrialPoint) == 16, "ABI");
static_assert(sizeof(TrialRate) == 16, "ABI");
static_assert(sizeof(TrialVerdict) == 16, "ABI");
