/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that an environment keeps the promises of the ABI, point by point. Each point is tried in a process
 * of its own, so a crash at one point does not affect the others; after a hang, no further point is tried. A
 * check returns its finding, or a negative errno: of a function of the environment, or for lack of
 * memory. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "actor/trial/stage.h"
#include "lib/cleanup.h"
#include "lib/slot.h"

enum { N_STEPS = 2000, N_LEAK = 100000, N_WARM = 5000, N_MOVE = 97, ACTION_OFFSET = 1000 };
/* An allocator keeps some of the memory that was freed. */
enum { HEAP_SPARE = 4096, PAGES_SPARE_KIB = 1024 };

/* An engine may normalise the state that it gets, above all quaternions. */
#define STATE_TOLERANCE 1e-12

typedef struct Point {
        const Trial *trial;
        const ActordEnv *env;
        TrialSpec said;
        int32_t detail;
} Point;

static int found(Point *p, TrialFinding finding, int64_t detail) {
        p->detail = (int32_t) (detail > INT32_MAX ? INT32_MAX : detail);
        return (int) finding;
}

static int begin(Point *p, Stage *stage) {
        int r;

        r = stage_init(stage, p->trial, p->env, &p->said.spec);
        return r < 0 ? r : stage_reset(stage);
}

/* Makes step t with the random action of step t, and a reset after an end. */
static int go(Stage *stage, uint64_t t) {
        int r;

        stage_act_random(stage, t);
        r = stage_step(stage);
        return r >= 0 && stage_ended(stage) ? stage_reset(stage) : r;
}

static int begin_both(Point *p, Stage s[2]) {
        int r;

        r = begin(p, &s[0]);
        return r < 0 ? r : begin(p, &s[1]);
}

static int go_both(Stage s[2], uint64_t t) {
        int r;

        r = go(&s[0], t);
        return r < 0 ? r : go(&s[1], t);
}

/* Copies the state of `from` to `to` through a snapshot; both may be the same instance. */
static int move(const Point *p, Stage *from, Stage *to) {
        int r;

        r = p->env->snapshot(from->instance.memory, to->snapshot.memory);
        return r < 0 ? r : p->env->restore(to->instance.memory, to->snapshot.memory);
}

/* Makes step t. After every N_MOVE-th step it also takes a snapshot of the environment and restores it at
 * once. A sticky environment (ACTORD_ENV_STICKY) has no snapshots, so it only steps. */
static int go_and_move(const Point *p, Stage *stage, uint64_t t) {
        int r;

        r = go(stage, t);
        if (r < 0 || p->said.spec.flags & ACTORD_ENV_STICKY || t % N_MOVE != 0)
                return r;
        return move(p, stage, stage);
}

static bool same(const Stage *a, const Stage *b) {
        for (uint32_t i = 0; i < a->spec->n_agents; i++)
                if (memcmp((const void *) &a->steps[i], (const void *) &b->steps[i],
                                    offsetof(ActordStep, reserved)) != 0)
                        return false;
        return memcmp(a->active, b->active, sizeof(a->active)) == 0 &&
               memcmp((const void *) a->metrics, (const void *) b->metrics, sizeof(a->metrics)) == 0 &&
               memcmp(a->observation.memory, b->observation.memory, a->observation.bytes) == 0;
}

static int check_spec(Point *p, Stage s[2]) {
        int r;

        r = begin(p, &s[0]);
        return r < 0 ? r : TRIAL_FINDING_KEPT;
}

static int check_options(Point *p, Stage s[2]) {
        const ActordOption nonsense = { "Nonsense", "1" };
        ActordEnvSpec spec = {};

        /* without stderr, since the environment should refuse, and its message would mislead the user */
        (void) close(STDERR_FILENO);
        return p->env->spec(&nonsense, 1, &spec) >= 0 ? TRIAL_FINDING_NONSENSE : TRIAL_FINDING_KEPT;
}

/* The offset of the first byte that the environment did not write: it is still pattern_a in a, and pattern_b
 * in b. -1: there is none. */
static int64_t unwritten(const void *a, const void *b, size_t n, int pattern_a, int pattern_b) {
        for (size_t i = 0; i < n; i++)
                if (((const uint8_t *) a)[i] == pattern_a && ((const uint8_t *) b)[i] == pattern_b)
                        return (int64_t) i;
        return -1;
}

