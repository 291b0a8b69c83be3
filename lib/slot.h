/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts of shared memory, computed once from checked input, and the checks of a spec that a plugin wrote.
 * Pure. */
#pragma once

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "include/policy.h"
#include "include/settings.h"
#include "include/slot.h"

#define SPACE_NUMBERS_MAX (UINT64_C(1) << 24) /* the most numbers in one observation or action */
#define SPACE_CHOICES_MAX (UINT32_C(1) << 20)
#define HORIZON_STEPS_MAX \
        (UINT32_C(1) << 24) /* the most steps of an episode: streams are named by step, with 24 bits */

/* X(NAME, words): the checks that a spec can fail. Numbers are kept in records: append, never renumber. */
#define SPEC_FIELDS(X)                                                                                      \
        X(NONE, "nothing")                                                                                  \
        X(NAME, "name: empty, not terminated, or not printable ASCII")                                      \
        X(OBSERVATION_KIND, "observation.kind: not a kind of space")                                        \
        X(OBSERVATION_ELEMENT, "observation.element: not one that this kind of space has")                  \
        X(OBSERVATION_SHAPE, "observation.shape or n_dims: no numbers, or too many")                        \
        X(OBSERVATION_CHOICES, "observation.n_choices: none, or too many")                                  \
        X(OBSERVATION_BOUNDS, "observation.low or high: not numbers, or low is above high")                 \
        X(ACTION_KIND, "action.kind: not a kind of space")                                                  \
        X(ACTION_ELEMENT, "action.element: must be I32 for choices, F32 for a BOX")                         \
        X(ACTION_SHAPE, "action.shape or n_dims: no numbers, or too many")                                  \
        X(ACTION_CHOICES, "action.n_choices: none, or too many")                                            \
        X(ACTION_BOUNDS, "action.low or high: not numbers, or low is above high")                           \
        X(HORIZON, "horizon_steps: longer than 16,777,216")                                                 \
        X(AGENTS, "n_agents: not from 1 to 64")                                                             \
        X(REWARD, "reward_low or reward_high: not numbers, or low is above high")                           \
        X(INSTANCE, "instance_bytes: more than 1 GiB")                                                      \
        X(SNAPSHOT, "snapshot_bytes: more than 64 MiB, or not 0 for a sticky environment")                  \
        X(FLAGS, "flags: unknown bits")                                                                     \
        X(VALUES, "action.kind: dqn needs discrete actions; ppo, a2c, impala or impact would work")         \
        X(STORE, "observation.shape: the steps that ReplaySize= or BufferBatches= keeps need more than "    \
                 "MemoryMax= of [Learner]")                                                                 \
        X(IMAGE, "observation.shape: Convolutions= needs an image of two or three dimensions, and no "      \
                 "kernel may be larger than its input")                                                     \
        X(SIZE, "observation.shape: the network (Convolutions=, HiddenLayers=, Candidates=) or a segment "  \
                "(RolloutSteps=, EnvsPerActor=) is too large")                                              \
        X(OTHER, "the spec has changed since the job began: it must depend on the options alone, and its "  \
                 "files must not change")                                                                   \
        X(STACK, "stack: must be from 2 to 16 frames, and equal the first of the two or more sizes of a "   \
                 "BOX")                                                                                     \
        X(BANKS, "observation.shape: a version of this network for each actor (MaxActors=) needs more "     \
                 "than 4 GiB under [Distribution] Policy=async")                                            \
        X(CONTINUOUS, "action.kind: Algorithm= needs continuous actions; ppo, a2c, impala, impact or dqn "  \
                      "would work, and bc with Dataset=")                                                   \
        X(BOUNDED, "action.low or high: Algorithm= scales actions to these bounds, which must be finite "   \
                   "and different; ppo, a2c, impala or impact would work")                                  \
        X(EDITED, "observation or action: LinkEditing= needs a 0 or 1 for each augmented input of a "       \
                  "critic, 36 at most, and a 1 among them")                                                 \
        X(PAIRS, "flags: sticky, but rebel begins two rollouts from one snapshot; ppo would work")          \
        X(PAIRED_STACK, "stack: rebel copies one environment's state into another, and the state has no "   \
                        "older frames; ppo would work")                                                     \
        X(REGULATION, "observation, action, n_agents, stack or metrics: EnvelopeP= and ControllerF= need "  \
                      "one agent, no stack, BOXes of their sizes, and room for the metrics violations and " \
                      "outside")                                                                            \
        X(METRICS, "n_metrics or metrics: more than 8, a name that is not a small letter and then at most " \
                   "22 small letters, digits and _, a name twice, or no function metrics()")                \
        X(SLOTS, "n_agents: each agent has a slot, so [Actor] EnvsPerActor= must be a multiple of it")      \
        X(PAIRED_AGENTS, "n_agents: rebel compares rollouts of one agent; ppo would work")                  \
        X(COMPANY, "observation: simppo takes means over agents and mappo joins them, which need a BOX of " \
                   "float32 that is no stack of frames; ppo would work")                                    \
        X(ACTIVE, "flags: agents come and go (ACTORD_ENV_COME_AND_GO), and there is no function active()")  \
        X(SHARED, "n_shared: more than 16,777,216 numbers, or no function shared()")                        \
        X(COMING, "flags: agents come and go, and what Algorithm= keeps of earlier rounds has no room for " \
                  "that; ppo, a2c, impala, simppo or mappo would work")                                     \
        X(SEVERAL, "action.kind: an action is several choices (MULTI_DISCRETE), and Algorithm= learns "     \
                   "one, or numbers; ppo, a2c, impala, impact or rebel would work, and bc with Dataset=")   \
        X(ACTION_SIZES, "action_choices: a MULTI_DISCRETE action has at most 64 numbers, and each of them " \
                        "1 to 1,048,576 choices")                                                           \
        X(EDITED_POLICY, "observation: PolicyLinkEditing= needs a 0 or 1 for each augmented input of the "  \
                         "policy, 36 at most, and a 1 among them")                                          \
        X(CURVATURE, "observation.shape: a measurement of the curvature keeps CurvatureSteps= vectors and " \
                     "one more, of 8 bytes for each parameter, which need more than MemoryMax= of "         \
                     "[Learner]")

