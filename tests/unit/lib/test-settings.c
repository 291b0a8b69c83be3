/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Job files: every row of the table by itself, error messages, and print → parse with random
 * values. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/settings/print.h"
#include "lib/settings/settings.h"

#define CARTPOLE "[Job]\nEnvironment=CartPole-v1\n"

static const char *const sheets[] = { "aws-lambda-x86", "aws-lambda-arm64", "local", NULL };

static int parse(const char *text, const char *set, JobSettings *ret, char **ret_message) {
        g_autofree char *key = g_strdup(set ? set : "x=");
        char *equals = strchr(key, '=');
        SettingOverride override = { key, equals + 1 };

        *equals = '\0';
        return settings_parse(text, "x.conf", set ? &override : NULL, set ? 1 : 0, sheets, ret, ret_message);
}

static void accept(const char *text, const char *set, JobSettings *ret) {
        g_autofree char *message = NULL;
        int r;

        r = parse(text, set, ret, &message);
        if (r < 0)
                g_error("%s", message);
}

/* Expects that the text is refused, with sentences that have each of these words. */
static void refuse(const char *text, const char *set, ...) {
        g_autofree char *message = NULL;
        JobSettings settings;
        const char *word;
        va_list words;
        int r;

        memset(&settings, 0x5a, sizeof(settings));
        r = parse(text, set, &settings, &message);
        g_assert_cmpint(r, ==, -EINVAL);
        g_assert_nonnull(message);
        /* A parse that fails leaves the settings as they were. */
        g_assert_cmpuint(settings.abi, ==, 0x5a5a5a5a);
        va_start(words, set);
        while ((word = va_arg(words, const char *)))
                if (!strstr(message, word))
                        g_error("no \"%s\" in: %s", word, message);
        va_end(words);
}

static void test_defaults(void) {
        JobSettings settings;

        accept(CARTPOLE, NULL, &settings);
        g_assert_cmpuint(settings.abi, ==, SETTINGS_ABI);
        g_assert_cmpuint(settings.struct_bytes, ==, sizeof(settings));
        for (int i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);
                char text[SETTING_TEXT_MAX];
                size_t n = setting_print(&settings, i, text);

                g_assert_cmpuint(n, ==, strlen(text));
                g_assert_cmpint(settings_present(&settings, i), ==, i == SETTING_Job_Environment);
                /* A key has a text exactly when it has a default or was given. */
                g_assert_cmpint(n > 0, ==, row->fallback[0] || i == SETTING_Job_Environment);
        }
        g_assert_null(setting_row(_SETTING_MAX));
        g_assert_null(setting_row(_SETTING_INVALID));
        g_assert_cmpuint(settings.memory_max_bytes, ==, 1769ull << 20);
        g_assert_cmpuint(settings.timeout_usec, ==, 60000000);
        g_assert_cmpuint(settings.cold_usec, ==, 300000);
        g_assert_cmpuint(settings.hidden_layers.n, ==, 2);
        g_assert_cmpuint(settings_actors_max(&settings), ==, 1);
}

/* If a file sets a key to its default, the settings are the same as without the key, and are printed
 * alike. */
static void test_rows(void) {
        JobSettings reference;

        accept(CARTPOLE, NULL, &reference);
        for (int i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);
                g_autofree char *text = NULL;
                char before[SETTING_TEXT_MAX], after[SETTING_TEXT_MAX];
                JobSettings settings;

                if (row->fallback[0] == '\0' || i == SETTING_Job_Environment ||
                                i == SETTING_Learner_MinibatchSize)
                        continue;
                text = g_strdup_printf(CARTPOLE "[%s]\n%s=%s\n", row->section, row->key, row->fallback);
                accept(text, NULL, &settings);
                g_assert_true(settings_present(&settings, i));
                (void) setting_print(&reference, i, before);
                (void) setting_print(&settings, i, after);
                g_assert_cmpstr(before, ==, after);
                settings.present[i / 64] &= ~(1ull << (i % 64));
                g_assert_cmpmem(&settings, sizeof(settings), &reference, sizeof(reference));
        }
}

/* Words that only older files have keep their meaning, or mean the most similar thing that exists now. */
static void test_older_words(void) {
        static const struct {
                const char *word;
                uint32_t class;
        } cases[] = { { "generic", KERNEL_CLASS_SCALAR }, { "haswell", KERNEL_CLASS_AVX2 },
                { "skylakex", KERNEL_CLASS_AVX512 }, { "avx2", KERNEL_CLASS_AVX2 } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(
                                "[Job]\nEnvironment=CartPole-v1\n[Learner]\nKernelClass=%s\n",
                                cases[i].word);
                g_autofree char *message = NULL;
                JobSettings settings;

                g_assert_cmpint(parse(text, NULL, &settings, &message), ==, 0);
                g_assert_cmpuint(settings.kernel_class, ==, cases[i].class);
        }
}

