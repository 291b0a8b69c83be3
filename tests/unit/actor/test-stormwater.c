/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stormwater tasks: storms, rewards and rules by hand, and the messages about a missing or broken
 * engine. tests/parity/stormwater.py compares the engine's own results, and tests/unit/actor/test-envs.c
 * checks the rules of every environment. */
#include <fcntl.h>
#include <glib/gstdio.h>

#include "actor/envs/swmm/tasks.h"
#include "tests/unit/domains-fixture.h"

static double total(const Storm *storm) {
        double sum = 0;

        for (int h = 0; h < STORM_HOURS; h++)
                sum += storm->rain[h];
        return sum;
}

static void test_held_out(void) {
        Storm storm, other;

        for (uint32_t k = 1; k <= N_HELD_OUT; k++) {
                storm_held_out(&theta_task.family, k, &storm);
                assert_near(total(&storm), 16.2 * (0.5 + 1.5 * (k - 1) / 19), 1e-12);
                g_assert_true(storm.tide >= 0 && storm.tide < 1);
                storm_held_out(&theta_task.family, k, &other);
                g_assert_cmpmem(&storm, sizeof(storm), &other, sizeof(other));
        }
        /* By hand, with phi = 0.618...: the weights of hours 1 and 2 of storm 1 are 0.5 + frac(11 phi) and
         * 0.5 + frac(12 phi). */
        storm_held_out(&theta_task.family, 1, &storm);
        assert_near(storm.rain[1] / storm.rain[2], 1.2 * 1.2983738762488439 / (2.3 * 0.9164078649987388),
                        1e-12);
}

static void test_drawn(void) {
        ActordRandom random;
        double low = INFINITY, high = 0;
        Storm storm;

        for (int i = 0; i < 200; i++) {
                random_begin(&random, SEED, RANDOM_RESET, 0, (uint64_t) i, 0);
                storm_draw(&tidal_task.family, &random, &storm);
                low = fmin(low, total(&storm) / 1.5);
                high = fmax(high, total(&storm) / 1.5);
                for (int h = 0; h < STORM_HOURS; h++)
                        g_assert_true(storm.rain[h] >= 0);
        }
        g_assert_true(low >= 0.5 && low < 0.55 && high < 2 && high > 1.9);
}

static void test_forecast(void) {
        Storm storm;

        storm_published(&theta_task.family, &storm);
        g_assert_cmpmem(storm.rain, sizeof(storm.rain), theta_task.family.profile,
                        sizeof(theta_task.family.profile));
        assert_near(storm_rain(&storm, 2), 2.3, 0);
        assert_near(storm_rain(&storm, 2.25), 0.75 * 2.3 + 0.25 * 3.2, 1e-15);
        assert_near(storm_rain(&storm, -0.5), 0, 0);
        assert_near(storm_rain(&storm, 8.5), 0.05, 1e-15);
        assert_near(storm_rain(&storm, 300), 0, 0);
        assert_near(storm_tide(&storm, 0), 1.2, 1e-15);
        assert_near(storm_tide(&storm, 12.42 / 4), 2.8, 1e-12);
}

static void test_text(void) {
        char text[16384];
        Storm storm;
        size_t n;

        storm_published(&tidal_task.family, &storm);
        n = storm_write(&storm, 4, 25, text, sizeof(text));
        g_assert_cmpuint(n, ==, strlen(text));
        g_assert_true(g_str_has_prefix(text, "rain 4:00 0.02"));
        g_assert_nonnull(strstr(text, "\nrain 13:00 0.02"));
        g_assert_nonnull(strstr(text, "\ntide 0:00 1.2"));
        g_assert_nonnull(strstr(text, "\ntide 25:00 "));
        g_assert_null(strstr(text, "25:15"));
}