static const int patterns[2] = { 0xa5, 0x5a };

static int64_t unwritten_observation(const Stage s[2]) {
        return unwritten(s[0].observation.memory, s[1].observation.memory, s[0].observation.bytes,
                        patterns[0], patterns[1]);
}

static void fill_observations(Stage s[2]) {
        for (int k = 0; k < 2; k++)
                memset(s[k].observation.memory, patterns[k], s[k].observation.bytes);
}

static int check_reset_shape(Point *p, Stage s[2], bool first) {
        int64_t at;
        int r;

        fill_observations(s);
        for (int k = 0; k < 2; k++) {
                if (!first && !stage_ended(&s[k]))
                        continue;
                r = stage_reset(&s[k]);
                if (r < 0)
                        return r;
        }
        if (s[0].elapsed_steps > 0)
                return TRIAL_FINDING_KEPT;
        at = unwritten_observation(s);
        return at >= 0 ? found(p, TRIAL_FINDING_RESET_PART, at) : TRIAL_FINDING_KEPT;
}

static int check_step_shape(Point *p, Stage s[2], uint64_t t) {
        int64_t at;
        int r;

        fill_observations(s);
        for (int k = 0; k < 2; k++) {
                memset(s[k].steps, patterns[k], p->said.spec.n_agents * sizeof(ActordStep));
                stage_act_random(&s[k], t);
                r = stage_step(&s[k]);
                if (r < 0)
                        return r;
        }
        for (uint32_t a = 0; a < p->said.spec.n_agents; a++) {
                at = unwritten(&s[0].steps[a], &s[1].steps[a], offsetof(ActordStep, reserved), patterns[0],
                                patterns[1]);
                if (at >= 0)
                        return found(p, TRIAL_FINDING_RESULT_PART, at);
        }
        at = unwritten_observation(s);
        return at >= 0 ? found(p, TRIAL_FINDING_STEP_PART, at) : TRIAL_FINDING_KEPT;
}

static int check_shapes(Point *p, Stage s[2]) {
        int r;

        for (int k = 0; k < 2; k++) {
                r = stage_init(&s[k], p->trial, p->env, &p->said.spec);
                if (r < 0)
                        return r;
        }
        for (uint64_t t = 0; t < N_STEPS / 10; t++) {
                r = check_reset_shape(p, s, t == 0);
                if (r != TRIAL_FINDING_KEPT)
                        return r;
                r = check_step_shape(p, s, t);
                if (r != TRIAL_FINDING_KEPT)
                        return r;
        }
        return TRIAL_FINDING_KEPT;
}

static int check_observation(Point *p, const Stage *stage, double *numbers) {
        const ActordSpace *space = &p->said.spec.observation;
        double high = space->kind == ACTORD_BOX ? space->high : space->n_choices - 1.0;
        double low = space->kind == ACTORD_BOX ? space->low : 0;

        /* Bounds are doubles and most observations floats, so a float that rounds to the bound is inside. */
        if (space->element == ACTORD_F32) {
                low = fmin(low, (float) low);
                high = fmax(high, (float) high);
        }
        space_to_doubles(space, stage->observation.memory, stage->n_observation, numbers);
        for (uint64_t i = 0; i < stage->n_observation; i++) {
                if (!isfinite(numbers[i]))
                        return found(p, TRIAL_FINDING_NOT_FINITE, (int64_t) i);
                if (numbers[i] < low || numbers[i] > high)
                        return found(p, TRIAL_FINDING_OUTSIDE, (int64_t) i);
        }
        return TRIAL_FINDING_KEPT;
}

static int check_result_of(Point *p, const ActordStep *step, uint64_t t) {
        const ActordEnvSpec *spec = &p->said.spec;

        if (!isfinite(step->reward) || step->reward < spec->reward_low || step->reward > spec->reward_high)
                return found(p, TRIAL_FINDING_REWARD, (int64_t) t);
        if (step->terminated > 1 || step->truncated > 1)
                return found(p, TRIAL_FINDING_FLAGS, (int64_t) t);
        if (step->truncated && !(spec->flags & ACTORD_ENV_TRUNCATES))
                return found(p, TRIAL_FINDING_TRUNCATED, (int64_t) t);
        return TRIAL_FINDING_KEPT;
}

