/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests invocations with pairs of rollouts: at which steps a pair begins, and that such an invocation, too,
 * is a pure function of its order, its slots and the policy. */
#include "lib/algorithm-traits.h"
#include "tests/unit/actor-fixture.h"

enum { PAIR_STEPS = 6 };

/* Makes a job of algorithm REBEL. Apart from its pairs it is like a job of actor_job_new(). */
static void pairs_new(Job *job, uint32_t envs, uint32_t steps, uint32_t horizon) {
        actor_job_new(job, &toy_env, envs, steps, 1);
        job->hosts[0] = host_free(job->hosts[0]);
        job->settings.algorithm = ALGORITHM_REBEL;
        job->settings.pair_steps = PAIR_STEPS;
        job->settings.present[SETTING_Actor_PairSteps / 64] |= UINT64_C(1) << SETTING_Actor_PairSteps % 64;
        g_assert_cmpuint(algorithm_pair_steps(&job->settings), ==, PAIR_STEPS);

        job->page.spec.horizon_steps = horizon;
        g_assert_cmpint(segment_layout(&job->page.spec, envs, steps, true, 0, &job->page.segment), ==, 0);
        for (int a = 0; a < ACTORS; a++) {
                free(job->segments[a]);
                job->segments[a] = zeroed(job->page.segment.segment_bytes);
        }
        actor_job_start_host(job, 0);
}

/* The number of steps from t until both slots of the pair have ended their episodes. The next pair begins
 * at t plus this number. */
static uint32_t pair_length(const uint8_t *ends, uint32_t envs, uint32_t left) {
        uint32_t length = 0;

        for (uint32_t partner = 0; partner < 2; partner++) {
                uint32_t n = 1;

                while (n < left && n < PAIR_STEPS && ends[(n - 1) * envs + partner] == END_NOT)
                        n++;
                length = n > length ? n : length;
        }
        return length;
}

static void check_pair(const Job *job, uint32_t actor, uint32_t first) {
        const SegmentLayout *l = &job->page.segment;
        void *segment = job->segments[actor];
        const uint8_t *ends = segment_ends(segment, l);
        uint32_t t = 0, n_moved = 0;

        while (t < l->steps) {
                uint32_t n = pair_length(ends + t * l->envs + first, l->envs, l->steps - t);

                g_assert_cmpmem(segment_observation(segment, l, t * l->envs + first), 8,
                                segment_observation(segment, l, t * l->envs + first + 1), 8);
                for (uint32_t k = t; k + 1 < t + n; k++)
                        for (uint32_t e = first; e < first + 2; e++) {
                                const float *now = segment_observation(segment, l, k * l->envs + e);
                                const float *next = segment_observation(segment, l, (k + 1) * l->envs + e);

                                /* Both slots go on independently. */
                                if (ends[k * l->envs + e] == END_NOT) {
                                        g_assert_cmpfloat(next[1], ==, now[1] + 1);
                                        n_moved += e == first && now[0] != (now + 2)[0];
                                } else
                                        g_assert_cmpfloat(next[1], ==, 0);
                        }
                t += n;
        }
        /* The two slots of a pair draw different noise, so their states diverge. */
        g_assert_cmpuint(n_moved, >, 0);
}

static void test_begin(void) {
        Job job;

        toy_plan = (ToyPlan){ .length_min = 9, .length_max = 20, .step_noise = true, .ends_one_in = 8 };
        pairs_new(&job, 4, 50, 0);
        for (int k = 0; k < 20; k++) {
                actor_job_rollout(&job, 2);
                check_pair(&job, 2, 0);
                check_pair(&job, 2, 2);
        }
        actor_job_done(&job);
}

/* The first of a pair is a slot like any other: it goes on as if there was no second one. */
static void test_first(void) {
        Job job, alone;

        toy_plan = (ToyPlan){ .length_min = 2, .length_max = 9, .step_noise = true };
        pairs_new(&job, 2, 30, 0);
        actor_job_new(&alone, &toy_env, 2, 30, 1);
        for (int k = 0; k < 5; k++) {
                actor_job_rollout(&job, 1);
                actor_job_rollout(&alone, 1);
                for (uint32_t t = 0; t <= 30; t++)
                        g_assert_cmpmem(segment_observation(job.segments[1], &job.page.segment, 2 * t), 8,
                                        segment_observation(alone.segments[1], &alone.page.segment, 2 * t),
                                        8);
        }
        actor_job_done(&job);
        actor_job_done(&alone);
}

static void test_interrupted(void) {
        Job job, hurt;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9, .step_noise = true };
        pairs_new(&job, 2, 20, 0);
        pairs_new(&hurt, 2, 20, 0);
        assert_interruptions_hidden(&job, &hurt, 20);
        actor_job_done(&job);
        actor_job_done(&hurt);
}

/* The second slot of a pair copies an episode that is under way, so its episodes reach their horizon sooner.
 * It has more last observations than a slot without a pair, and the segment has room for them. */
static void test_truncations(void) {
        uint64_t most = 0;
        SegmentLayout alone;
        Job job;

        toy_plan = (ToyPlan){ .length_min = 50, .length_max = 50, .ends_one_in = 4 };
        pairs_new(&job, 2, 8, 3);
        g_assert_cmpint(segment_layout(&job.page.spec, 2, 8, false, 0, &alone), ==, 0);
        for (int k = 0; k < 2000; k++) {
                const uint8_t *ends = segment_ends(job.segments[0], &job.page.segment);
                uint64_t n = 0;

                actor_job_rollout(&job, 0);
                for (uint32_t row = 1; row < 16; row += 2)
                        n += ends[row] == END_TRUNCATED;
                most = n > most ? n : most;
        }
        g_test_message("%u truncations of the second at most", (unsigned) most);
        g_assert_cmpuint(most, >, alone.finals_max / 2);
        g_assert_cmpuint(job.page.segment.finals_max, ==, 2 * alone.finals_max);
        actor_job_done(&job);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pairs/begin", test_begin);
        g_test_add_func("/pairs/first", test_first);
        g_test_add_func("/pairs/interrupted", test_interrupted);
        g_test_add_func("/pairs/truncations", test_truncations);
        return g_test_run();
}