/* A number below the lower bound or above the upper bound of its key is refused. */
static void test_bounds(void) {
        static const struct {
                const char *section, *key, *type;
                double low, high;
        } bounds[] = {
#define X(section, key, type, member, fallback, lowest, highest, help) \
        { #section, #key, #type, lowest, highest },
                SETTINGS(X)
#undef X
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bounds); i++) {
                g_autofree char *below = NULL, *above = NULL, *seen_below = NULL, *seen_above = NULL;

                if (strcmp(bounds[i].type, "u32") != 0 && strcmp(bounds[i].type, "f64") != 0)
                        continue;
                below = g_strdup_printf(
                                "%s.%s=%.0f", bounds[i].section, bounds[i].key, floor(bounds[i].low) - 1);
                above = g_strdup_printf(
                                "%s.%s=%.17g", bounds[i].section, bounds[i].key, bounds[i].high * 2 + 1);
                refuse(CARTPOLE, bounds[i].low < -1e9 ? "Job.Seed=-1" : below, "out of range", NULL);
                refuse(CARTPOLE, above, "out of range", bounds[i].key, NULL);
        }
}

static void test_units(void) {
        JobSettings s;

        accept(CARTPOLE, "Actor.MemoryMax=2G", &s);
        g_assert_cmpuint(s.memory_max_bytes, ==, 2ull << 30);
        accept(CARTPOLE, "Actor.MemoryMax=1.5GiB", &s);
        g_assert_cmpuint(s.memory_max_bytes, ==, 3ull << 29);
        accept(CARTPOLE, "Job.RuntimeMaxSec=2h 30min", &s);
        g_assert_cmpuint(s.runtime_max_usec, ==, 9000000000);
        accept(CARTPOLE, "Job.RuntimeMaxSec=1.5s", &s);
        g_assert_cmpuint(s.runtime_max_usec, ==, 1500000);
        accept(CARTPOLE, "Job.RuntimeMaxSec=5min", &s);
        g_assert_cmpuint(s.runtime_max_usec, ==, 300000000);
        accept(CARTPOLE, "Job.RuntimeMaxSec=90", &s);
        g_assert_cmpuint(s.runtime_max_usec, ==, 90000000);
        accept(CARTPOLE, "Job.Budget=0.05USD", &s);
        g_assert_cmpuint(s.budget.nano, ==, 50000000);
        accept(CARTPOLE, "Job.Budget=1e-7", &s);
        g_assert_cmpuint(s.budget.nano, ==, 100);
        g_assert_cmpstr(s.budget.currency, ==, "");
        accept(CARTPOLE, "Job.Budget=0.1 EUR", &s);
        g_assert_cmpuint(s.budget.nano, ==, 100000000);
        g_assert_cmpstr(s.budget.currency, ==, "EUR");
        accept(CARTPOLE, "Actor.CPUQuota=57.9%", &s);
        g_assert_cmpuint(s.cpu_quota_permille, ==, 579);
        accept(CARTPOLE, "Actor.AllowedCPUs=0-3,8", &s);
        g_assert_cmpuint(s.allowed_cpus.words[0], ==, 0x10f);
        accept(CARTPOLE, "Learner.HiddenLayers=256 128 64", &s);
        g_assert_cmpuint(s.hidden_layers.n, ==, 3);
        g_assert_cmpuint(s.hidden_layers.values[1], ==, 128);
        accept(CARTPOLE, "Learner.NormalizeObservations=on", &s);
        g_assert_cmpuint(s.normalize_observations, ==, 1);
        accept(CARTPOLE, "Job.StopSteps=1e6", &s);
        g_assert_cmpuint(s.stop_steps, ==, 1000000);
        accept(CARTPOLE, "Job.StopSteps=2.5e3", &s);
        g_assert_cmpuint(s.stop_steps, ==, 2500);
        accept(CARTPOLE, "Job.Seed=50e-1", &s);
        g_assert_cmpuint(s.seed, ==, 5);
        accept(CARTPOLE, "Job.Seed=9007199254740993", &s);
        g_assert_cmpuint(s.seed, ==, 9007199254740993);
}

