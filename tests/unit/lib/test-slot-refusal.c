/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/slot-refusal.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

static const ActordEnvSpec spec = {
        .name = "Toy-v0",
        .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 4 }, -INFINITY, INFINITY },
        .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 2 },
        .n_agents = 1,
        .reward_high = 1,
        .instance_bytes = 100,
};

/* Describes a job with two hidden layers of these sizes. */
static bool describe(uint32_t first, uint32_t second, uint32_t steps, char ret[SIZE_SENTENCE_MAX]) {
        JobSettings settings = {
                .envs_per_actor = 8,
                .rollout_steps = steps,
                .hidden_layers = { 2, { first, second } },
                .learner_memory_max_bytes = UINT64_MAX,
        };
        static JobPage page;
        bool large = job_size_describe(&settings, &spec, ret);

        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, large ? -E2BIG : 0);
        return large;
}

static void test_sizes(void) {
        char sentence[SIZE_SENTENCE_MAX] = "as it was";

        g_assert_false(describe(64, 64, 128, sentence));
        g_assert_cmpstr(sentence, ==, "as it was");
        g_assert_true(describe(40000, 20000, 128, sentence));
        g_assert_nonnull(strstr(sentence, "more than 65536 numbers; make [Learner] HiddenLayers="));
        /* actor and critic: 2 (4 * 16000 + 16000 * 16000 + 32000), and the two heads */
        g_assert_true(describe(16000, 16000, 128, sentence));
        g_assert_nonnull(strstr(sentence, "it has 512240003 parameters of 4 bytes"));
        g_assert_nonnull(strstr(sentence, "1 GiB; make [Learner] HiddenLayers= or Convolutions= smaller"));
        g_assert_true(describe(64, 64, 1 << 24, sentence));
        g_assert_nonnull(strstr(sentence, "EnvsPerActor=8 environments with RolloutSteps=16777216 steps"));
        g_assert_true(g_str_has_suffix(sentence, "4 GiB; make one of them smaller"));
}

/* Lanczos's method keeps a vector for each step and one more; nothing else is kept here. */
static void test_curvature(void) {
        JobSettings settings = {
                .envs_per_actor = 8,
                .rollout_steps = 128,
                .hidden_layers = { 2, { 64, 64 } },
                .curvature = CURVATURE_LOSS,
                .curvature_steps = 1000,
                .learner_memory_max_bytes = UINT64_MAX,
        };
        static JobPage page;
        uint64_t bytes;

        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        bytes = 1001 * 8 * page.network.n_parameters;
        settings.learner_memory_max_bytes = bytes;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        settings.learner_memory_max_bytes = bytes - 1;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -ENOBUFS);
        g_assert_cmpint(spec_field_of_error(-ENOBUFS), ==, SPEC_FIELD_CURVATURE);
        settings.curvature_steps = 999;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        /* a scheduler measures it, too */
        settings.curvature_steps = 1000;
        settings.curvature = CURVATURE_NONE;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        settings.scheduler.kind = SCHEDULER_NITRO;
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, -ENOBUFS);
}

static void test_fields(void) {
        g_assert_cmpint(spec_field_of_error(-E2BIG), ==, SPEC_FIELD_SIZE);
        g_assert_cmpint(spec_field_of_error(-EOPNOTSUPP), ==, SPEC_FIELD_VALUES);
        for (int error = 0; error < 4096; error++)
                g_assert_nonnull(spec_field_to_string((int) spec_field_of_error(-error)));
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/slot-refusal/sizes", test_sizes);
        g_test_add_func("/slot-refusal/curvature", test_curvature);
        g_test_add_func("/slot-refusal/fields", test_fields);
        return g_test_run();
}
