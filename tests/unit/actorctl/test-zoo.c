/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/import/zoo.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

static char *import(const char *yaml, const char *algorithm, const char *entry, char **ret_reason) {
        const ZooRequest request = {
                .text = yaml, .n = strlen(yaml), .file = "x.yml", .algorithm = algorithm, .entry = entry
        };

        return zoo_to_job(&request, ret_reason);
}

/* Imports an entry and returns the text of the job file. */
static char *imported(const char *yaml, const char *algorithm, const char *entry) {
        char *reason = NULL, *job = import(yaml, algorithm, entry, &reason);

        g_assert_cmpstr(reason, ==, NULL);
        g_assert_nonnull(job);
        return job;
}

/* The job has each of these lines. */
#define assert_lines(job, ...) assert_all_lines(job, (const char *const[]){ __VA_ARGS__, NULL })

static void assert_all_lines(const char *job, const char *const *lines) {
        for (size_t i = 0; lines[i]; i++) {
                g_autofree char *whole = g_strdup_printf("\n%s\n", lines[i]);

                if (!strstr(job, whole))
                        g_error("no line \"%s\" in\n%s", lines[i], job);
        }
}

static void test_ppo(void) {
        g_autofree char *job =
                        imported("Hopper-v4:\n"
                                 "  normalize: \"{'norm_obs': True, 'norm_reward': False}\"\n"
                                 "  n_envs: 4\n"
                                 "  n_timesteps: !!float 1e6\n"
                                 "  policy: 'MlpPolicy'\n"
                                 "  n_steps: 512\n"
                                 "  learning_rate: lin_9.8e-05\n"
                                 "  vf_coef: 0.83\n"
                                 "  use_sde: True\n"
                                 "  policy_kwargs: \"dict(log_std_init=-2, ortho_init=False, "
                                 "activation_fn=nn.ReLU, net_arch=dict(pi=[256, 128], vf=[256, 128]))\"\n",
                                        "ppo", NULL);

        assert_lines(job, "Environment=Hopper-v4", "StopSteps=1000000", "EnvsPerActor=4", "RolloutSteps=512",
                        "LearningRate=9.8e-05", "LearningRateSchedule=linear", "NormalizeObservations=yes",
                        "NormalizeRewards=no", "HiddenLayers=256 128", "Activation=relu",
                        "OrthogonalInit=no", "LogStdInit=-2");
        /* vf_coef times 2: ValueWeight= is the weight of half the squared error. */
        assert_lines(job, "ValueWeight=1.66");
        /* Where the entry says nothing, the job has the defaults of Stable-Baselines3. */
        assert_lines(job, "Epochs=10", "# Stable-Baselines3: n_epochs 10", "#     use_sde: True");
}

static void test_activations(void) {
        g_autofree char *silu =
                        imported("A-v1:\n  policy_kwargs: \"dict(activation_fn=nn.SiLU)\"\n", "ppo", NULL);
        g_autofree char *elu =
                        imported("A-v1:\n  policy_kwargs: \"dict(activation_fn=nn.ELU)\"\n", "ppo", NULL);
        g_autofree char *dqn = imported("A-v1:\n  train_freq: (1, 'episode')\n", "dqn", NULL);

        assert_lines(silu, "Activation=silu");
        g_assert_null(strstr(elu, "Activation="));
        assert_lines(elu, "#     policy_kwargs: dict(activation_fn=nn.ELU)");
        g_assert_null(strstr(dqn, "TargetInterval="));
}

static void test_small_round(void) {
        g_autofree char *job = imported("A-v1:\n  n_steps: 8\n  batch_size: 256\n", "ppo", NULL);

        assert_lines(job, "MinibatchSize=8");
}

static void test_off_policy(void) {
        g_autofree char *dqn = imported("CartPole-v1:\n"
                                        "  n_timesteps: !!float 5e4\n"
                                        "  buffer_size: 100000\n"
                                        "  train_freq: 256\n"
                                        "  gradient_steps: 128\n"
                                        "  target_update_interval: 10\n"
                                        "  exploration_fraction: 0.16\n"
                                        "  policy_kwargs: \"dict(net_arch=[256, 256])\"\n",
                        "dqn", NULL);
        g_autofree char *sac = imported("Pendulum-v1:\n"
                                        "  n_timesteps: 20000\n"
                                        "  train_freq: [1, episode]\n",
                        "sac", NULL);

        assert_lines(dqn, "RolloutSteps=256", "TrainRatio=0.5", "TargetInterval=5", "EpsilonSteps=8000",
                        "ReplaySize=50000");
        assert_lines(sac, "Temperature=", "HiddenLayers=256 256");
        /* A train_freq in episodes gives no number of steps, so no setting is computed from it. */
        assert_lines(sac, "#     train_freq: [1, episode]");
}