static int check_result(Point *p, const Stage *stage, uint64_t t) {
        const ActordStep *first = stage->steps;

        if (stage->active_wrong)
                return found(p, TRIAL_FINDING_ACTIVE, (int64_t) t);
        for (uint32_t a = 0; a < p->said.spec.n_agents; a++) {
                int r = check_result_of(p, &stage->steps[a], t);

                if (r != TRIAL_FINDING_KEPT)
                        return r;
                if (stage->steps[a].terminated != first->terminated ||
                                stage->steps[a].truncated != first->truncated)
                        return found(p, TRIAL_FINDING_AGENT_ENDS, a);
        }
        for (uint32_t i = 0; i < p->said.spec.n_metrics; i++)
                if (!metric_possible(stage->metrics[i]))
                        return found(p, TRIAL_FINDING_METRIC, i);
        return TRIAL_FINDING_KEPT;
}

static int check_ranges_step(Point *p, Stage *stage, uint64_t t, double *numbers) {
        int r;

        stage_act_random(stage, t);
        r = stage_step(stage);
        if (r < 0)
                return r;
        r = check_result(p, stage, t);
        if (r != TRIAL_FINDING_KEPT)
                return r;
        r = check_observation(p, stage, numbers);
        if (r != TRIAL_FINDING_KEPT || !stage_ended(stage))
                return r;
        r = stage_reset(stage);
        return r < 0 ? r : check_observation(p, stage, numbers);
}

static int check_ranges(Point *p, Stage s[2]) {
        _cleanup_free_ double *numbers = NULL;
        int r;

        r = begin(p, &s[0]);
        if (r < 0)
                return r;
        numbers = calloc(s[0].n_observation, sizeof(double));
        if (!numbers)
                return -ENOMEM;

        r = check_observation(p, &s[0], numbers);
        for (uint64_t t = 0; t < N_STEPS && r == TRIAL_FINDING_KEPT; t++)
                r = check_ranges_step(p, &s[0], t, numbers);
        return r;
}

/* for the signal handler, to which no argument can be passed */
static const Stage *guarded_stage;

static TrialFinding beyond(const Stage *stage, int32_t *ret_detail, const void *address) {
        const struct {
                const Guarded *guarded;
                TrialFinding finding;
        } parts[] = {
                { &stage->instance, TRIAL_FINDING_BEYOND_INSTANCE },
                { &stage->observation, TRIAL_FINDING_BEYOND_OBSERVATION },
                { &stage->snapshot, TRIAL_FINDING_BEYOND_SNAPSHOT },
        };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                if (address ? guarded_guards(parts[i].guarded, address)
                            : !guarded_is_whole(parts[i].guarded)) {
                        *ret_detail = (int32_t) parts[i].guarded->bytes;
                        return parts[i].finding;
                }
        return TRIAL_FINDING_KEPT;
}

static void on_fault(int number, siginfo_t *info, void *context) {
        TrialPage *page = guarded_stage->page;
        TrialFinding finding = beyond(guarded_stage, &page->detail, info->si_addr);

        if (finding == TRIAL_FINDING_KEPT) {
                (void) signal(number, SIG_DFL); /* another error: it occurs again and ends the process */
                return;
        }
        page->finding = finding;
        page->finished = 1;
        _exit(EXIT_SUCCESS);
}

static int check_bounds(Point *p, Stage s[2]) {
        const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
        int r;

        guarded_stage = &s[0];
        (void) sigaction(SIGSEGV, &action, NULL);
        (void) sigaction(SIGBUS, &action, NULL);

        r = begin(p, &s[0]);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_STEPS; t++) {
                r = go_and_move(p, &s[0], t);
                if (r < 0)
                        return r;
        }
        return (int) beyond(&s[0], &p->detail, NULL);
}

