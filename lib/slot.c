/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts of shared memory. All programs compute offsets from the numbers in the sealed job page. So the few
 * sums here decide which memory an actor can reach. Each sum is checked for overflow. Columns start on cache
 * lines. */
#include "lib/slot.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/company.h"
#include "lib/fragment.h"
#include "lib/network.h"
#include "lib/noise.h"
#include "lib/regulation.h"

enum { COLUMN_ALIGN = 64, PAGE_ALIGN = 4096 };

const char *spec_field_to_string(int field) {
        static const char *const table[_SPEC_FIELD_MAX] = {
#define X(name, words) [SPEC_FIELD_##name] = (words),
                SPEC_FIELDS(X)
#undef X
        };

        return field >= 0 && field < _SPEC_FIELD_MAX ? table[field] : NULL;
}

/* Whether the environment's ActordEnv is long enough to have this member, and the member is set. */
#define HAS(env, member) \
        ((env)->struct_bytes >= offsetof(ActordEnv, member) + sizeof((env)->member) && (env)->member)

bool env_has_state(const ActordEnv *env) {
        return HAS(env, state_parts) && HAS(env, get_state) && HAS(env, set_state);
}

bool env_has_picture(const ActordEnv *env) {
        return HAS(env, draw);
}

bool env_has_frame(const ActordEnv *env) {
        return HAS(env, paint);
}

SpecField env_lacks(const ActordEnv *env, const ActordEnvSpec *spec) {
        if (spec->n_metrics > 0 && !(HAS(env, metrics)))
                return SPEC_FIELD_METRICS;
        if (spec->flags & ACTORD_ENV_COME_AND_GO && !(HAS(env, active)))
                return SPEC_FIELD_ACTIVE;
        if (spec->n_shared > 0 && !(HAS(env, shared)))
                return SPEC_FIELD_SHARED;
        return SPEC_FIELD_NONE;
}

int env_active(const ActordEnv *env, const ActordEnvSpec *spec, const void *instance, uint8_t *ret) {
        uint32_t n_there = 0;
        int r;

        memset(ret, 1, spec->n_agents);
        if (!(spec->flags & ACTORD_ENV_COME_AND_GO))
                return 0;
        r = env->active(instance, ret);
        if (r < 0)
                return r;
        for (uint32_t a = 0; a < spec->n_agents; a++) {
                if (ret[a] > 1)
                        return -EPROTO;
                n_there += ret[a];
        }
        return n_there > 0 ? 0 : -EPROTO;
}

int env_metrics(const ActordEnv *env, const ActordEnvSpec *spec, const void *instance, double *ret) {
        return spec->n_metrics > 0 ? env->metrics(instance, ret) : 0;
}

int frame_check(const ActordFrame *frame) {
        return frame->width >= 1 && frame->width <= ACTORD_FRAME_SIDE_MAX && frame->height >= 1 &&
                                               frame->height <= ACTORD_FRAME_SIDE_MAX &&
                                               frame->step_seconds >= 0 && isfinite(frame->step_seconds)
                               ? 0
                               : -EINVAL;
}

size_t frame_bytes(const ActordFrame *frame) {
        return (size_t) 3 * frame->width * frame->height;
}

static bool shape_is_somewhere(const ActordShape *shape) {
        if (shape->n_points < 1 || shape->n_points > ACTORD_SHAPE_POINTS ||
                        !(shape->radius >= 0 && isfinite(shape->radius)))
                return false;
        for (uint32_t i = 0; i < shape->n_points; i++)
                if (!isfinite(shape->points[i][0]) || !isfinite(shape->points[i][1]))
                        return false;
        return true;
}

int picture_check(const ActordView *view, const ActordShape *shapes) {
        if (!isfinite(view->right - view->left) || !isfinite(view->top - view->bottom) ||
                        !(view->right > view->left && view->top > view->bottom) ||
                        !(view->step_seconds >= 0 && isfinite(view->step_seconds)) ||
                        view->n_shapes > ACTORD_SHAPES_MAX)
                return -EINVAL;
        for (uint32_t i = 0; i < view->n_shapes; i++)
                if (!shape_is_somewhere(&shapes[i]))
                        return -EINVAL;
        return 0;
}

size_t element_bytes(uint32_t element) {
        switch ((ActordElement) element) {
        case ACTORD_F32:
        case ACTORD_I32: return 4;
        case ACTORD_F64: return 8;
        case ACTORD_U8: return 1;
        }
        return 0;
}

