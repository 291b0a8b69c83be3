/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a job that users other than its owner may see. */
#include <glib.h>
#include <string.h>

#include "daemon/audience.h"

static void test_names(void) {
        static const struct {
                const char *whole, *seen;
        } rows[] = {
                { "", "" },
                { "CartPole-v1", "CartPole-v1" },
                { "gym:CartPole-v1", "gym:CartPole-v1" },
                { "faas:4", "faas:4" },
                { "mujoco:/home/a/b.xml", "mujoco:b.xml" },
                { "mujoco:b.xml", "mujoco:b.xml" },
                { "job:../inner.conf", "job:inner.conf" },
                { "./mine.so", "./mine.so" },
                { "/home/a/mine.so", "./mine.so" },
                { "/home/a:b/mine.so", "./mine.so" },
                { "minions:/home/a/trained", "minions:trained" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                char seen[SETTING_TEXT_MAX];

                g_assert_cmpstr(audience_name(rows[i].whole, seen), ==, rows[i].seen);
        }
}

static void test_settings(void) {
        g_autofree JobSettings *settings = g_new0(JobSettings, 1);
        char seen[SETTING_TEXT_MAX];

        memset(settings->present, 0xff, sizeof(settings->present));
        strcpy(settings->environment, "mujoco:/home/a/b.xml");
        strcpy(settings->python, "/home/a/venv");
        strcpy(settings->python_path, "/home/a/code");
        strcpy(settings->dataset, "/home/a/patients/main_data.hdf5");
        strcpy(settings->metrics, "csv:/home/a/rounds.csv tensorboard:/home/a/logs");
        settings->seed = 7;
        audience_print(settings, SETTING_Job_Environment, seen);
        g_assert_cmpstr(seen, ==, "mujoco:b.xml");
        audience_print(settings, SETTING_Actor_Python, seen);
        g_assert_cmpstr(seen, ==, "");
        audience_print(settings, SETTING_Actor_PythonPath, seen);
        g_assert_cmpstr(seen, ==, "");
        audience_print(settings, SETTING_Learner_Dataset, seen);
        g_assert_cmpstr(seen, ==, "./main_data.hdf5");
        audience_print(settings, SETTING_Job_Metrics, seen);
        g_assert_cmpstr(seen, ==, "");
        audience_print(settings, SETTING_Job_Seed, seen);
        g_assert_cmpstr(seen, ==, "7");
}

/* A method without a row in the table is allowed to the job's owner alone. */
static void test_methods(void) {
        g_assert_cmpint(audience_of_method("GetText"), ==, AUDIENCE_OWN);
        g_assert_cmpint(audience_of_method("GetSettings"), ==, AUDIENCE_PART);
        g_assert_cmpint(audience_of_method("GetBill"), ==, AUDIENCE_ALL);
        g_assert_cmpint(audience_of_method("GetSecrets"), ==, AUDIENCE_OWN);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/audience/names", test_names);
        g_test_add_func("/audience/settings", test_settings);
        g_test_add_func("/audience/methods", test_methods);
        return g_test_run();
}