typedef enum SpecField {
#define X(name, words) SPEC_FIELD_##name,
        SPEC_FIELDS(X)
#undef X
                        _SPEC_FIELD_MAX,
} SpecField;

const char *spec_field_to_string(int field); /* "horizon_steps: longer than ..."; NULL: out of range */

/* Checks a spec. 0, or -EINVAL with *ret_field: the number of the first impossible field (FAULT_SPEC's
 * detail). */
int spec_check(const ActordEnvSpec *spec, int *ret_field);

/* Whether an environment has optional functions: those for the physical state, draw() for a picture of
 * shapes, paint() for a frame of pixels. environment_check() must have accepted `env`. */
bool env_has_state(const ActordEnv *env);
bool env_has_picture(const ActordEnv *env);
bool env_has_frame(const ActordEnv *env);
/* The first function that the spec requires and `env` lacks; SPEC_FIELD_NONE: `env` has them all. */
SpecField env_lacks(const ActordEnv *env, const ActordEnvSpec *spec);
/* Writes for each agent whether it is present in the current state: all are if agents never leave. 0; the
 * error of active(); or -EPROTO: active() reported that no agent is present, or a value other than 0 and 1.
 * If agents may leave, `env` must have active(). */
int env_active(const ActordEnv *env, const ActordEnvSpec *spec, const void *instance, uint8_t *ret);

/* Gets the spec->n_metrics metrics of an episode that has ended; the reader must check them. `env` must have
 * metrics(). 0, or the error of metrics(). */
int env_metrics(const ActordEnv *env, const ActordEnvSpec *spec, const void *instance, double *ret);
/* Whether the number is in -FLT_MAX .. FLT_MAX, or a NaN, which stands for a missing figure. So means and
 * deviations of such numbers are finite, and fit the 32-bit numbers of other tools' files. */
static inline bool metric_possible(double x) {
        return !(fabs(x) > (double) FLT_MAX);
}

/* The name of a package that an environment lacks, in a record: a letter or _, then letters, digits, _ . and
 * -; padded with zeros. */
#define PACKAGE_NAME_BYTES 32u
bool package_name_possible(const char name[PACKAGE_NAME_BYTES]);

/* Whether this may be a metric's name: a lower-case letter, then lower-case letters, digits and _. */
bool metric_name_possible(const char name[ACTORD_METRIC_BYTES]);

/* Checks a picture. 0; -EINVAL: draw() did not write a valid one. Reads only the first view->n_shapes, at
 * most ACTORD_SHAPES_MAX. */
int picture_check(const ActordView *view, const ActordShape *shapes);

/* frame_check(): 0; -EINVAL: paint() gave an impossible size or duration of a step. frame_bytes(): the size
 * of its pixels. */