static bool name_possible(const char name[64]) {
        size_t n = strnlen(name, 64);

        if (n == 0 || n == 64)
                return false;
        for (size_t i = 0; i < n; i++)
                if (name[i] < 0x20 || name[i] > 0x7e)
                        return false;
        return true;
}

static bool bounds_possible(double low, double high) {
        /* false for a NaN */
        return low <= high;
}

static bool shape_possible(const ActordSpace *space) {
        uint64_t n;

        switch ((ActordSpaceKind) space->kind) {
        case ACTORD_DISCRETE: return space->n_dims == 0 || (space->n_dims == 1 && space->shape[0] == 1);
        case ACTORD_MULTI_DISCRETE:
                if (space->n_dims != 1)
                        return false;
                break;
        case ACTORD_BOX:
                if (space->n_dims < 1 || space->n_dims > 4)
                        return false;
                break;
        }

        n = space_numbers(space);
        return n > 0 && n <= SPACE_NUMBERS_MAX;
}

/* first: the first member of SpecField that belongs to this space; the others follow in the same order.
 * Returns 0, or the field at fault. */
static int space_check(const ActordSpace *space, int first, bool action) {
        bool box = space->kind == ACTORD_BOX;
        bool listed = action &&
                      space->kind == ACTORD_MULTI_DISCRETE; /* the spec lists the numbers of choices */

        if (space->kind < ACTORD_DISCRETE || space->kind > ACTORD_BOX)
                return first;
        if (!box && space->element != ACTORD_I32)
                return first + 1;
        if (box && (element_bytes(space->element) == 0 || (action && space->element != ACTORD_F32)))
                return first + 1;
        if (!shape_possible(space))
                return first + 2;
        if (!box && ((space->n_choices < 1 && !listed) || space->n_choices > SPACE_CHOICES_MAX))
                return first + 3;
        if (box && !bounds_possible(space->low, space->high))
                return first + 4;
        return 0;
}

static_assert(SPEC_FIELD_OBSERVATION_BOUNDS == SPEC_FIELD_OBSERVATION_KIND + 4, "order of space_check()");
static_assert(SPEC_FIELD_ACTION_BOUNDS == SPEC_FIELD_ACTION_KIND + 4, "order of space_check()");

/* Whether the numbers of choices of an action are possible. The rest of the space has been checked. */
static bool action_sizes_possible(const ActordEnvSpec *spec) {
        uint64_t n = space_numbers(&spec->action);

        if (spec->action.kind != ACTORD_MULTI_DISCRETE)
                return true;
        if (n > ACTORD_CHOICES_MAX)
                return false;
        for (uint64_t k = 0; k < n; k++)
                if (spec_choices(spec, k) < 1 || spec_choices(spec, k) > SPACE_CHOICES_MAX)
                        return false;
        return true;
}

static bool stack_possible(const ActordEnvSpec *spec) {
        const ActordSpace *space = &spec->observation;

        return spec->stack == 0 ||
               (spec->stack >= 2 && spec->stack <= ACTORD_STACK_MAX && space->kind == ACTORD_BOX &&
                               space->n_dims >= 2 && space->shape[0] == spec->stack);
}

static bool ascii_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool package_name_possible(const char name[PACKAGE_NAME_BYTES]) {
        size_t n = strnlen(name, PACKAGE_NAME_BYTES);

        if (n == PACKAGE_NAME_BYTES || (!ascii_letter(name[0]) && name[0] != '_'))
                return false;
        for (size_t i = 1; i < n; i++)
                if (!ascii_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && !strchr("_.-", name[i]))
                        return false;
        return true;
}

/* A metric's name becomes part of a column's name, and a key of JSON. */
bool metric_name_possible(const char name[ACTORD_METRIC_BYTES]) {
        size_t n = strnlen(name, ACTORD_METRIC_BYTES);

        if (n == ACTORD_METRIC_BYTES || name[0] < 'a' || name[0] > 'z')
                return false;
        for (size_t i = 1; i < n; i++) {
                bool letter = name[i] >= 'a' && name[i] <= 'z', digit = name[i] >= '0' && name[i] <= '9';

                if (!letter && !digit && name[i] != '_')
                        return false;
        }
        return true;
}

static bool metrics_possible(const char names[][ACTORD_METRIC_BYTES], uint32_t n) {
        if (n > ACTORD_METRICS_MAX)
                return false;
        for (uint32_t i = 0; i < n; i++) {
                if (!metric_name_possible(names[i]))
                        return false;
                for (uint32_t k = 0; k < i; k++)
                        if (strcmp(names[i], names[k]) == 0)
                                return false;
        }
        return true;
}

