/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the data about the other agents that an agent's observation has: they are exact means, of the same
 * length with any number of agents, and within the bounds. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/company.h"

static ActordEnvSpec spec_make(uint32_t n_agents) {
        return (ActordEnvSpec){
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 2 }, -1, 4 },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 3 },
                .n_agents = n_agents,
        };
}

static const JobSettings simppo = { .algorithm = ALGORITHM_SIMPPO }, ppo = { .algorithm = ALGORITHM_PPO },
                         mappo = { .algorithm = ALGORITHM_MAPPO };

/* Joins the observation of each agent. All agents are present and have acted, unless `active` or `acted`
 * says otherwise. */
static void join(const JobSettings *settings, const JobPage *page, const float *own, const void *actions,
                const uint8_t *active, const uint8_t *acted, float *ret) {
        uint8_t all[ACTORD_AGENTS_MAX];
        CompanyIn in = { .own = own, .actions = actions, .active = all, .acted = all };

        memset(all, 1, sizeof(all));
        in.active = active ? active : all;
        in.acted = acted ? acted : all;
        company_join(settings, page, &in, ret);
}

static JobPage page_make(const ActordEnvSpec *spec) {
        JobPage page = { .n_own = 2 };

        g_assert_cmpint(company_spec(&simppo, spec, &page.spec), ==, 0);
        return page;
}

static void test_means(void) {
        static const float own[] = { 1, 2, -1, 4, 3, 0 };
        static const int32_t choices[] = { 0, 2, 2 };
        static const float expected[] = { 1, 2, 1, 2, 0, 0, 1, /* agents 1 and 2 chose 2 */
                -1, 4, 2, 1, 0.5f, 0, 0.5f, 3, 0, 0, 3, 0.5f, 0, 0.5f };
        ActordEnvSpec spec = spec_make(3);
        JobPage page = page_make(&spec);
        float joined[3 * 7];

        g_assert_cmpuint(page.spec.observation.shape[0], ==, 7);
        join(&simppo, &page, own, choices, NULL, NULL, joined);
        g_assert_cmpmem(joined, sizeof(joined), expected, sizeof(expected));

        /* In the first step no agent has acted. */
        join(&simppo, &page, own, NULL, NULL, NULL, joined);
        for (int a = 0; a < 3; a++) {
                g_assert_cmpmem(joined + 7 * a, 4 * sizeof(float), expected + 7 * a, 4 * sizeof(float));
                for (int k = 4; k < 7; k++)
                        g_assert_cmpfloat((double) joined[7 * a + k], ==, 0);
        }
}

static void test_all(void) {
        static const float own[] = { 1, 2, -1, 4, 3, 0 };
        static const float expected[] = { 1, 2, -1, 4, 3, 0, -1, 4, 3, 0, 1, 2, 3, 0, 1, 2, -1, 4 };
        ActordEnvSpec spec = spec_make(3);
        JobPage page = { .n_own = 2 };
        float joined[18];

        g_assert_cmpint(company_spec(&mappo, &spec, &page.spec), ==, 0);
        g_assert_cmpuint(page.spec.observation.shape[0], ==, 6);
        g_assert_cmpfloat(page.spec.observation.high, ==, 4);
        join(&mappo, &page, own, NULL, NULL, NULL, joined);
        g_assert_cmpmem(joined, sizeof(joined), expected, sizeof(expected));
}

/* Of three agents, the second has left, and the third has just come: it has taken no action yet. */
static void test_absent(void) {
        static const float own[] = { 1, 2, -1, 4, 3, 0 };
        static const int32_t choices[] = { 0, 2, 2 };
        static const uint8_t active[] = { 1, 0, 1 }, acted[] = { 1, 1, 0 };
        static const float expected[] = { 1, 2, 3, 0, 0, 0, 0, -1, 4, 2, 1, 1, 0, 0, 3, 0, 1, 2, 1, 0, 0 };
        ActordEnvSpec spec = spec_make(3);
        JobPage page = page_make(&spec);
        float joined[3 * 7];

        join(&simppo, &page, own, choices, active, acted, joined);
        g_assert_cmpmem(joined, sizeof(joined), expected, sizeof(expected));
}

/* The environment gives data that all agents share. These data stand in place of the others' observations,
 * so the joined observation has the same length for any number of agents. */