static void test_entries(void) {
        const char *yaml = "A-v1: &base\n  n_timesteps: 100\n  gamma: 0.5\n"
                           "B-v1:\n  <<: *base\n  gamma: 0.25\n";
        g_autofree char *b = imported(yaml, "ppo", "B-v1"), *reason = NULL, *other = NULL;

        assert_lines(b, "Gamma=0.25", "StopSteps=100");
        g_assert_null(import(yaml, "ppo", NULL, &reason));
        g_assert_cmpstr(reason, ==, "x.yml: name one of its entries after the file: A-v1, B-v1");
        g_assert_null(import(yaml, "ppo", "C-v1", &other));
        g_assert_cmpstr(other, ==, "x.yml: there is no entry C-v1; there are: A-v1, B-v1");
}

static void test_refusals(void) {
        static const struct {
                const char *yaml, *algorithm, *says;
        } cases[] = {
                { "a: [", "ppo", "it is not YAML" },
                { "- 1\n", "ppo", "it has no entries" },
                { "", "ppo", "it has no entries" },
                { "a: 1\n", "ppo", "it has no entries" },
                { "a:\n  b: 1\n", "her", "algorithm her cannot be imported" },
                { "\"a\\nStopSteps=1\":\n  b: 1\n", "ppo", "is not an environment's" },
                { "a: &a\n  <<: *a\n", "ppo", "more than" },
                { "a: &a\n  <<: *a\n  <<: *a\n", "ppo", "more than" },
                { "a:\n  <<: 3\n", "ppo", "must be an entry" },
                { "a:\n  n_envs: 0\n", "dqn", "n_envs must be at least 1" },
                { "a:\n  n_timesteps: -3\n", "ppo", "n_timesteps must be at least 1" },
                { "a:\n  train_freq: 0\n", "dqn", "train_freq must be at least 1" },
                { "a:\n  train_freq: -1\n", "sac", "train_freq must be at least 1" },
                { "a:\n  gradient_steps: 0\n", "td3", "gradient_steps must not be 0" },
                { "a:\n  buffer_size: 0\n", "ddpg", "buffer_size must be at least 1" },
                { "a:\n  target_update_interval: 0\n", "dqn", "target_update_interval must be at least 1" },
                { "a:\n  policy_delay: -2\n", "td3", "policy_delay must be at least 1" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *reason = NULL;

                g_assert_null(import(cases[i].yaml, cases[i].algorithm, NULL, &reason));
                g_assert_nonnull(reason);
                if (!strstr(reason, cases[i].says))
                        g_error("%s: %s", cases[i].says, reason);
        }
}

/* A megabyte of brackets is refused at once: libyaml alone would take minutes. */
static void test_nested(void) {
        enum { DEPTH = 1000000 };
        g_autofree char *yaml = g_malloc(DEPTH + 4), *reason = NULL;

        memcpy(yaml, "a: ", 3);
        memset(yaml + 3, '[', DEPTH);
        yaml[DEPTH + 3] = '\0';
        g_assert_null(import(yaml, "ppo", NULL, &reason));
        g_assert_cmpstr(reason, ==, "x.yml: line 1: lists and mappings are nested more than 32 deep");
}

static void test_anchors(void) {
        g_autoptr(GString) yaml = g_string_new("a: [");
        g_autofree char *reason = NULL;

        for (unsigned i = 0; i < 100000; i++)
                g_string_append_printf(yaml, "&x%u 1, ", i);
        g_string_append(yaml, "1]\n");
        g_assert_null(import(yaml->str, "ppo", NULL, &reason));
        g_assert_cmpstr(reason, ==, "x.yml: line 1: there are more than 1000 anchors (&)");
}

/* A negative gradient_steps means as many gradient steps as environment steps, as in Stable-Baselines3. */
static void test_as_many(void) {
        g_autofree char *minus_one = imported("a:\n  train_freq: 8\n  gradient_steps: -1\n", "sac", NULL);
        g_autofree char *minus_two = imported("a:\n  train_freq: 8\n  gradient_steps: -2\n", "sac", NULL);

        assert_lines(minus_one, "RolloutSteps=8", "TrainRatio=1");
        assert_lines(minus_two, "RolloutSteps=8", "TrainRatio=1");
}

/* Text of a hostile file never leaves the comment into which it is printed. */
static void test_hostile_text(void) {
        g_autofree char *job = imported("A-v1:\n  \"x\\n[Job]\\nBudget\": \"1\\n[Actor]\\nPython=/\"\n"
                                        "  gamma: \"0.9\\nLambda=0\"\n  \"\\e[31m\": 1\n",
                        "ppo", NULL);

        g_assert_null(strstr(job, "\nPython=/\n"));
        g_assert_null(strstr(job, "\nLambda=0\n"));
        g_assert_null(strchr(job, '\033'));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/zoo/ppo", test_ppo);
        g_test_add_func("/zoo/activations", test_activations);
        g_test_add_func("/zoo/small-round", test_small_round);
        g_test_add_func("/zoo/off-policy", test_off_policy);
        g_test_add_func("/zoo/entries", test_entries);
        g_test_add_func("/zoo/refusals", test_refusals);
        g_test_add_func("/zoo/nested", test_nested);
        g_test_add_func("/zoo/anchors", test_anchors);
        g_test_add_func("/zoo/as-many", test_as_many);
        g_test_add_func("/zoo/hostile-text", test_hostile_text);
        return g_test_run();
}