static int spec_first_impossible(const ActordEnvSpec *spec) {
        const uint32_t known = ACTORD_ENV_STICKY | ACTORD_ENV_TRUNCATES | ACTORD_ENV_COME_AND_GO;
        int field;

        if (!name_possible(spec->name))
                return SPEC_FIELD_NAME;
        field = space_check(&spec->observation, SPEC_FIELD_OBSERVATION_KIND, false);
        if (field != 0)
                return field;
        field = space_check(&spec->action, SPEC_FIELD_ACTION_KIND, true);
        if (field != 0)
                return field;
        if (!action_sizes_possible(spec))
                return SPEC_FIELD_ACTION_SIZES;
        if (spec->horizon_steps > HORIZON_STEPS_MAX)
                return SPEC_FIELD_HORIZON;
        if (spec->n_agents < 1 || spec->n_agents > ACTORD_AGENTS_MAX)
                return SPEC_FIELD_AGENTS;
        if (!bounds_possible(spec->reward_low, spec->reward_high))
                return SPEC_FIELD_REWARD;
        if (spec->instance_bytes > INSTANCE_BYTES_MAX)
                return SPEC_FIELD_INSTANCE;
        if (spec->snapshot_bytes > SNAPSHOT_BYTES_MAX ||
                        (spec->flags & ACTORD_ENV_STICKY && spec->snapshot_bytes > 0))
                return SPEC_FIELD_SNAPSHOT;
        if ((spec->flags & ~known) != 0)
                return SPEC_FIELD_FLAGS;
        if (!stack_possible(spec))
                return SPEC_FIELD_STACK;
        if (!metrics_possible(spec->metrics, spec->n_metrics))
                return SPEC_FIELD_METRICS;
        if (spec->n_shared > SPACE_NUMBERS_MAX)
                return SPEC_FIELD_SHARED;
        return SPEC_FIELD_NONE;
}

int spec_check(const ActordEnvSpec *spec, int *ret_field) {
        int field;

        assert(spec);

        field = spec_first_impossible(spec);
        if (field == SPEC_FIELD_NONE)
                return 0;

        if (ret_field)
                *ret_field = field;
        return -EINVAL;
}

/* Adds up the sizes of arrays, and remembers an overflow. */
typedef struct Span {
        uint64_t bytes;
        bool overflow;
} Span;

static uint64_t align_up(uint64_t x, uint64_t align) {
        return (x + align - 1) & ~(align - 1);
}

/* Appends n values of `bytes` bytes each, on a new cache line. Returns where they begin. */
static uint64_t span_append(Span *span, uint64_t n, uint64_t bytes) {
        uint64_t size, at;

        at = align_up(span->bytes, COLUMN_ALIGN);
        if (__builtin_mul_overflow(n, bytes, &size) || at < span->bytes ||
                        __builtin_add_overflow(at, size, &span->bytes)) {
                span->overflow = true;
                span->bytes = 0;
        }
        return at;
}

/* The most episodes that can be truncated in `steps` steps of `envs` environments. The first episode may
 * have begun earlier and be about to reach its horizon. Each later episode takes horizon_steps. In a pair,
 * the second slot may be moved into the first slot's episode just before its end. So only every second
 * episode of the second slot takes horizon_steps. */
static uint64_t truncations_max(const ActordEnvSpec *spec, uint64_t envs, uint64_t steps, bool pairs) {
        uint64_t each;

        if (spec->flags & ACTORD_ENV_TRUNCATES)
                return envs * steps;
        if (spec->horizon_steps == 0)
                return 0;

        each = (steps / spec->horizon_steps + 1) * (pairs ? 2 : 1);
        return envs * (each < steps ? each : steps);
}