/* Checks that the same episode goes alike in an instance that has been used and in a new one. */
static int check_resets(Point *p, Stage s[2]) {
        int r;

        r = begin(p, &s[0]);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_STEPS; t++) {
                r = t % N_MOVE == 0 ? stage_reset(&s[0]) : go(&s[0], t + ACTION_OFFSET);
                if (r < 0)
                        return r;
        }
        r = stage_init(&s[1], p->trial, p->env, &p->said.spec);
        if (r < 0)
                return r;
        for (int k = 0; k < 2; k++) {
                s[k].episode = s[k].n_steps = 0;
                s[k].step = (ActordStep){};
                memset(s[k].steps, 0, sizeof(s[k].steps));
                memset(s[k].metrics, 0, sizeof(s[k].metrics));
                r = stage_reset(&s[k]);
                if (r < 0)
                        return r;
        }
        for (uint64_t t = 0; t < N_STEPS; t++) {
                if (!same(&s[0], &s[1]))
                        return found(p, TRIAL_FINDING_REMEMBERS, (int64_t) t);
                r = go_both(s, t);
                if (r < 0)
                        return r;
        }
        return TRIAL_FINDING_KEPT;
}

static uint64_t digest(uint64_t hash, const Stage *stage) {
        const uint8_t *p = stage->observation.memory;

        /* FNV-1a: only equality matters. */
        for (uint64_t i = 0; i < stage->observation.bytes; i++)
                hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
        for (uint32_t a = 0; a < stage->spec->n_agents; a++)
                for (size_t i = 0; i < offsetof(ActordStep, reserved); i++)
                        hash = (hash ^ ((const uint8_t *) &stage->steps[a])[i]) * UINT64_C(0x100000001b3);
        return hash;
}

/* Runs an instance alone, and then runs the same steps again while another instance steps in between. Both
 * runs must give the same results. */
static int check_determinism(Point *p, Stage s[2]) {
        static uint64_t alone[N_STEPS];
        uint64_t hash = 0;
        int r;

        r = begin(p, &s[0]);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_STEPS; t++) {
                r = go(&s[0], t);
                if (r < 0)
                        return r;
                alone[t] = hash = digest(hash, &s[0]);
        }
        stage_done(&s[0]);

        hash = 0;
        r = begin_both(p, s);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_STEPS; t++) {
                r = go(&s[1], t + ACTION_OFFSET);
                if (r < 0)
                        return r;
                r = go(&s[0], t);
                if (r < 0)
                        return r;
                hash = digest(hash, &s[0]);
                if (hash != alone[t])
                        return found(p, TRIAL_FINDING_PARTS, (int64_t) t);
        }
        return TRIAL_FINDING_KEPT;
}

/* Moves instance B into another state, and then restores it from a snapshot of instance A. */
static int catch_up(const Point *p, Stage *a, Stage *b, uint64_t t) {
        int r;

        r = go(b, t + ACTION_OFFSET);
        if (r < 0)
                return r;
        r = move(p, a, b);
        b->episode = a->episode;
        b->elapsed_steps = a->elapsed_steps;
        b->n_steps = a->n_steps;
        memcpy(b->metrics, a->metrics, sizeof(b->metrics));
        return r;
}

/* Instance A goes on. Every N_MOVE steps instance B is restored from A's snapshot, and must stay equal to A
 * until the next time. */
static int check_snapshots(Point *p, Stage s[2]) {
        int r;

        if (p->said.spec.flags & ACTORD_ENV_STICKY)
                return TRIAL_FINDING_STICKY;
        r = begin_both(p, s);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_STEPS; t++) {
                if (t % N_MOVE == 0) {
                        r = catch_up(p, &s[0], &s[1], t);
                        if (r < 0)
                                return r;
                }
                r = go_both(s, t);
                if (r < 0)
                        return r;
                if (!same(&s[0], &s[1]))
                        return found(p, TRIAL_FINDING_SNAPSHOT_PARTS, (int64_t) (t % N_MOVE) + 1);
        }
        return TRIAL_FINDING_KEPT;
}

static int64_t count_state(const Point *p, const Stage *stage) {
        ActordStatePart parts[ACTORD_STATE_PARTS] = {};
        int n_parts = p->env->state_parts(stage->instance.memory, parts);
        int64_t n = 0;

        if (n_parts <= 0 || n_parts > (int) ACTORD_STATE_PARTS)
                return -1;
        for (int i = 0; i < n_parts; i++) {
                if (!memchr(parts[i].name, 0, sizeof(parts[i].name)) || !parts[i].name[0])
                        return -1;
                n += parts[i].n_numbers;
        }
        return n > 0 && n <= ACTORD_STATE_NUMBERS_MAX ? n : -1;
}