static void test_units_refused(void) {
        static const char *const wrong[] = { "Actor.MemoryMax=512X", "Actor.MemoryMax=1",
                "Actor.CPUQuota=50", "Actor.AllowedCPUs=3-1", "Actor.AllowedCPUs=1024",
                "Actor.AllowedCPUs=a", "Job.RuntimeMaxSec=5 parsecs", "Job.Budget=-1", "Job.Budget=0",
                "Job.Budget=five", "Learner.LearningRate=nan", "Learner.LearningRate=0x1p-3",
                "Learner.LearningRate=1e999", "Learner.HiddenLayers=64 -1",
                "Learner.HiddenLayers=1 2 3 4 5 6 7 8 9", "Learner.SharedNetwork=maybe",
                "Job.StopSteps=1.5.2", "Job.StopSteps=99999999999999999999999999999999999",
                "Job.StopSteps=1e400", "Job.Seed=-1" };

        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                refuse(CARTPOLE, wrong[i], "--set ", wrong[i], NULL);
}

/* A fraction of a count is refused, never rounded. */
static void test_fractions(void) {
        static const char *const wrong[] = { "Job.Seed=1.5", "Job.Seed=2.5", "Job.Seed=0.5", "Job.Seed=1e-3",
                "Job.Seed=15e-1", "Job.Seed=9007199254740992.5", "Job.Seed=-0.5", "Scaling.Actors=2.7",
                "Job.StopSteps=1000.5", "Job.StopSteps=1.0005k", "Learner.Epochs=4.5",
                "Scaling.MinActors=0.6", "Learner.HiddenLayers=64 32.5" };

        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                refuse(CARTPOLE, wrong[i], wrong[i], ": not a whole number", NULL);
        refuse(CARTPOLE "Seed=1.5\n", NULL, "x.conf:3: [Job] Seed=1.5: not a whole number", NULL);
}

static void test_merging(void) {
        JobSettings s;

        accept("[Job]\nEnvironment=CartPole-v1\n[Learner]\nEpochs=3\n[Job]\nSeed=7\n[Learner]\nGamma=0.5\n",
                        NULL, &s);
        g_assert_cmpuint(s.seed, ==, 7);
        g_assert_cmpuint(s.epochs, ==, 3);
        g_assert_cmpfloat(s.gamma, ==, 0.5);
        /* An empty value means unset, in the file and in an override. */
        accept(CARTPOLE "StopReturn=475\n", "Job.StopReturn=", &s);
        g_assert_false(settings_present(&s, SETTING_Job_StopReturn));
        accept(CARTPOLE "Seed=\n", NULL, &s);
        g_assert_cmpuint(s.seed, ==, 1);
        refuse(CARTPOLE "Seed=a\n", NULL, "x.conf:3: [Job] Seed=a", NULL);
}

static void test_sentences(void) {
        refuse(CARTPOLE "[Learner]\nLearningRat=0.1\n", NULL, "x.conf:4: [Learner] LearningRat=0.1",
                        "did you mean LearningRate?", NULL);
        refuse(CARTPOLE "[Lerner]\nEpochs=3\n", NULL, "x.conf:3: [Lerner]", "did you mean Learner?", NULL);
        refuse(CARTPOLE "[Learner]\nRolloutSteps=3\n", NULL, "x.conf:4:", "belongs to [Actor]", NULL);
        refuse(CARTPOLE "StopSteps=1.5M\n", NULL, "x.conf:3:", "not a whole number: write 1500000", NULL);
        refuse("[Experiment]\n", NULL, "x.conf:1: [Experiment]", "`actorctl experiment` runs it", NULL);
        refuse(CARTPOLE "[Scaling]\nMaxActors=-3\n", NULL, "x.conf:4: [Scaling] MaxActors=-3",
                        "from 1 to 10000", NULL);
        refuse(CARTPOLE "[Learner]\nLearningRate=fast\n", NULL, "LearningRate=fast: not a number", NULL);
        refuse(CARTPOLE "[Learner]\nActivation=mish\nCurvature=loss\n", NULL, "needs tanh or relu", NULL);
        refuse(CARTPOLE "[Learner]\nActivation=tahn\n", NULL,
                        "one of tanh, relu, silu, mish; did you mean tanh?", NULL);
        refuse("[Job]\nEnvironment=CartPol-v1\n", NULL, "x.conf:2: [Job] Environment=CartPol-v1",
                        "did you mean CartPole-v1?", NULL);
        refuse("[Job]\nEnvironment=mine.so\n", NULL, "did you mean ./mine.so?", NULL);
        refuse("[Job]\nEnvironment=./..\n", NULL, "names a directory; a plugin is a file", NULL);
        refuse("[Job]\nEnvironment=./.\n", NULL, "names a directory", NULL);
        refuse("[Job]\nEnvironment=.\n", NULL, "names a directory", NULL);
        refuse("[Job]\nEnvironment=./x/..\n", NULL, "names a directory", NULL);
        refuse("[Job]\nEnvironment=./x/\n", NULL, "names a directory", NULL);
        refuse("[Job]\nEnvironment=/\n", NULL, "names a directory", NULL);
        refuse("[Job]\nEnvironment=mujoco:./..\n[Environment]\nReward=alive 1\n", NULL,
                        "write mujoco:FILE.xml", NULL);
        refuse("[Job]\nSeed=3\n", NULL, "[Job] Environment=", NULL);
        refuse(CARTPOLE "[Billing]\nPriceSheet=aws-lamda-x86\n", NULL,
                        "x.conf:4:", "did you mean aws-lambda-x86?", NULL);
        refuse(CARTPOLE "[Environment]\nSutonBartoReward=yes\n", NULL,
                        "x.conf:4: [Environment] SutonBartoReward=yes", "did you mean SuttonBartoReward?",
                        NULL);
        refuse(CARTPOLE, "StopReturn=4", "--set StopReturn=4",
                        "did you mean Job.StopReturn or Evaluation.StopReturn?", NULL);
        refuse(CARTPOLE, "Policy=auto", "did you mean Distribution.Policy or Scaling.Policy?", NULL);
        refuse(CARTPOLE, "seed=4", "did you mean Job.Seed?", NULL);
        refuse(CARTPOLE "[Actor]\nPolicy=auto\n", NULL,
                        "x.conf:4:", "belongs to [Distribution] or [Scaling]", NULL);
        refuse(CARTPOLE, "Jbo.Seed=4", "--set Jbo.Seed=4", "did you mean Job?", NULL);
        refuse(CARTPOLE, "Job.Sed=4", "--set Job.Sed=4", "did you mean Seed?", NULL);
}