int segment_layout(const ActordEnvSpec *spec, uint32_t envs, uint32_t steps, bool pairs,
                uint64_t carried_bytes, SegmentLayout *ret) {
        SegmentLayout l = { .envs = envs, .steps = steps, .agents = spec->n_agents };
        uint64_t rows = (uint64_t) envs * steps;
        Span span = {};

        assert(spec);
        assert(ret);

        if (envs < 1 || steps < 1 || spec_check(spec, NULL) < 0)
                return -EINVAL;
        if (envs % spec->n_agents != 0)
                return -EUSERS;

        l.observation_bytes = space_numbers(&spec->observation) * element_bytes(spec->observation.element);
        l.frames = spec->stack > 0 ? spec->stack : 1;
        l.frame_bytes = l.observation_bytes / l.frames;
        l.action_bytes = space_numbers(&spec->action) * element_bytes(spec->action.element);
        l.finals_max = truncations_max(spec, envs, steps, pairs);
        l.snapshot_bytes = spec->snapshot_bytes;
        l.carried_bytes = align_up(carried_bytes, COLUMN_ALIGN);
        l.slot_stride = sizeof(SlotState) + align_up(l.observation_bytes, COLUMN_ALIGN) + l.carried_bytes;
        l.snapshot_stride = l.agents * l.slot_stride + align_up(l.snapshot_bytes, COLUMN_ALIGN);

        l.observations_at = span_append(&span, rows + l.frames * envs, l.frame_bytes);
        l.actions_at = span_append(&span, rows, l.action_bytes);
        l.rewards_at = span_append(&span, rows, sizeof(double));
        l.log_probabilities_at = span_append(&span, rows, sizeof(float));
        l.ends_at = span_append(&span, rows, sizeof(uint8_t));
        if (spec->n_metrics > 0) {
                l.n_metrics = spec->n_metrics;
                l.metrics_at = span_append(&span, rows, spec->n_metrics * sizeof(double));
        }
        if (spec->flags & ACTORD_ENV_COME_AND_GO)
                l.active_at = span_append(&span, rows + envs, sizeof(uint8_t));
        l.finals_at = span_append(&span, l.finals_max, l.frame_bytes);
        l.snapshots_at[0] = span_append(&span, envs / l.agents, l.snapshot_stride);
        l.snapshots_at[1] = span_append(&span, envs / l.agents, l.snapshot_stride);
        l.exchange_at = span_append(&span, 1, sizeof(Exchange));
        if (span.overflow || span.bytes > SEGMENT_BYTES_MAX - PAGE_ALIGN)
                return -E2BIG;

        l.segment_bytes = align_up(span.bytes, PAGE_ALIGN);
        *ret = l;
        return 0;
}

/* Copies the n newest frames of a row's slot, up to and including this row. */
static void frames_read(void *segment, const SegmentLayout *l, const uint8_t *ends, uint64_t row, uint32_t n,
                uint8_t *ret) {
        uint32_t reach = stack_reach(ends, l->envs, row, (uint32_t) l->frames - 1);
        const uint8_t *newest = segment_observation(segment, l, row);

        for (uint32_t k = 0; k < n; k++)
                memcpy(ret + k * l->frame_bytes,
                                newest - (uint64_t) stack_back(n, reach, k) * l->envs * l->frame_bytes,
                                l->frame_bytes);
}

void segment_stack_read(void *segment, const SegmentLayout *l, const uint8_t *ends, uint64_t row,
                void *ret_observation) {
        frames_read(segment, l, ends, row, (uint32_t) l->frames, ret_observation);
}

void segment_final_read(void *segment, const SegmentLayout *l, const uint8_t *ends, uint64_t row, uint64_t i,
                void *ret_observation) {
        uint32_t n = (uint32_t) l->frames - 1;

        frames_read(segment, l, ends, row, n, ret_observation);
        memcpy((uint8_t *) ret_observation + n * l->frame_bytes, segment_final(segment, l, i),
                        l->frame_bytes);
}

int policy_layout(const Network *network, const Network *judge, uint32_t n_banks, PolicyLayout *ret) {
        PolicyLayout l = { .n_banks = n_banks };
        Span span = { .bytes = sizeof(PolicyHead) };

        assert(network);
        assert(n_banks > 1);
        assert(ret);

        l.mean_at = span_append(&span, network->n_observation, sizeof(float));
        l.inverse_sd_at = span_append(&span, network->n_observation, sizeof(float));
        l.parameters_at = span_append(&span, network->n_parameters, sizeof(float));
        if (judge && judge->n_layers > 0)
                l.judges_at = span_append(&span, judge->n_parameters, JUDGES * sizeof(float));
        /* The forward pass reads whole vectors, so it reads up to 15 numbers after the last weight and
         * ignores them. */
        (void) span_append(&span, 16, sizeof(float));
        if (span.overflow || span.bytes > SEGMENT_BYTES_MAX / n_banks - PAGE_ALIGN)
                return -E2BIG;

        l.bank_bytes = align_up(span.bytes, PAGE_ALIGN);
        l.segment_bytes = l.bank_bytes * n_banks;
        *ret = l;
        return 0;
}

