/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A key that occurs twice in a section is refused in a text from a user, and accepted in a stored one. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/settings/settings.h"

#define CARTPOLE "[Job]\nEnvironment=CartPole-v1\n"

static void refuse(const char *text, const char *seed, const char *lines) {
        const SettingOverride override = { "Job.Seed", seed };
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse(text, "x.conf", &override, seed ? 1 : 0, NULL, &settings, &message),
                        ==, -EINVAL);
        g_assert_cmpstr(message, ==, lines);
}

/* A key may occur only once in a section, also if the section's header occurs several times: one of two
 * values would have no effect. */
static void test_repeated(void) {
        refuse(CARTPOLE "Seed=1\n\nSeed=2\n", NULL,
                        "x.conf:5: [Job] Seed=2: Seed= is in line 3 already; remove one of the two");
        /* an empty value, blanks, another part of the section, an inner job's key */
        refuse(CARTPOLE " Seed = 1\n\tSeed=\n", NULL,
                        "x.conf:4: [Job] Seed=: Seed= is in line 3 already; remove one of the two");
        refuse(CARTPOLE "Seed=1\n[Learner]\nEpochs=3\n[Job]\nSeed=7\n", NULL,
                        "x.conf:7: [Job] Seed=7: Seed= is in line 3 already; remove one of the two");
        refuse(CARTPOLE "[Inner.Job]\nSeed=1\nSeed=2\n", NULL,
                        "x.conf:3: [Inner.Job]: only Environment=job:FILE has an inner job\n"
                        "x.conf:5: [Inner.Job] Seed=2: Seed= is in line 4 already; remove one of the "
                        "two");
        refuse(CARTPOLE "Seed=1\nSeed=2\nSeed=3\n", "4",
                        "x.conf:4: [Job] Seed=2: Seed= is in line 3 already; remove one of the two\n"
                        "x.conf:5: [Job] Seed=3: Seed= is in line 3 already; remove one of the two");
}

/* Earlier programs accepted texts in which a key occurs twice. Jobs with such stored texts must go on with
 * the last values, as they did then. */
static void test_stored(void) {
        static const char text[] = CARTPOLE "Seed=1\n[Environment]\nSuttonBartoReward=no\n"
                                            "SuttonBartoReward=yes\n[Job]\nSeed=2\n";
        const SettingOverride override = { "Learner.Epochs", "5" };
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse_stored(text, "x.conf", &override, 1, &settings, &message), ==, 0);
        g_assert_cmpuint(settings.seed, ==, 2);
        g_assert_cmpuint(settings.epochs, ==, 5);
        g_assert_cmpuint(settings.n_options, ==, 1);
        g_assert_cmpstr(settings_option(&settings, "SuttonBartoReward")->value, ==, "yes");
        g_assert_cmpint(settings_parse_stored(CARTPOLE "Sed=1\n", "x.conf", NULL, 0, &settings, &message),
                        ==, -EINVAL);
        g_assert_nonnull(strstr(message, "did you mean Seed?"));
}

/* Earlier programs rounded whole numbers. So 0.4 actors become 0, which is refused, as it was then. */
static void test_stored_fractions(void) {
        static const char text[] = CARTPOLE "Seed=1.5\nStopSteps=1000.4\n[Scaling]\nActors=2.7\n"
                                            "[Learner]\nHiddenLayers=64 32.5\nGamma=0.95\n";
        const SettingOverride nothing = { "Scaling.Actors", "0.4" }, word = { "Job.Seed", "1.5k" };
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse_stored(text, "x.conf", NULL, 0, &settings, &message), ==, 0);
        g_assert_cmpuint(settings.seed, ==, 2);
        g_assert_cmpuint(settings.stop_steps, ==, 1000);
        g_assert_cmpuint(settings.n_actors, ==, 3);
        g_assert_cmpuint(settings.hidden_layers.n, ==, 2);
        g_assert_cmpuint(settings.hidden_layers.values[1], ==, 33);
        g_assert_cmpfloat(settings.gamma, ==, 0.95);
        g_assert_cmpint(settings_parse_stored(text, "x.conf", &nothing, 1, &settings, &message), ==,
                        -EINVAL);
        g_clear_pointer(&message, g_free);
        g_assert_cmpint(settings_parse_stored(text, "x.conf", &word, 1, &settings, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "Seed=1.5k: not a whole number"));
        g_clear_pointer(&message, g_free);
        g_assert_cmpint(settings_parse(text, "x.conf", NULL, 0, NULL, &settings, &message), ==, -EINVAL);
}

/* Any user may send a text with thousands of mistakes, and the daemon does nothing else while it parses. So
 * parsing takes less than three seconds. */
static void test_many_mistakes(void) {
        g_autoptr(GString) text = g_string_new(CARTPOLE "[Learner]\n");
        g_autofree char *message = NULL;
        clock_t begun = clock();
        JobSettings settings;

        for (unsigned i = 0; text->len < 250u * 1024; i++)
                g_string_append_printf(text, "k%u=\nk%u=\n", i, i);
        g_assert_cmpint(settings_parse(text->str, "x.conf", NULL, 0, NULL, &settings, &message), ==,
                        -EINVAL);
        g_assert_true(g_str_has_prefix(message, "x.conf:5: [Learner] k0=: unknown key\n"));
        g_assert_true(g_str_has_suffix(message, " more"));
        g_assert_cmpuint(g_ascii_strtoull(strrchr(message, '\n') + strlen("\nand "), NULL, 10), >, 30000);
        g_assert_cmpfloat((double) (clock() - begun) / CLOCKS_PER_SEC, <, 3);
}

static void test_locate(void) {
        const char *text = "# c\n[Job]\nSeed=1\n [Learner] \n Gamma = 1\n[Job]\nSeed = 2";

        g_assert_cmpuint(settings_locate(text, "Job", "Seed"), ==, 7);
        g_assert_cmpuint(settings_locate(text, "Learner", "Gamma"), ==, 5);
        g_assert_cmpuint(settings_locate(text, "Learner", "Seed"), ==, 0);
        g_assert_cmpuint(settings_locate("", "Job", "Seed"), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/repeated/refused", test_repeated);
        g_test_add_func("/repeated/stored", test_stored);
        g_test_add_func("/repeated/stored-fractions", test_stored_fractions);
        g_test_add_func("/repeated/many-mistakes", test_many_mistakes);
        g_test_add_func("/repeated/locate", test_locate);
        return g_test_run();
}
