/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that each kind of lie in a rollout is refused with its reason and its row. A refused rollout changes
 * nothing in the learner: when its actor then sends the correct rollout, the policy is the same as without
 * the lie. */
#include "tests/unit/learner-fixture.h"

#define SECTIONS                                                                             \
        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=2\nRolloutSteps=20\n"                    \
        "[Learner]\nHiddenLayers=4\nEpochs=2\nMinibatchSize=16\nNormalizeObservations=yes\n" \
        "NormalizeRewards=yes\n"

enum { STEPS = 20, ENVS = 2, HORIZON = 6 };

static ActordEnvSpec strict_spec(uint32_t n_choices) {
        ActordEnvSpec spec = bed_spec_box(3, 2, n_choices);

        spec.observation.low = -2;
        spec.observation.high = 2;
        spec.reward_low = -1;
        spec.reward_high = 1;
        spec.horizon_steps = HORIZON;
        return spec;
}

static void open_filled(Bed *bed, const ActordEnvSpec *spec, const char *more) {
        g_autofree char *sections = g_strconcat(SECTIONS, more, NULL);

        bed_start(bed, sections, spec);
        for (uint32_t a = 0; a < 2; a++)
                bed_fill(bed, a, 0, 3);
}

typedef enum Lie {
        LIE_OBSERVATION_NAN,
        LIE_OBSERVATION_INFINITE,
        LIE_OBSERVATION_HIGH,
        LIE_OBSERVATION_LAST,
        LIE_FINAL,
        LIE_ACTION,
        LIE_ACTION_NEGATIVE,
        LIE_LOG_PROBABILITY,
        LIE_REWARD_NAN,
        LIE_REWARD_HIGH,
        LIE_END_UNKNOWN,
        LIE_END_EARLY,
        LIE_END_LATE,
        LIE_SLOT_ELAPSED,
        LIE_SLOT_EPISODE,
        LIE_SLOT_RESET,
        _LIE_MAX,
} Lie;

static const struct {
        const char *name;
        Fault fault;
} lies[_LIE_MAX] = {
        [LIE_OBSERVATION_NAN] = { "observation-nan", FAULT_OBSERVATION },
        [LIE_OBSERVATION_INFINITE] = { "observation-infinite", FAULT_OBSERVATION },
        [LIE_OBSERVATION_HIGH] = { "observation-high", FAULT_OBSERVATION },
        [LIE_OBSERVATION_LAST] = { "observation-last", FAULT_OBSERVATION },
        [LIE_FINAL] = { "final", FAULT_OBSERVATION },
        [LIE_ACTION] = { "action", FAULT_ACTION },
        [LIE_ACTION_NEGATIVE] = { "action-negative", FAULT_ACTION },
        [LIE_LOG_PROBABILITY] = { "log-probability", FAULT_ACTION },
        [LIE_REWARD_NAN] = { "reward-nan", FAULT_REWARD },
        [LIE_REWARD_HIGH] = { "reward-high", FAULT_REWARD },
        [LIE_END_UNKNOWN] = { "end-unknown", FAULT_LENGTHS },
        [LIE_END_EARLY] = { "end-early", FAULT_LENGTHS },
        [LIE_END_LATE] = { "end-late", FAULT_LENGTHS },
        [LIE_SLOT_ELAPSED] = { "slot-elapsed", FAULT_LENGTHS },
        [LIE_SLOT_EPISODE] = { "slot-episode", FAULT_LENGTHS },
        [LIE_SLOT_RESET] = { "slot-reset", FAULT_LENGTHS },
};

static uint32_t find_end(const uint8_t *ends, uint8_t end) {
        for (uint32_t i = 0; i < STEPS * ENVS; i++)
                if (ends[i] == end)
                        return i;
        g_assert_not_reached();
}