static void test_theta_reward(void) {
        View view = { .now = { .depth = { 1, 2 }, .flow = { 9, 9, 0.75 } }, .flood_weight = 1e6 };

        assert_near(theta_task.reward(&view), -2.5, 1e-15);
        view.now.flood[1] = 0.01;
        assert_near(theta_task.reward(&view), -1000002.5, 1e-9);
        view.now.flood[0] = 3;
        view.now.flow[2] = 0.4;
        assert_near(theta_task.reward(&view), -2e6, 1e-9);
        view.now.flood[0] = view.now.flood[1] = 0;
        assert_near(theta_task.reward(&view), 0, 0);
}

/* The rules let two equally full ponds release 0.25 m3/s each, and open a pond that is nearly full
 * completely. */
static void test_theta_rules(void) {
        View view = { .now = { .depth = { 1, 1 } } };
        float openings[N_VALVES_MAX];

        theta_task.rules(&view, openings);
        assert_near((double) openings[0], 0.25 / sqrt(2 * 9.81), 1e-7);
        assert_near((double) openings[1], (double) openings[0], 0);
        view.now.depth[1] = 1.35;
        theta_task.rules(&view, openings);
        assert_near((double) openings[1], 1, 0);
        view.now.depth[0] = view.now.depth[1] = 0;
        theta_task.rules(&view, openings);
        assert_near((double) openings[0], 0, 0);
}

/* Depths count only when no rain is forecast: from hour 14 on, since the task's rain ends there. */
static void test_tidal_reward(void) {
        View view = { .now = { .depth = { 1.5, 3, 1 }, .flood = { 1, 2, 4 } }, .hour = 6 };

        storm_published(&tidal_task.family, &view.storm);
        assert_near(tidal_task.reward(&view), -7, 1e-15);
        view.hour = 13.75;
        assert_near(tidal_task.reward(&view), -7, 1e-15);
        view.hour = 14;
        assert_near(tidal_task.reward(&view), -4 - 0.5 - 1, 1e-15);
}

static void test_tidal_rules(void) {
        View view = { .now = { .depth = { 1.5, 2.25, 1 } }, .hour = 0 };
        float openings[N_VALVES_MAX];

        storm_published(&tidal_task.family, &view.storm);
        tidal_task.rules(&view, openings);
        assert_near((double) openings[0], 0.5, 1e-7);
        assert_near((double) openings[1], 1, 0);
        view.hour = 20;
        tidal_task.rules(&view, openings);
        assert_near((double) openings[0], 0, 0);
        assert_near((double) openings[1], 0.25, 1e-7);
        view.now.depth[2] = 1.9;
        view.now.depth[0] = 4.5;
        tidal_task.rules(&view, openings);
        assert_near((double) openings[0], 1, 0);
        assert_near((double) openings[1], 0, 0);
}

/* The reward subtracts each orifice's flow above 4 cfs, each flood and, at the end of the episode, each pond
 * that is deeper than 0.1 ft. */
static void test_gamma_reward(void) {
        View view = { .now = { .depth = { 1, [10] = 0.11 }, .flow = { 4.5, [5] = 3, [10] = 6 } },
                .flood_weight = 1e6,
                .left_weight = 7e5 };

        assert_near(gamma_task.reward(&view), -2.5, 1e-15);
        view.now.flood[8] = 0.01;
        assert_near(gamma_task.reward(&view), -1000002.5, 1e-9);
        view.last = true;
        assert_near(gamma_task.reward(&view), -2400002.5, 1e-9);
        view.now.depth[10] = 0.1;
        assert_near(gamma_task.reward(&view), -1700002.5, 1e-9);
}

/* By Torricelli's law, each of equally full ponds releases 4 cfs, and a pond that is half as full as the
 * mean releases half as much. A pond that is nearly full opens completely. */