int frame_check(const ActordFrame *frame);
size_t frame_bytes(const ActordFrame *frame);

size_t element_bytes(uint32_t element); /* ActordElement; 0: unknown */

/* The count of numbers in one value of the space. It is inline because the module of data sets links no file
 * of lib/. */
static inline uint64_t space_numbers(const ActordSpace *space) {
        uint64_t n = 1;

        assert(space);

        if (space->kind == ACTORD_DISCRETE)
                return 1;

        for (uint32_t i = 0; i < space->n_dims && i < 4; i++)
                if (__builtin_mul_overflow(n, (uint64_t) space->shape[i], &n))
                        return UINT64_MAX;
        return n;
}

/* How many choices number k of an action has. The space must not be a BOX. */
static inline uint32_t spec_choices(const ActordEnvSpec *spec, uint64_t k) {
        assert(spec->action.n_choices > 0 || k < ACTORD_CHOICES_MAX);

        return spec->action.n_choices > 0 ? spec->action.n_choices : spec->action_choices[k];
}

/* The length of an action as a network's vector: the numbers of a BOX; otherwise, for each number, an
 * element per choice. */
static inline uint64_t spec_action_numbers(const ActordEnvSpec *spec) {
        uint64_t n = space_numbers(&spec->action), sum = 0;

        if (spec->action.kind == ACTORD_BOX)
                return n;
        for (uint64_t k = 0; k < n; k++)
                sum += spec_choices(spec, k);
        return sum;
}

/* pairs: environments take over each other's state (lib/pair.h). 0; -E2BIG: the segment would exceed
 * SEGMENT_BYTES_MAX; -EUSERS: envs is not a multiple of the environment's agents; -EINVAL: the spec is not
 * valid, or envs or steps is 0. */
int segment_layout(const ActordEnvSpec *spec, uint32_t envs, uint32_t steps, bool pairs,
                uint64_t carried_bytes, SegmentLayout *ret);
/* judge NULL or without layers: no critics are published. */
int policy_layout(const Network *network, const Network *judge, uint32_t n_banks, PolicyLayout *ret);

/* Makes the whole page: spec_check, network_derive, layouts. 0, -E2BIG, -EINVAL; -EFBIG: the policy versions
 * that may be in use at once do not fit; -EOPNOTSUPP: the algorithm needs discrete actions; -EUSERS: the
 * slots of an actor are not a multiple of the environment's agents; -EPROTOTYPE: the algorithm needs
 * continuous actions; -ERANGE: they need bounds; -EDOM: the observation is not an image, or is too small for
 * the convolutions; -ENOSPC: the data that is kept from round to round does not fit the learner's
 * MemoryMax=; -ENOBUFS: the vectors of CurvatureSteps= do not fit it; -ESPIPE: the algorithm needs
 * snapshots; -ENOSTR: it accepts no stacks of frames; -EMULTIHOP: it accepts only one agent; -ENOTUNIQ: it
 * accepts no agents that come and go; -EILSEQ, -EBADR: LinkEditing= or PolicyLinkEditing= does not fit;
 * -ECHRNG: it joins observations of agents, which must be floats and no stack of frames; -EXDEV: the
 * controller's matrices or metrics do not fit (regulation_spec()); -EDOTDOT: it cannot learn actions of
 * several choices. */
int job_page_make(const JobSettings *settings, const ActordEnvSpec *spec, JobPage *ret);

/* The slot of environment `e` in a bank: its state, the raw observation for the action of its next step, and
 * the environment's own bytes. */
static inline SlotState *segment_snapshot(void *segment, const SegmentLayout *l, uint32_t bank, uint32_t e) {
        assert(l->agents > 0);

        return (SlotState *) ((uint8_t *) segment + l->snapshots_at[bank & 1] +
                              e / l->agents * l->snapshot_stride + e % l->agents * l->slot_stride);
}

/* The state of a slot's noise: lib/noise.h. */
static inline void *segment_snapshot_carried(
                void *segment, const SegmentLayout *l, uint32_t bank, uint32_t e) {
        return (uint8_t *) segment_snapshot(segment, l, bank, e) + l->slot_stride - l->carried_bytes;
}

static inline void *segment_snapshot_observation(
                void *segment, const SegmentLayout *l, uint32_t bank, uint32_t e) {
        return segment_snapshot(segment, l, bank, e) + 1;
}