/* Puts one lie into actor 1's segment; returns the row where it must be found. */
static uint32_t tell(Bed *bed, Lie lie, bool discrete) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[1];
        uint8_t *ends = segment_ends(segment, l);
        SlotState *slot = segment_snapshot(segment, l, 1, 1);
        uint32_t row = 13;

        switch (lie) {
        case LIE_OBSERVATION_NAN: ((float *) segment_observation(segment, l, row))[2] = NAN; break;
        case LIE_OBSERVATION_INFINITE:
                ((float *) segment_observation(segment, l, row))[0] = -INFINITY;
                break;
        case LIE_OBSERVATION_HIGH: ((float *) segment_observation(segment, l, row))[1] = 2.01f; break;
        case LIE_OBSERVATION_LAST:
                ((float *) segment_observation(segment, l, row = STEPS * ENVS + 1))[1] = NAN;
                break;
        case LIE_FINAL:
                ((float *) segment_final(segment, l, 0))[0] = NAN;
                row = find_end(ends, END_TRUNCATED);
                break;
        case LIE_ACTION:
                if (discrete)
                        *(int32_t *) segment_action(segment, l, row) = 3;
                else
                        ((float *) segment_action(segment, l, row))[1] = INFINITY;
                break;
        case LIE_ACTION_NEGATIVE:
                if (discrete)
                        *(int32_t *) segment_action(segment, l, row) = INT32_MIN;
                else
                        ((float *) segment_action(segment, l, row))[0] = NAN;
                break;
        case LIE_LOG_PROBABILITY: segment_log_probabilities(segment, l)[row] = NAN; break;
        case LIE_REWARD_NAN: segment_rewards(segment, l)[row] = NAN; break;
        case LIE_REWARD_HIGH: segment_rewards(segment, l)[row] = 1.5; break;
        case LIE_END_UNKNOWN: ends[row] = 77; break;
        case LIE_END_EARLY: ends[row = 2] = END_TRUNCATED; break;
        case LIE_END_LATE: ends[row = find_end(ends, END_TRUNCATED)] = END_NOT; break;
        case LIE_SLOT_ELAPSED:
                slot->elapsed_steps++;
                row = STEPS * ENVS + 1;
                break;
        case LIE_SLOT_EPISODE:
                slot->episode = 0;
                row = STEPS * ENVS + 1;
                break;
        case LIE_SLOT_RESET:
                slot->needs_reset = 1;
                row = STEPS * ENVS + 1;
                break;
        case _LIE_MAX: break;
        }
        return row;
}

static void test_lie(gconstpointer data, bool discrete) {
        Lie lie = GPOINTER_TO_UINT(data);
        ActordEnvSpec spec = strict_spec(discrete ? 3 : 0);
        Bed honest = {}, bed = {};
        Answer expected, verdict, learned;
        uint32_t row;

        open_filled(&honest, &spec, "");
        bed_take(&honest, 0, 0);
        bed_take(&honest, 1, 0);
        expected = bed_learn(&honest, 0, 2);

        open_filled(&bed, &spec, "");
        bed_take(&bed, 0, 0);
        row = tell(&bed, lie, discrete);
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 1 });
        g_assert_cmpuint(verdict.fault, ==, lies[lie].fault);
        g_assert_cmpint(verdict.detail, ==, row);

        /* A round with a refused rollout is not learned from. */
        learned = bed_order(&bed, (Order){ .kind = ORDER_LEARN, .n_actors = 2 });
        g_assert_cmpuint(learned.fault, ==, FAULT_INTERNAL);

        memcpy(bed.segments[1], honest.segments[1], bed.page.segment.segment_bytes);
        bed_take(&bed, 1, 0);
        learned = bed_learn(&bed, 0, 2);
        g_assert_cmpmem(learned.sha256, 32, expected.sha256, 32);
        bed_close(&honest);
        bed_close(&bed);
}

static void test_discrete(gconstpointer data) {
        test_lie(data, true);
}

static void test_continuous(gconstpointer data) {
        test_lie(data, false);
}