static void test_gamma_rules(void) {
        static const double half_full[] = { 5, 5, 5, 5, 5, 10, 5, 5, 5, 6.86, 7.48 };
        View view = {};
        float openings[N_VALVES_MAX];

        gamma_task.rules(&view, openings);
        for (int i = 0; i < N_VALVES_MAX; i++)
                assert_near((double) openings[i], 1, 0);

        memcpy(view.now.depth, half_full, sizeof(half_full));
        gamma_task.rules(&view, openings);
        assert_near((double) openings[0], 4 / (0.65 * sqrt(2 * 32.2 * 5)), 1e-6);
        assert_near((double) openings[10], 4 / (0.65 * sqrt(2 * 32.2 * 7.48)), 1e-6);

        view.now.depth[0] = 5.0 * 10 / 21;
        gamma_task.rules(&view, openings);
        assert_near((double) openings[0], 2 / (0.65 * sqrt(2 * 32.2 * 50 / 21)), 1e-6);
        view.now.depth[8] = 9.9;
        gamma_task.rules(&view, openings);
        assert_near((double) openings[8], 1, 0);
}

/* A rain of two hours, in a text with another section before and after it. */
#define RAIN_BEFORE "[OPTIONS]\nA 0:05:00 7\n[TIMESERIES]\n;;Name\n"
#define RAIN_AFTER  "[REPORT]\nA 1:00:00 3"
#define RAIN_TEXT   RAIN_BEFORE "A \t 00:05:00  0.25\nA 0:10:00 0.75\n\nA 1:00:00 2\n" RAIN_AFTER

static void test_scaled(void) {
        static const StormFamily family = { .profile = { 1, 2 }, .least = 0.5, .most = 2 };
        static const Drainage drainage = { .n_entries = 3 }, another = { .n_entries = 2 };
        g_autofree char *text = g_malloc0(DRAINAGE_MAX), *longer = g_strnfill(DRAINAGE_MAX, ';');
        Storm storm = { .rain = { 1, 2 } };
        int n;

        n = drainage_scale(&drainage, RAIN_TEXT, &family, &storm, text);
        g_assert_cmpint(n, >, 0);
        text[n] = 0;
        g_assert_cmpstr(text, ==, RAIN_BEFORE "A 0:05 0.25\nA 0:10 0.75\n\nA 1:00 2\n" RAIN_AFTER);
        storm = (Storm){ .rain = { 4, 1 } };
        n = drainage_scale(&drainage, RAIN_TEXT, &family, &storm, text);
        g_assert_cmpint(n, >, 0);
        text[n] = 0;
        g_assert_cmpstr(text, ==, RAIN_BEFORE "A 0:05 1\nA 0:10 3\n\nA 1:00 1\n" RAIN_AFTER);

        /* These are refused: other entries than expected, the rain of another task, an entry after the
         * storm's end, and a text that is too long. */
        g_assert_cmpint(drainage_scale(&another, RAIN_TEXT, &family, &storm, text), ==, -EINVAL);
        g_assert_cmpint(drainage_scale(&drainage, RAIN_TEXT, &theta_task.family, &storm, text), ==, -EINVAL);
        g_assert_cmpint(drainage_scale(&drainage, "[TIMESERIES]\nA 10:00:00 1\n", &family, &storm, text), ==,
                        -EINVAL);
        g_assert_cmpint(drainage_scale(&drainage, longer, &family, &storm, text), ==, -EINVAL);
}

static int spec_with(const ActordEnv *env, const char *key, const char *value, ActordEnvSpec *ret) {
        ActordOption option = env_option(key, value);

        return env->spec(&option, 1, ret);
}