static void test_syntax(void) {
        refuse(CARTPOLE "hello\n", NULL, "x.conf:3:", "Key=VALUE", NULL);
        refuse("Seed=1\n" CARTPOLE, NULL, "x.conf:1:", "before the first section", NULL);
        refuse("\xef\xbb\xbf" CARTPOLE, NULL, "x.conf:1:", "byte order mark", NULL);
        refuse(CARTPOLE "\n[Actor\n", NULL, "x.conf:4:", "not a section", NULL);
        refuse(CARTPOLE "=4\n", NULL, "x.conf:3:", NULL);
        refuse(CARTPOLE "Description=\xff\n", NULL, "x.conf:3:", "UTF-8", NULL);
        refuse("", NULL, "x.conf", "Environment=", NULL);
}

static void test_relations(void) {
        JobSettings s;

        refuse(CARTPOLE "[Scaling]\nActors=4\nMaxActors=3\n", NULL, "x.conf:4:", "MaxActors=3", NULL);
        refuse(CARTPOLE "[Scaling]\nMinActors=4\nMaxActors=3\n", NULL, "MinActors=4", "MaxActors=3", NULL);
        refuse(CARTPOLE "[Learner]\nMinibatchSize=129\n", NULL, "x.conf:4:", "128 rows", NULL);
        refuse(CARTPOLE, "Learner.AdamBeta1=1", "--set Learner.AdamBeta1=1", NULL);
        refuse(CARTPOLE "[Learner]\nAdamEpsilon=0\n", NULL, "x.conf:4:", "AdamEpsilon=0:", NULL);
        refuse(CARTPOLE "[Learner]\nAdamEpsilon=1e-60\n", NULL, "AdamEpsilon=1e-60:", NULL);
        accept(CARTPOLE "[Learner]\nAdamEpsilon=1e-30\n", NULL, &s);
        refuse(CARTPOLE "[Learner]\nKLWeight=1\nKLTarget=0\n", NULL, "KLTarget=0", NULL);
        accept(CARTPOLE "[Learner]\nMinibatchSize=128\n", NULL, &s);
        /* With more actors a round has more rows. */
        accept(CARTPOLE "[Scaling]\nPolicy=max\nMaxActors=2\n[Learner]\nMinibatchSize=256\n", NULL, &s);
        refuse(CARTPOLE "[Scaling]\nPolicy=max\nMaxActors=2\n[Learner]\nMinibatchSize=257\n", NULL,
                        "256 rows (MaxActors=2", NULL);
        /* A plugin's keys are not checked here. */
        accept("[Job]\nEnvironment=./mine.so\n[Environment]\nAnything=goes\n", NULL, &s);
        g_assert_cmpuint(s.n_options, ==, 1);
        g_assert_cmpstr(s.options[0].key, ==, "Anything");
        g_assert_cmpstr(s.options[0].value, ==, "goes");
        accept("[Job]\nEnvironment=./mine.so\n[Environment]\nAnything=goes\n", "Environment.Anything=went",
                        &s);
        g_assert_cmpuint(s.n_options, ==, 1);
        g_assert_cmpstr(s.options[0].value, ==, "went");
}