/* A reward is kept as a float. A reward that a float cannot hold is refused, whatever the spec promises. */
static void test_reward_float(void) {
        ActordEnvSpec spec = strict_spec(3);
        Answer verdict;
        Bed bed = {};

        spec.reward_low = -INFINITY;
        spec.reward_high = INFINITY;
        open_filled(&bed, &spec, "");
        segment_rewards(bed.segments[0], &bed.page.segment)[5] = 1e38;
        bed_take(&bed, 0, 0);
        segment_rewards(bed.segments[1], &bed.page.segment)[5] = -1e39;
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 1 });
        g_assert_cmpuint(verdict.fault, ==, FAULT_REWARD);
        g_assert_cmpint(verdict.detail, ==, 5);
        bed_close(&bed);
}

/* The learner refuses a rollout in which a pair begins in another state than the learner expects. */
static void test_pairs(void) {
        ActordEnvSpec spec = strict_spec(3);
        Bed bed = {};
        Answer verdict;
        float *seen;

        bed_start(&bed, "Algorithm=rebel\n[Actor]\nEnvsPerActor=2\nRolloutSteps=20\nPairSteps=4\n", &spec);
        bed_fill(&bed, 0, 0, 3);
        bed_take(&bed, 0, 0);

        /* No episode ends early, so the second pair of rollouts begins at step 4 (PairSteps=). */
        for (uint32_t row = 0; row < 8; row++)
                g_assert_cmpuint(segment_ends(bed.segments[0], &bed.page.segment)[row], ==, END_NOT);
        seen = segment_observation(bed.segments[0], &bed.page.segment, 9);
        seen[2] = -seen[2];
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE });
        g_assert_cmpuint(verdict.fault, ==, FAULT_OBSERVATION);
        g_assert_cmpint(verdict.detail, ==, 9);
        seen[2] = -seen[2];
        bed_take(&bed, 0, 0);

        segment_snapshot(bed.segments[0], &bed.page.segment, 1, 1)->elapsed_steps++;
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE });
        g_assert_cmpuint(verdict.fault, ==, FAULT_LENGTHS);
        g_assert_cmpint(verdict.detail, ==, 41);
        bed_close(&bed);
}

/* The episode that was carried into the second round counts towards the horizon. */
static void test_carried(void) {
        ActordEnvSpec spec = strict_spec(3);
        Bed bed = {};
        Answer verdict;

        open_filled(&bed, &spec, "");
        bed_take(&bed, 0, 0);
        bed_take(&bed, 1, 0);
        bed_learn(&bed, 0, 2);
        bed_fill(&bed, 0, 1, 4);
        bed_take(&bed, 0, 1);

        /* An actor may be hostile: if it writes that a slot's episode has only begun, the learner does not
         * believe it. */
        g_assert_cmpuint(bed.learner->episodes->elapsed_steps[1], >, 0);
        segment_snapshot(bed.segments[0], &bed.page.segment, 1, 1)->elapsed_steps = 0;
        bed_fill(&bed, 0, 1, 4);
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 0, .snapshot_bank = 1 });
        g_assert_cmpuint(verdict.fault, ==, FAULT_LENGTHS);
        bed_close(&bed);
}

/* Fills the segment like an actor that was started again and has lost its environments: each slot begins a
 * new episode in row 0. */
static void fill_restarted(Bed *bed, uint32_t bank) {
        SlotState kept[ENVS];

        for (uint32_t e = 0; e < ENVS; e++) {
                SlotState *slot = segment_snapshot(bed->segments[0], &bed->page.segment, bank, e);

                kept[e] = *slot;
                slot->elapsed_steps = 0;
                slot->episode++;
        }
        bed_fill(bed, 0, bank, 9);
        for (uint32_t e = 0; e < ENVS; e++)
                *segment_snapshot(bed->segments[0], &bed->page.segment, bank, e) = kept[e];
}

/* If an actor is started again, its slots begin new episodes. The learner accepts this only in a sticky
 * environment (one without snapshots). */