/* e: the slot of the environment's first agent. */
static inline void *segment_snapshot_bytes(
                void *segment, const SegmentLayout *l, uint32_t bank, uint32_t e) {
        return (uint8_t *) segment_snapshot(segment, l, bank, e) + l->agents * l->slot_stride;
}

/* The observation in row t * envs + e: before step t of slot e. Of a stack, only the newest frame is stored
 * here. */
static inline void *segment_observation(void *segment, const SegmentLayout *l, uint64_t row) {
        return (uint8_t *) segment + l->observations_at + ((l->frames - 1) * l->envs + row) * l->frame_bytes;
}

/* A frame that slot e saw k steps before the first row; 0 < k < l->frames. */
static inline void *segment_frame_before(void *segment, const SegmentLayout *l, uint32_t e, uint64_t k) {
        return (uint8_t *) segment + l->observations_at +
               ((l->frames - 1 - k) * l->envs + e) * l->frame_bytes;
}

/* How many of the frames before a row's own belong to its episode, at most `most`. Older frames are replaced
 * by the episode's first one. Frames before row 0 are taken as they are. */
static inline uint32_t stack_reach(const uint8_t *ends, uint32_t envs, uint64_t row, uint32_t most) {
        for (uint32_t n = 0; n < most; n++) {
                if (row < envs)
                        return most;
                row -= envs;
                if (ends[row] != END_NOT)
                        return n;
        }
        return most;
}

/* A row's stack has `frames` frames; frame 0 is the oldest. Returns how many steps before the row's own step
 * its frame k was stored. reach: from stack_reach() for the row. */
static inline uint32_t stack_back(uint32_t frames, uint32_t reach, uint32_t k) {
        return frames - 1 - k < reach ? frames - 1 - k : reach;
}

static inline void *segment_action(void *segment, const SegmentLayout *l, uint64_t row) {
        return (uint8_t *) segment + l->actions_at + row * l->action_bytes;
}

static inline double *segment_rewards(void *segment, const SegmentLayout *l) {
        return (double *) ((uint8_t *) segment + l->rewards_at);
}

static inline float *segment_log_probabilities(void *segment, const SegmentLayout *l) {
        return (float *) ((uint8_t *) segment + l->log_probabilities_at);
}

/* The metrics of the episode that ended with this row's step. */
static inline double *segment_metrics(void *segment, const SegmentLayout *l, uint64_t row) {
        return (double *) ((uint8_t *) segment + l->metrics_at) + row * l->n_metrics;
}

static inline uint8_t *segment_ends(void *segment, const SegmentLayout *l) {
        return (uint8_t *) segment + l->ends_at;
}

/* The presence flag of a row. The segment must have these flags (active_at). */
static inline uint8_t *segment_active(void *segment, const SegmentLayout *l, uint64_t row) {
        return (uint8_t *) segment + l->active_at + row;
}

static inline void *segment_final(void *segment, const SegmentLayout *l, uint64_t i) {
        return (uint8_t *) segment + l->finals_at + i * l->frame_bytes;
}

static inline Exchange *segment_exchange(void *segment, const SegmentLayout *l) {
        return (Exchange *) ((uint8_t *) segment + l->exchange_at);
}

/* Reads the whole observation of a row, with the older frames of its stack. `ends`: the column of this
 * segment, or a copy. Even if an actor forged the column, only frames of the row's slot are read. */
void segment_stack_read(void *segment, const SegmentLayout *l, const uint8_t *ends, uint64_t row,
                void *ret_observation);
/* The observation after the step of this row, which truncated the episode. Its newest frame is number i of
 * the observations that the segment stores beside the rows. */
void segment_final_read(void *segment, const SegmentLayout *l, const uint8_t *ends, uint64_t row, uint64_t i,
                void *ret_observation);

/* A bank of the policy segment by its number, and the parts of a bank. */
static inline const PolicyHead *policy_bank(const void *policy, const PolicyLayout *l, uint64_t bank) {
        return (const PolicyHead *) ((const uint8_t *) policy + bank % l->n_banks * l->bank_bytes);
}

static inline const float *policy_numbers(const PolicyHead *bank, uint64_t at) {
        return (const float *) ((const uint8_t *) bank + at);
}

/* The parameters of critic k of those that choose among candidates, which the layout must have
 * (judges_at). */
static inline const float *policy_judge(
                const PolicyHead *bank, const PolicyLayout *l, const Network *judge, uint32_t k) {
        return policy_numbers(bank, l->judges_at) + k * judge->n_parameters;
}