static void test_options(void) {
        static const char *const good[][2] = { { "Storms", "held-out" }, { "Storms", "published" },
                { "Storm", "20" }, { "Controller", "rules" }, { "Controller", "passive" },
                { "FloodWeight", "1000" }, { "RewardScale", "0.01" } };
        static const char *const bad[][2] = { { "Storms", "1" }, { "Storm", "21" }, { "Storm", "1.5" },
                { "Controller", "mpc" }, { "FloodWeight", "-1" }, { "Forecast", "maybe" },
                { "RewardScale", "0" } };
        ActordEnvSpec spec;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                g_assert_cmpint(spec_with(&theta_env, good[i][0], good[i][1], &spec), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_cmpint(spec_with(&theta_env, bad[i][0], bad[i][1], &spec), ==, -EINVAL);
        g_assert_cmpint(spec_with(&tidal_env, "FloodWeight", "1", &spec), ==, -EINVAL);
        g_assert_cmpint(spec_with(&theta_env, "LeftWeight", "1", &spec), ==, -EINVAL);
        g_assert_cmpint(spec_with(&gamma_env, "LeftWeight", "1", &spec), ==, 0);
        g_assert_cmpuint(spec.action.shape[0], ==, 11);
        g_assert_cmpuint(spec.observation.shape[0], ==, 13);
        g_assert_cmpint(spec_with(&theta_env, "Forecast", "no", &spec), ==, 0);
        g_assert_cmpuint(spec.observation.shape[0], ==, 2);
        g_assert_cmpint(spec_with(&tidal_env, "Forecast", "no", &spec), ==, 0);
        g_assert_cmpuint(spec.observation.shape[0], ==, 8);
}

/* The first episode cannot begin, and leaves nothing that would disturb the next attempt. */
static void refuse_reset(const ActordEnv *abi, const char *directory, int expected) {
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(Env) env = env_new_of(abi, NULL, 0);
        ActordRandom random;

        g_assert_cmpint(fd, >=, 0);
        engine_packages(directory, fd);
        for (int i = 0; i < 2; i++) {
                random_begin(&random, SEED, RANDOM_RESET, 0, 1, 0);
                g_assert_cmpint(env->abi->reset(env->instance, &random, env->observation), ==, expected);
        }
        close(fd);
}

/* Removes a directory and those above it that are in `root`. */
static void remove_up_to(const char *directory, const char *root) {
        for (g_autofree char *at = g_strdup(directory); strlen(at) >= strlen(root);) {
                char *parent = g_path_get_dirname(at);

                g_assert_cmpint(g_rmdir(at), ==, 0);
                g_free(at);
                at = parent;
        }
}

/* Python=: a virtual environment without the library of SWMM, with a truncated one, or with another
 * library. */
static void test_broken(void) {
        g_autofree char *directory = g_dir_make_tmp("stormwater-XXXXXX", NULL);
        g_autofree char *package =
                        g_build_filename(directory, "lib/python3.99/site-packages/swmm/toolkit", NULL);
        g_autofree char *library = g_build_filename(package, "libswmm5.so", NULL), *whole = NULL;
        g_autofree char *real = build_path("env-swmm.so");
        size_t n_whole;

        refuse_reset(&theta_env, directory, -ENOENT);

        g_assert_cmpint(g_mkdir_with_parents(package, 0700), ==, 0);
        g_assert_true(g_file_set_contents(library, "\177ELF", 4, NULL));
        refuse_reset(&theta_env, directory, -ENOEXEC);

        /* This library is not SWMM's. */
        if (g_file_get_contents(real, &whole, &n_whole, NULL)) {
                g_assert_cmpint(g_unlink(library), ==, 0);
                g_assert_true(g_file_set_contents(library, whole, (gssize) n_whole, NULL));
                refuse_reset(&theta_env, directory, -ENOEXEC);
        }

        g_assert_cmpint(g_unlink(library), ==, 0);
        remove_up_to(package, directory);
}

/* Gamma's network is a file of a Python package. Here the file is missing, then it is too long, and then it
 * has another network. */
static void test_broken_network(void) {
        g_autofree char *directory = g_dir_make_tmp("stormwater-XXXXXX", NULL);
        g_autofree char *package =
                        g_build_filename(directory, "lib/python3.99/site-packages/pystorms/networks", NULL);
        g_autofree char *network = g_build_filename(package, "gamma.inp", NULL);
        g_autofree char *longer = g_strnfill(DRAINAGE_MAX, ';');

        refuse_reset(&gamma_env, directory, -ENOENT);

        g_assert_cmpint(g_mkdir_with_parents(package, 0700), ==, 0);
        g_assert_true(g_file_set_contents(network, longer, DRAINAGE_MAX, NULL));
        refuse_reset(&gamma_env, directory, -EFBIG);
        g_assert_true(g_file_set_contents(network, RAIN_TEXT, -1, NULL));
        refuse_reset(&gamma_env, directory, -EINVAL);

        g_assert_cmpint(g_unlink(network), ==, 0);
        remove_up_to(package, directory);
}

/* The return of an episode under the task's own controller. */
static double play(const ActordEnv *abi, const ActordOption *options, uint32_t n) {
        g_autoptr(Env) env = env_new_of(abi, options, n);
        float closed[N_VALVES_MAX] = {};
        double sum = 0;

        env_reset(env, SEED);
        do {
                env_step(env, SEED, closed);
                sum += env->step.reward;
        } while (!env->step.terminated);
        g_assert_cmpuint(env->n_steps, ==, env->spec.horizon_steps);
        return sum;
}

/* With all orifices open the rewards add up to the performance that pystorms 1.0.0 computes on this engine,
 * with a minus sign. RewardScale= scales the rewards. */
static void test_published(void) {
        ActordOption options[] = { env_option("Storms", "published"), env_option("Controller", "passive"),
                env_option("RewardScale", "0.01") };

        if (packages_open() < 0) {
                g_test_skip("EPA SWMM is not there: tests/parity/stormwater.sh fetches it");
                return;
        }
        engine_packages("the package", packages_open());
        assert_near(play(&theta_env, options, 2), -1630.34, 0.01);
        assert_near(play(&theta_env, options, 3), -16.3034, 0.0001);
        assert_near(play(&gamma_env, options, 2), -400221923.1345, 0.0001);
}

/* A snapshot that no episode leads to is refused. */
static void test_hostile_snapshot(void) {
        g_autoptr(Env) env = env_new_of(&theta_env, NULL, 0);
        double rain = 1e9;
        uint32_t n_steps = 313;

        memcpy(env->snapshot, &rain, sizeof(rain));
        g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);
        memset(env->snapshot, 0, env->spec.snapshot_bytes);
        memcpy(env->snapshot + sizeof(Storm), &n_steps, sizeof(n_steps));
        g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);
        memset(env->snapshot, 0, env->spec.snapshot_bytes);
        /* an opening for step 0, though no step was made */
        memset(env->snapshot + sizeof(Storm) + 8, 0x3f, 4);
        g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/stormwater/storms/held-out", test_held_out);
        g_test_add_func("/stormwater/storms/drawn", test_drawn);
        g_test_add_func("/stormwater/storms/forecast", test_forecast);
        g_test_add_func("/stormwater/storms/text", test_text);
        g_test_add_func("/stormwater/theta/reward", test_theta_reward);
        g_test_add_func("/stormwater/theta/rules", test_theta_rules);
        g_test_add_func("/stormwater/tidal/reward", test_tidal_reward);
        g_test_add_func("/stormwater/tidal/rules", test_tidal_rules);
        g_test_add_func("/stormwater/gamma/reward", test_gamma_reward);
        g_test_add_func("/stormwater/gamma/rules", test_gamma_rules);
        g_test_add_func("/stormwater/network/scaled", test_scaled);
        g_test_add_func("/stormwater/network/broken", test_broken_network);
        g_test_add_func("/stormwater/options", test_options);
        g_test_add_func("/stormwater/hostile-snapshot", test_hostile_snapshot);
        g_test_add_func("/stormwater/engine/broken", test_broken);
        g_test_add_func("/stormwater/engine/published", test_published);

        return g_test_run();
}