static void test_sticky(gconstpointer sticky) {
        ActordEnvSpec spec = strict_spec(3);
        Bed bed = {};
        Answer verdict;

        if (sticky) {
                spec.flags = ACTORD_ENV_STICKY;
                spec.snapshot_bytes = 0;
        }
        open_filled(&bed, &spec, "");
        bed_take(&bed, 0, 0);
        bed_take(&bed, 1, 0);
        bed_learn(&bed, 0, 2);
        g_assert_cmpuint(bed.learner->episodes->elapsed_steps[0] + bed.learner->episodes->elapsed_steps[1],
                        >, 0);

        fill_restarted(&bed, 1);
        verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 0, .snapshot_bank = 1 });
        g_assert_cmpuint(verdict.fault, ==, sticky ? FAULT_NONE : FAULT_LENGTHS);
        if (sticky)
                g_assert_true(bed.learner->batch->lost[0] && bed.learner->batch->lost[1]);
        bed_close(&bed);
}

/* An environment may truncate an episode by itself only if its flags include ACTORD_ENV_TRUNCATES. */
static void test_truncates(void) {
        for (unsigned allowed = 0; allowed < 2; allowed++) {
                ActordEnvSpec spec = strict_spec(3);
                Bed bed = {};
                uint8_t *ends;
                Answer verdict;

                spec.flags = allowed ? ACTORD_ENV_TRUNCATES : 0;
                open_filled(&bed, &spec, "");
                ends = segment_ends(bed.segments[0], &bed.page.segment);
                ends[find_end(ends, END_TERMINATED)] = END_TRUNCATED;
                verdict = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 0 });
                g_assert_cmpuint(verdict.fault, ==, allowed ? FAULT_NONE : FAULT_LENGTHS);
                bed_close(&bed);
        }
}

/* Several learners compare the digests of their copies. Each number that they learn from is part of the
 * digest, so two learners notice if an actor has changed it between their copies. */
static void test_hash(gconstpointer discrete) {
        ActordEnvSpec spec = strict_spec(discrete ? 3 : 0);
        uint8_t seen[16][32];
        unsigned n_seen = 0;
        Bed bed = {};

        spec.flags = ACTORD_ENV_COME_AND_GO;
        spec.n_agents = 2;
        spec.n_metrics = 1;
        g_strlcpy(spec.metrics[0], "score", sizeof(spec.metrics[0]));
        open_filled(&bed, &spec, "");
        memset(segment_active(bed.segments[1], &bed.page.segment, 0), 1, bed.learner->batch->next_rows);
        for (unsigned change = 0; change < 9; change++) {
                const Order order = { .kind = ORDER_TAKE, .actor = 1, .hashes = 1 };
                const SegmentLayout *l = &bed.page.segment;
                void *segment = bed.segments[1];
                const uint8_t *ends = segment_ends(segment, l);
                uint32_t last_row = STEPS * l->envs + 1;
                Answer answer;

                switch (change) {
                case 1: ((float *) segment_observation(segment, l, 0))[0] = 0.125f; break;
                case 2: ((float *) segment_observation(segment, l, last_row))[2] = 0.25f; break;
                case 3: ((float *) segment_final(segment, l, 0))[1] = 0.5f; break;
                case 4:
                        if (discrete)
                                *(int32_t *) segment_action(segment, l, 7) ^= 1;
                        else
                                ((float *) segment_action(segment, l, 7))[1] = 0.125f;
                        break;
                case 5: segment_log_probabilities(segment, l)[9] = -0.75f; break;
                case 6: segment_rewards(segment, l)[11] = 0.75; break;
                case 7: segment_metrics(segment, l, find_end(ends, END_TRUNCATED))[0] = 3; break;
                case 8: segment_active(segment, l, 13)[0] = 0; break;
                }
                answer = bed_order(&bed, order);
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                for (unsigned i = 0; i < n_seen; i++)
                        g_assert_cmpint(memcmp(answer.sha256, seen[i], 32), !=, 0);
                memcpy(seen[n_seen++], answer.sha256, 32);
                answer = bed_order(&bed, order);
                g_assert_cmpmem(answer.sha256, 32, seen[n_seen - 1], 32);
        }
        bed_close(&bed);
}