static int networks_beside_check(const JobSettings *settings, const Network *policy) {
        const AlgorithmRow *row = algorithm_row(settings->algorithm);
        Network network;

        for (uint32_t k = 1; k < NETWORKS_MAX && row->networks[k].name; k++) {
                int r = network_derive_beside(settings, policy, &row->networks[k], &network);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether slots of this job can take over another slot's state. */
static int pairs_check(const JobSettings *settings, const ActordEnvSpec *spec) {
        if (algorithm_pair_steps(settings) == 0)
                return 0;
        if (spec->flags & ACTORD_ENV_STICKY)
                return -ESPIPE;
        if (spec->stack > 0)
                return -ENOSTR;
        return spec->n_agents > 1 ? -EMULTIHOP : 0;
}

/* Whether this job can learn from agents that come and go. */
static int coming_check(const JobSettings *settings, const ActordEnvSpec *spec) {
        bool keeps = algorithm_row(settings->algorithm)->store != STORE_ROLLOUT;

        return keeps && spec->flags & ACTORD_ENV_COME_AND_GO ? -ENOTUNIQ : 0;
}

/* A measurement of the curvature keeps a vector of doubles for each step of Lanczos's method, and one more
 * (learner/curvature/lanczos.h). Only policies with probabilities are measured. */
static uint64_t curvature_bytes(const JobSettings *settings, const Network *network) {
        if (settings_curvature(settings) == CURVATURE_NONE ||
                        (network->act != ACT_CATEGORICAL && network->act != ACT_GAUSSIAN))
                return 0;
        return (settings->curvature_steps + UINT64_C(1)) * network->n_parameters * sizeof(double);
}

/* Whether the learner's MemoryMax= has room for what it keeps, as far as settings alone make it large. */
static int memory_check(const JobSettings *settings, const ActordEnvSpec *spec, const Network *network) {
        uint64_t most = settings->learner_memory_max_bytes;
        uint64_t store = algorithm_store_bytes(settings, network_observation_bytes(network),
                        network_frames(network, spec), network->n_action);

        if (store > most)
                return -ENOSPC;
        return curvature_bytes(settings, network) > most - store ? -ENOBUFS : 0;
}

int job_page_make(const JobSettings *settings, const ActordEnvSpec *spec, JobPage *ret) {
        ActordEnvSpec recorded, seen;
        JobPage page;
        int r;

        assert(settings);
        assert(spec);
        assert(ret);

        /* Zero the bytes between members: these are sealed and hashed too. */
        memset(&page, 0, sizeof(page));
        page.magic = JOB_PAGE_MAGIC;
        page.abi = SLOT_ABI;
        page.struct_bytes = sizeof(page);

        r = spec_check(spec, NULL);
        if (r < 0)
                return r;
        page.n_own = space_numbers(&spec->observation);
        r = company_spec(settings, spec, &seen);
        if (r < 0)
                return r;
        spec = &seen;
        memcpy(&page.spec, spec, sizeof(*spec));
        r = regulation_spec(settings, &page.spec);
        if (r < 0)
                return r;
        r = pairs_check(settings, spec);
        if (r < 0)
                return r;
        r = coming_check(settings, spec);
        if (r < 0)
                return r;
        recorded = page.spec;
        /* recorded episodes may be truncated at any step */
        if (settings->dataset[0])
                recorded.flags |= ACTORD_ENV_TRUNCATES;

        r = network_derive(settings, spec, &page.network);
        if (r < 0)
                return r;
        r = networks_beside_check(settings, &page.network);
        if (r < 0)
                return r;
        r = network_derive_judge(settings, &page.network, &page.judge);
        if (r < 0)
                return r;
        r = memory_check(settings, spec, &page.network);
        if (r < 0)
                return r;
        r = segment_layout(&recorded, settings->envs_per_actor, settings->rollout_steps,
                        algorithm_pair_steps(settings) > 0, noise_bytes(&page.network), &page.segment);
        if (r < 0)
                return r;
        r = policy_layout(&page.network, &page.judge,
                        distribution_banks(distribution_of(settings), settings), &page.policy);
        if (r == -E2BIG && policy_layout(&page.network, &page.judge, POLICY_BANKS, &page.policy) >= 0)
                return -EFBIG;
        if (r < 0)
                return r;

        memcpy(ret, &page, sizeof(page));
        return 0;
}