static void test_shared(void) {
        static const float own[] = { 1, 2, -1, 4 }, shared[] = { 0, 3, 4 };
        static const float expected[] = { 1, 2, 0, 3, 4, -1, 4, 0, 3, 4 };
        static const uint8_t all[] = { 1, 1 };
        CompanyIn in = { .own = own, .shared = shared, .active = all, .acted = all };
        ActordEnvSpec spec = spec_make(2);
        JobPage page = { .n_own = 2 };
        float joined[10];

        spec.n_shared = 3;
        g_assert_cmpint(company_spec(&mappo, &spec, &page.spec), ==, 0);
        g_assert_cmpuint(page.spec.observation.shape[0], ==, 5);
        company_join(&mappo, &page, &in, joined);
        g_assert_cmpmem(joined, sizeof(joined), expected, sizeof(expected));
}

static void test_alone(void) {
        static const float own[] = { 1, 2 }, expected[7] = { 1, 2 };
        static const int32_t choice = 1;
        ActordEnvSpec spec = spec_make(1);
        JobPage page = page_make(&spec);
        float joined[7];

        join(&simppo, &page, own, &choice, NULL, NULL, joined);
        g_assert_cmpmem(joined, sizeof(joined), expected, sizeof(expected));
}

static void test_continuous(void) {
        static const float own[] = { 1, 2, 3, 4 }, actions[] = { -2, 5 };
        ActordEnvSpec spec = spec_make(2);
        float joined[2 * 5];
        JobPage page;

        spec.action = (ActordSpace){ ACTORD_BOX, ACTORD_F32, 1, 0, { 1 }, -2, 5 };
        page = page_make(&spec);
        g_assert_cmpfloat(page.spec.observation.low, ==, -2);
        g_assert_cmpfloat(page.spec.observation.high, ==, 5);
        join(&simppo, &page, own, actions, NULL, NULL, joined);
        g_assert_cmpfloat((double) joined[4], ==, 5);
        g_assert_cmpfloat((double) joined[9], ==, -2);
}

/* Whatever 64 agents see, the joined observation has the same length, and its numbers are within the
 * bounds. */
static void test_many(void) {
        ActordEnvSpec spec = spec_make(ACTORD_AGENTS_MAX);
        JobPage page = page_make(&spec);
        float own[2 * ACTORD_AGENTS_MAX], joined[7 * ACTORD_AGENTS_MAX];
        int32_t choices[ACTORD_AGENTS_MAX];

        g_assert_cmpuint(page.spec.observation.shape[0], ==, 7);
        for (int i = 0; i < 1000; i++) {
                for (size_t k = 0; k < G_N_ELEMENTS(own); k++)
                        own[k] = i % 2 ? 4 : (float) g_test_rand_double_range(-1, 4);
                for (size_t a = 0; a < G_N_ELEMENTS(choices); a++)
                        choices[a] = g_test_rand_int_range(0, 3);
                join(&simppo, &page, own, choices, NULL, NULL, joined);
                for (size_t k = 0; k < G_N_ELEMENTS(joined); k++) {
                        g_assert_cmpfloat((double) joined[k], >=, -1);
                        g_assert_cmpfloat((double) joined[k], <=, 4);
                }
        }
}

static void test_refused(void) {
        ActordEnvSpec spec = spec_make(2), kept = {};

        g_assert_cmpint(company_spec(&ppo, &spec, &kept), ==, 0);
        g_assert_cmpmem(&kept, sizeof(kept), &spec, sizeof(spec));
        spec.observation.element = ACTORD_U8;
        g_assert_cmpint(company_spec(&simppo, &spec, &kept), ==, -ECHRNG);
        spec.observation = (ActordSpace){ ACTORD_DISCRETE, ACTORD_I32, 0, 4 };
        g_assert_cmpint(company_spec(&simppo, &spec, &kept), ==, -ECHRNG);
        g_assert_cmpint(company_spec(&ppo, &spec, &kept), ==, 0);
        spec = spec_make(2);
        spec.stack = 4;
        g_assert_cmpint(company_spec(&simppo, &spec, &kept), ==, -ECHRNG);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/company/means", test_means);
        g_test_add_func("/company/all", test_all);
        g_test_add_func("/company/absent", test_absent);
        g_test_add_func("/company/shared", test_shared);
        g_test_add_func("/company/alone", test_alone);
        g_test_add_func("/company/continuous", test_continuous);
        g_test_add_func("/company/many", test_many);
        g_test_add_func("/company/refused", test_refused);
        return g_test_run();
}