/* Orders that make no sense are answered, not obeyed. */
static void test_orders(void) {
        ActordEnvSpec spec = strict_spec(3);
        Bed bed = {};

        open_filled(&bed, &spec, "");
        g_assert_cmpuint(bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 2 }).fault, ==,
                        FAULT_INTERNAL);
        g_assert_cmpuint(bed_order(&bed, (Order){ .kind = ORDER_LEARN, .n_actors = 0 }).fault, ==,
                        FAULT_INTERNAL);
        g_assert_cmpuint(bed_order(&bed, (Order){ .kind = ORDER_LEARN, .n_actors = 3 }).fault, ==,
                        FAULT_INTERNAL);
        g_assert_cmpuint(bed_order(&bed, (Order){ .kind = 12345 }).fault, ==, FAULT_INTERNAL);
        bed_close(&bed);
}

/* Whatever random bytes are in the segment, the learner gives a verdict and does not crash. */
static void test_noise(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(11);
        ActordEnvSpec spec = strict_spec(3);
        unsigned n_refused = 0;
        Bed bed = {};

        open_filled(&bed, &spec, "");
        for (unsigned i = 0; i < 2000; i++) {
                uint8_t *segment = bed.segments[0];

                for (unsigned k = 0; k < 20; k++)
                        segment[g_rand_int_range(rand, 0, (int) bed.page.segment.segment_bytes)] =
                                        (uint8_t) g_rand_int(rand);
                n_refused += bed_order(&bed, (Order){ .kind = ORDER_TAKE,
                                                             .actor = 0,
                                                             .snapshot_bank = i & 1 })
                                             .fault != FAULT_NONE;
        }
        g_assert_cmpuint(n_refused, >, 1900);
        bed_close(&bed);
}

/* The learner refuses an action beyond the bounds of the space, if the policy always acts within them. */
static void test_bounded(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        Answer answer;
        Bed bed = {};

        bed_start(&bed, "Algorithm=ddpg\n[Actor]\nEnvsPerActor=3\nRolloutSteps=8\n", &spec);
        bed_fill(&bed, 0, 0, 0);
        bed_take(&bed, 0, 0);
        *(float *) segment_action(bed.segments[0], &bed.page.segment, 7) = 1.01f;
        answer = bed_order(&bed, (Order){ .kind = ORDER_TAKE, .actor = 0, .snapshot_bank = 0 });
        g_assert_cmpuint(answer.fault, ==, FAULT_ACTION);
        g_assert_cmpint(answer.detail, ==, 7);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        for (unsigned i = 0; i < _LIE_MAX; i++) {
                g_autofree char *discrete = g_strdup_printf("/validation/discrete/%s", lies[i].name);
                g_autofree char *continuous = g_strdup_printf("/validation/continuous/%s", lies[i].name);

                g_test_add_data_func(discrete, GUINT_TO_POINTER(i), test_discrete);
                g_test_add_data_func(continuous, GUINT_TO_POINTER(i), test_continuous);
        }
        g_test_add_func("/validation/reward-float", test_reward_float);
        g_test_add_func("/validation/bounded", test_bounded);
        g_test_add_func("/validation/carried", test_carried);
        g_test_add_func("/validation/pairs", test_pairs);
        g_test_add_data_func("/validation/restarted/sticky", "sticky", test_sticky);
        g_test_add_data_func("/validation/restarted/other", NULL, test_sticky);
        g_test_add_func("/validation/truncates", test_truncates);
        g_test_add_data_func("/validation/hash/discrete", "discrete", test_hash);
        g_test_add_data_func("/validation/hash/continuous", NULL, test_hash);
        g_test_add_func("/validation/orders", test_orders);
        g_test_add_func("/validation/noise", test_noise);
        return g_test_run();
}