static void test_convolutions(void) {
        JobSettings s;

        accept(CARTPOLE "[Learner]\nConvolutions=32x8/4 16x3+1, 8x2\nHiddenLayers=0\n", NULL, &s);
        g_assert_cmpuint(s.convolutions.n, ==, 3);
        g_assert_cmpuint(s.convolutions.layers[0].channels, ==, 32);
        g_assert_cmpuint(s.convolutions.layers[0].kernel, ==, 8);
        g_assert_cmpuint(s.convolutions.layers[0].stride, ==, 4);
        g_assert_cmpuint(s.convolutions.layers[1].stride, ==, 1);
        g_assert_cmpuint(s.convolutions.layers[1].padding, ==, 1);
        g_assert_cmpuint(settings_hidden_layers(&s), ==, 0);
        refuse(CARTPOLE "[Learner]\nConvolutions=32x8/4 64x\n", NULL, "x.conf:4:", "`64x`", "32x8/4", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=32x8+8\n", NULL, "`32x8+8`", "less padding than kernel",
                        NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=32x8/0\n", NULL, "`32x8/0`", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=1x1 1x1 1x1 1x1 1x1 1x1 1x1\n", NULL, "more than 6 layers",
                        NULL);
        refuse(CARTPOLE "[Learner]\nHiddenLayers=0\n", NULL, "x.conf:4:", "Convolutions=", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=8x2\nHiddenLayers=5 0\n", NULL, "at least one unit", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=8x2\nNormalizeObservations=yes\n", NULL,
                        "NormalizeObservations=yes", "divides each byte of an image by 255", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=8x2\nCurvature=loss\n", NULL, "Curvature=loss", NULL);
        refuse(CARTPOLE "[Learner]\nConvolutions=8x2\n[Scaling]\nPolicy=nitro\n", NULL, "Policy=nitro",
                        "curvature", NULL);
}

static void test_scaling(void) {
        JobSettings s;

        refuse(CARTPOLE "[Scaling]\nPolicy=random\n", NULL, "x.conf:4:", "needs MaxActors=", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=nitr\nMaxActors=4\n", NULL, "did you mean nitro?", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=max:7\nMaxActors=4\n", NULL, "max takes nothing after a colon",
                        NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=replay\nMaxActors=4\n", NULL, "replay:JOB", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=permuted:\nMaxActors=4\n", NULL, "permuted:JOB", NULL);
        accept(CARTPOLE "[Scaling]\nPolicy=replay:./a:b.json\nMaxActors=4\n", NULL, &s);
        g_assert_cmpuint(s.scheduler.kind, ==, SCHEDULER_REPLAY);
        g_assert_cmpstr(s.scheduler.argument, ==, "./a:b.json");

        refuse(CARTPOLE "[Scaling]\nPolicy=adapt\nMaxActors=4\n", NULL, "needs TargetReturn=", NULL);
        refuse(CARTPOLE "Algorithm=dqn\n[Scaling]\nPolicy=auto\nMaxActors=4\n", NULL,
                        "noise scale, which Algorithm=dqn does not measure", NULL);
        refuse(CARTPOLE "Algorithm=dqn\n[Scaling]\nPolicy=kungfu\nMaxActors=4\n", NULL,
                        "noise scale, which Algorithm=dqn does not measure", NULL);
        refuse(CARTPOLE "Algorithm=dqn\n[Scaling]\nPolicy=nitro\nMaxActors=4\n", NULL,
                        "objective's curvature, which Algorithm=dqn does not measure", NULL);
        refuse(CARTPOLE "Algorithm=dqn\n[Scaling]\nPolicy=nitro-code\nMaxActors=4\n", NULL,
                        "objective's curvature, which Algorithm=dqn does not measure", NULL);
        accept(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\n", NULL, &s);
        g_assert_cmpfloat(s.time_price, ==, 1);
        accept(CARTPOLE "StopReturn=3\n[Scaling]\nPolicy=adapt\nMaxActors=4\n", NULL, &s);
        g_assert_cmpfloat(settings_target_return(&s), ==, 3);
        accept(CARTPOLE "StopReturn=3\n[Evaluation]\nEpisodes=5\nStopReturn=4\n[Scaling]\nPolicy=adapt\n"
                        "MaxActors=4\n",
                        NULL, &s);
        g_assert_cmpfloat(settings_target_return(&s), ==, 4);
        accept(CARTPOLE "StopReturn=3\n[Scaling]\nPolicy=adapt\nMaxActors=4\nTargetReturn=-2\n", NULL, &s);
        g_assert_cmpfloat(settings_target_return(&s), ==, -2);

        refuse(CARTPOLE "[Scaling]\nPolicy=schedule\nMaxActors=4\n", NULL, "needs Schedule=", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=schedule\nMaxActors=4\nSchedule=4*10 5*10\n", NULL,
                        "x.conf:6:", "5*10", "MaxActors=4", NULL);
        refuse(CARTPOLE "[Scaling]\nSchedule=4*0\n", NULL, "`4*0` is not actors*rounds", NULL);
        refuse(CARTPOLE "[Scaling]\nSchedule=4*x\n", NULL, "`4*x`", NULL);
        refuse(CARTPOLE "[Scaling]\nSchedule=0*4\n", NULL, "`0*4`", "from 1 to 10000", NULL);
        accept(CARTPOLE "[Scaling]\nPolicy=schedule\nMaxActors=4\nSchedule=4*10, 2\n", NULL, &s);
        g_assert_cmpuint(s.schedule.n, ==, 2);
        g_assert_cmpuint(s.schedule.runs[0].n_actors, ==, 4);
        g_assert_cmpuint(s.schedule.runs[0].n_rounds, ==, 10);
        g_assert_cmpuint(s.schedule.runs[1].n_actors, ==, 2);
        g_assert_cmpuint(s.schedule.runs[1].n_rounds, ==, 1);
}

/* Each objective needs a key of its own, and no other objective reads it. */
static void test_objectives(void) {
        JobSettings s;

        refuse(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\nObjective=deadline\n", NULL,
                        "x.conf:6:", "this objective needs Deadline=, a time on the emulated clock", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\nObjective=budget\n", NULL,
                        "x.conf:6:", "this objective needs [Job] Budget=", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\nDeadline=2h\n", NULL,
                        "x.conf:6:", "cost-time does not read this key; write Objective=deadline", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=max\nMaxActors=4\nObjective=deadline\nDeadline=2h\n", NULL,
                        "Policy=max weighs neither money nor time; only Policy=auto does", NULL);
        refuse(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\nObjective=deadline\nDeadline=0\n", NULL,
                        "x.conf:7:", "Deadline=", NULL);
        accept(CARTPOLE "Budget=1USD\n[Scaling]\nPolicy=auto\nMaxActors=4\nObjective=budget\n", NULL, &s);
        g_assert_cmpuint(s.objective, ==, OBJECTIVE_BUDGET);
        accept(CARTPOLE "[Scaling]\nPolicy=auto\nMaxActors=4\nObjective=deadline\nDeadline=90s\n", NULL, &s);
        g_assert_cmpuint(s.deadline_usec, ==, 90000000);
}

static void test_sizes(void) {
        g_autofree char *padding = g_strnfill(JOB_TEXT_MAX, '#');
        g_autofree char *large = g_strconcat(CARTPOLE, padding, NULL);
        g_autofree char *name = g_strnfill(300, 'a');
        g_autofree char *description = g_strconcat(CARTPOLE "Description=", name, "\n", NULL);
        g_autoptr(GString) options = g_string_new("[Job]\nEnvironment=./x.so\n[Environment]\n");

        refuse(large, NULL, "256 KiB", NULL);
        refuse(description, NULL, "255 bytes", NULL);
        name[JOB_TAG_MAX + 1] = '\0';
        g_free(description);
        description = g_strconcat(CARTPOLE "Tag=", name, "\n", NULL);
        refuse(description, NULL, "x.conf:3: [Job] Tag=", "a tag has at most 64", NULL);
        refuse(CARTPOLE "Tag=two words\n", NULL, "a tag has at most 64", NULL);
        refuse(CARTPOLE "Tag=\xc3\xa4\n", NULL, "a tag has at most 64", NULL);
        for (unsigned i = 0; i <= OPTIONS_MAX; i++)
                g_string_append_printf(options, "Key%u=1\n", i);
        refuse(options->str, NULL, "more than 32 keys", NULL);
        /* A value in a message is sanitised. */
        refuse(CARTPOLE, "Job.Seed=\033[2J", "Seed=?[2J", NULL);
}

/* Random values of every type. */
#define RANDOM_string(value, low, high) \
        g_snprintf(*(value), sizeof(*(value)), "word %u;#%%\\", g_test_rand_int_range(0, 1000))
#define RANDOM_u32(value, low, high)     *(value) = (uint32_t) g_test_rand_double_range(low, (high) + 1)
#define RANDOM_percent(value, low, high) RANDOM_u32(value, low, high)
#define RANDOM_bool(value, low, high)    *(value) = g_test_rand_bit()
#define RANDOM_f64(value, low, high)     *(value) = g_test_rand_double_range(MAX(low, -1e6), MIN(high, 1e6))
#define RANDOM_u64(value, low, high)     *(value) = random_u64(low, high)
#define RANDOM_bytes(value, low, high)   RANDOM_u64(value, low, high)
#define RANDOM_money(value, low, high)         \
        RANDOM_u64(&(value)->nano, low, high); \
        if (g_test_rand_bit())                 \
        (void) strcpy((value)->currency, "EUR")

static uint64_t random_u64(double low, double high) {
        /* Numbers of every magnitude; of the large ones about half end in six zeros. */
        double magnitude = exp(g_test_rand_double_range(log(MAX(low, 1)), log(high)));
        uint64_t value = (uint64_t) magnitude;

        if (g_test_rand_bit() && value > 1000000)
                value -= value % 1000000;
        return (uint64_t) CLAMP((double) value, low, high);
}

static setting_range random_range(double least, double most) {
        setting_range range;

        RANDOM_u32(&range.low, least, most);
        RANDOM_u32(&range.high, range.low, most);
        return range;
}

static void random_setting(JobSettings *s, Setting i) {
        switch (i) {
#define CASE(section, key, type, member, fallback, low, high, help) \
        case SETTING_##section##_##key:                             \
                CASE_##type(s->member, low, high);                  \
                break;
#define CASE_string(m, low, high)  RANDOM_string(&m, low, high)
#define CASE_u32(m, low, high)     RANDOM_u32(&m, low, high)
#define CASE_u64(m, low, high)     RANDOM_u64(&m, low, high)
#define CASE_f64(m, low, high)     RANDOM_f64(&m, low, high)
#define CASE_bool(m, low, high)    RANDOM_bool(&m, low, high)
#define CASE_usec(m, low, high)    RANDOM_u64(&m, low, high)
#define CASE_bytes(m, low, high)   RANDOM_bytes(&m, low, high)
#define CASE_money(m, low, high)   RANDOM_money(&m, low, high)
#define CASE_percent(m, low, high) RANDOM_percent(&m, low, high)
#define CASE_u32list(m, low, high)                                           \
        m = (setting_u32list){ (uint32_t) g_test_rand_int_range(1, 9), {} }; \
        for (uint32_t k = 0; k < m.n; k++)                                   \
        RANDOM_u32(&m.values[k], low, high)
#define CASE_matrix(m, low, high)                                                           \
        m = (setting_matrix){ (uint32_t) g_test_rand_int_range(1, MATRIX_MAX + 1), 0, {} }; \
        for (uint32_t k = 0; k < m.n; k++)                                                  \
        RANDOM_f64(&m.values[k], low, high)
#define CASE_amounts(m, low, high) m.n = 1, m.nano[0] = random_u64(low, high)
#define CASE_range(m, least, most) m = random_range(least, most)
#define CASE_counts(m, low, high)                                                                  \
        m = (setting_counts){ (uint32_t) g_test_rand_int_range(1, SCHEDULE_RUNS_MAX + 1), 0, {} }; \
        for (uint32_t k = 0; k < m.n; k++) {                                                       \
                RANDOM_u32(&m.runs[k].n_actors, low, high);                                        \
                RANDOM_u32(&m.runs[k].n_rounds, 1, SCHEDULE_ROUNDS_MAX);                           \
        }
#define CASE_convolutions(m, low, high)                                                                 \
        m = (setting_convolutions){ (uint32_t) g_test_rand_int_range(1, CONVOLUTIONS_MAX + 1), 0, {} }; \
        for (uint32_t k = 0; k < m.n; k++) {                                                            \
                RANDOM_u32(&m.layers[k].channels, 1, CONVOLUTION_CHANNELS_MAX);                         \
                RANDOM_u32(&m.layers[k].kernel, 1, CONVOLUTION_SIDE_MAX);                               \
                RANDOM_u32(&m.layers[k].stride, 1, CONVOLUTION_SIDE_MAX);                               \
                RANDOM_u32(&m.layers[k].padding, 0, m.layers[k].kernel - 1);                            \
        }
#define CASE_policy(m, low, high)                                                                   \
        m = (setting_policy){ (uint32_t) g_test_rand_int_range(0, _SCHEDULER_MAX), {} };            \
        if ((scheduler_has(m.kind, TRAIT_TAKES_JOB) || scheduler_has(m.kind, TRAIT_TAKES_TRAINED))) \
        g_snprintf(m.argument, sizeof(m.argument), "dir:%u/d.json", g_test_rand_int_range(0, 1000))
#define CASE_shares(m, low, high)                                                          \
        m = (setting_shares){ (uint32_t) g_test_rand_int_range(0, _SHARES_KIND_MAX), {} }; \
        if (m.kind != SHARES_KIND_EQUAL)                                                   \
        g_snprintf(m.name, sizeof(m.name), "x-%u.y_Z", g_test_rand_int_range(0, 1000))
#define CASE_cpuset(m, low, high)                         \
        for (int k = 0; k < 6; k++) {                     \
                int cpu = g_test_rand_int_range(0, 1024); \
                m.words[cpu / 64] |= 1ull << (cpu % 64);  \
        }
#define CASE_CHOICE(m, MAX_)                    m = (uint32_t) g_test_rand_int_range(0, MAX_)
#define CASE_choice_algorithm(m, low, high)     CASE_CHOICE(m, _ALGORITHM_MAX)
#define CASE_choice_distribution(m, low, high)  CASE_CHOICE(m, _DISTRIBUTION_MAX)
#define CASE_choice_sandbox(m, low, high)       CASE_CHOICE(m, _SANDBOX_CHOICE_MAX)
#define CASE_choice_carry(m, low, high)         CASE_CHOICE(m, _CARRY_MAX)
#define CASE_choice_actor_scope(m, low, high)   CASE_CHOICE(m, _ACTOR_SCOPE_MAX)
#define CASE_choice_updates(m, low, high)       CASE_CHOICE(m, _UPDATES_MAX)
#define CASE_choice_schedule(m, low, high)      CASE_CHOICE(m, _SCHEDULE_MAX)
#define CASE_choice_activation(m, low, high)    CASE_CHOICE(m, _ACTIVATION_MAX)
#define CASE_choice_noise_process(m, low, high) CASE_CHOICE(m, _NOISE_PROCESS_MAX)
#define CASE_choice_curvature(m, low, high)     CASE_CHOICE(m, _CURVATURE_MAX)
#define CASE_choice_objective(m, low, high)     CASE_CHOICE(m, _OBJECTIVE_MAX)
#define CASE_choice_clock(m, low, high)         CASE_CHOICE(m, _CLOCK_MAX)
#define CASE_choice_cluster(m, low, high)       CASE_CHOICE(m, _CLUSTER_MAX)
#define CASE_choice_convention(m, low, high)    CASE_CHOICE(m, _CONVENTION_MAX)
#define CASE_choice_kernel_class(m, low, high)  CASE_CHOICE(m, _KERNEL_CLASS_MAX)
                SETTINGS(CASE)
#undef CASE
        case _SETTING_MAX:
        case _SETTING_INVALID: g_assert_not_reached();
        }
        s->present[i / 64] |= 1ull << (i % 64);
}

/* Any one setting with any value, printed and parsed again, is the same to the last bit. */
static void test_round_trip(void) {
        JobSettings reference;

        accept("[Job]\nEnvironment=./any.so\n", NULL, &reference);
        for (int repeat = 0; repeat < 100; repeat++)
                for (int i = 0; i < _SETTING_MAX; i++) {
                        g_autofree char *set = NULL;
                        char text[SETTING_TEXT_MAX];
                        JobSettings settings = reference, again;
                        g_autofree char *message = NULL;

                        if (i == SETTING_Job_Environment || i == SETTING_Billing_PriceSheet)
                                continue;
                        random_setting(&settings, i);
                        (void) setting_print(&settings, i, text);
                        set = g_strdup_printf(
                                        "%s.%s=%s", setting_row(i)->section, setting_row(i)->key, text);
                        if (parse("[Job]\nEnvironment=./any.so\n", set, &again, &message) < 0) {
                                /* The value is possible, but contradicts the default of another key. */
                                if (strstr(message, "out of range") || strstr(message, ": not "))
                                        g_error("%s", message);
                                continue;
                        }
                        g_assert_cmpmem(&settings, sizeof(settings), &again, sizeof(again));
                }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/settings/defaults", test_defaults);
        g_test_add_func("/settings/rows", test_rows);
        g_test_add_func("/settings/older-words", test_older_words);
        g_test_add_func("/settings/bounds", test_bounds);
        g_test_add_func("/settings/units", test_units);
        g_test_add_func("/settings/units-refused", test_units_refused);
        g_test_add_func("/settings/fractions", test_fractions);
        g_test_add_func("/settings/merging", test_merging);
        g_test_add_func("/settings/sentences", test_sentences);
        g_test_add_func("/settings/syntax", test_syntax);
        g_test_add_func("/settings/relations", test_relations);
        g_test_add_func("/settings/convolutions", test_convolutions);
        g_test_add_func("/settings/scaling", test_scaling);
        g_test_add_func("/settings/objectives", test_objectives);
        g_test_add_func("/settings/sizes", test_sizes);
        g_test_add_func("/settings/round-trip", test_round_trip);
        return g_test_run();
}