/* The index of a number that is not the same after it was set and read again; -1: there is none. */
static int64_t differing(const double *state, const double *again, int64_t n) {
        for (int64_t i = 0; i < n; i++)
                if (!(fabs(state[i] - again[i]) <= STATE_TOLERANCE * fmax(1, fabs(state[i]))))
                        return i;
        return -1;
}

static int carry_state(const Point *p, Stage s[2], double *state, double *again) {
        int r;

        r = p->env->get_state(s[0].instance.memory, state);
        if (r < 0)
                return r;
        r = p->env->set_state(s[1].instance.memory, state, s[1].observation.memory);
        if (r < 0)
                return r;
        return p->env->get_state(s[1].instance.memory, again);
}

static int check_state(Point *p, Stage s[2]) {
        _cleanup_free_ double *state = NULL, *again = NULL;
        int64_t n, at;
        int r;

        if (!env_has_state(p->env))
                return TRIAL_FINDING_STATELESS;
        r = begin_both(p, s);
        if (r < 0)
                return r;
        n = count_state(p, &s[0]);
        if (n < 0)
                return found(p, TRIAL_FINDING_STATE_PARTS, 0);
        state = calloc((size_t) n, sizeof(double));
        again = calloc((size_t) n, sizeof(double));
        if (!state || !again)
                return -ENOMEM;

        for (uint64_t t = 0; t < N_STEPS; t++) {
                r = go(&s[0], t);
                if (r < 0)
                        return r;
                r = carry_state(p, s, state, again);
                if (r < 0)
                        return r;
                at = differing(state, again, n);
                if (at >= 0)
                        return found(p, TRIAL_FINDING_STATE_DIFFERS, at);
        }
        return TRIAL_FINDING_KEPT;
}

static int64_t heap_bytes(void) {
        struct mallinfo2 info = mallinfo2();

        return (int64_t) (info.uordblks + info.hblkhd);
}

/* The most memory that this process has used. 0: not known, since an environment that was loaded before the
 * fork may have a sandbox that forbids getrusage(). */
static int64_t peak_kib(const Point *p) {
        struct rusage usage = {};

        if (!p->trial->context->env)
                (void) getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
}

static int check_leaks(Point *p, Stage s[2]) {
        int64_t heap = 0, peak = 0;
        int r;

        r = begin(p, &s[0]);
        if (r < 0)
                return r;
        for (uint64_t t = 0; t < N_WARM + N_LEAK; t++) {
                if (t == N_WARM) {
                        heap = heap_bytes();
                        peak = peak_kib(p);
                }
                r = go_and_move(p, &s[0], t);
                if (r < 0)
                        return r;
        }
        heap = heap_bytes() - heap;
        peak = peak_kib(p) - peak;
        if (heap > HEAP_SPARE)
                return found(p, TRIAL_FINDING_GROWS, heap);
        return peak > PAGES_SPARE_KIB ? found(p, TRIAL_FINDING_GROWS, peak * 1024) : TRIAL_FINDING_KEPT;
}

static int (*const checks[_TRIAL_POINT_MAX])(Point *p, Stage s[2]) = {
        [TRIAL_POINT_SPEC] = check_spec,
        [TRIAL_POINT_OPTIONS] = check_options,
        [TRIAL_POINT_SHAPES] = check_shapes,
        [TRIAL_POINT_RANGES] = check_ranges,
        [TRIAL_POINT_BOUNDS] = check_bounds,
        [TRIAL_POINT_RESETS] = check_resets,
        [TRIAL_POINT_DETERMINISM] = check_determinism,
        [TRIAL_POINT_SNAPSHOTS] = check_snapshots,
        [TRIAL_POINT_STATE] = check_state,
        [TRIAL_POINT_LEAKS] = check_leaks,
};

void trial_check(const Trial *trial, const ActordEnv *env) {
        static Stage stages[2];
        Point p = { .trial = trial, .env = env };
        int r;

        if (!trial_learn_spec(trial, env, &p.said))
                return;
        r = checks[trial->point](&p, stages);
        if (r < 0)
                r = found(&p, TRIAL_FINDING_ERROR, -r);
        trial->page->finding = (uint32_t) r;
        trial->page->detail = p.detail;
        stage_done(&stages[0]);
        stage_done(&stages[1]);
}
