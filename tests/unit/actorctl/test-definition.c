/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The definition of an experiment's cell: its settings and files. While the definition is the same, the
 * cell's result is kept. If it changes, the cell is run again. */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"

static char *directory;

#define HEAD "[Experiment]\nJob=job.conf\nSeeds=1-2\n"

static char *definition(const char *text) {
        g_autofree char *path = g_build_filename(directory, "x.exp", NULL);
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = NULL;

        g_assert_cmpint(experiment_parse(path, text, &e), ==, STATUS_OK);
        g_assert_cmpint(cells_make(e, &cells), ==, STATUS_OK);
        return g_strdup(((Cell *) cells->pdata[0])->definition);
}

/* A setting that is given twice, or at its default, does not change a cell's definition; one that changes
 * the job does. */
static void test_definition(void) {
        g_autofree char *plain = definition(HEAD "[Arm x]\n"),
                        *same = definition(HEAD
                                        "Title=Other\n[Arm y]\nLearner.Gamma=0.99\nJob.StopSteps=1000\n"),
                        *described = definition(HEAD "[Arm x]\nJob.Description=words\n"),
                        *other = definition(HEAD "[Arm x]\nLearner.Gamma=0.9\n"),
                        *option = definition(HEAD "[Arm x]\nEnvironment.SuttonBartoReward=yes\n");

        g_assert_cmpuint(strlen(plain), ==, 64);
        g_assert_cmpstr(plain, ==, same);
        g_assert_cmpstr(plain, ==, described);
        g_assert_cmpstr(plain, !=, other);
        g_assert_cmpstr(plain, !=, option);
}

static void write_file(const char *name, const char *text) {
        g_autofree char *path = g_build_filename(directory, name, NULL), *folder = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* A cell's definition includes a user's own modules, also those in folders below, but not the bytecode that
 * Python makes of them. Of a virtual environment it includes the names and versions of packages. */
static void test_modules(void) {
        g_autofree char *modules = g_build_filename(directory, "mine", NULL),
                        *environment = g_build_filename(directory, "venv", NULL),
                        *sets = g_strdup_printf("[Arm x]\nJob.Environment=gym:mine:Mine-v0\n"
                                                "Actor.PythonPath=%s\nActor.Python=%s\n",
                                        modules, environment),
                        *text = g_strconcat(HEAD, sets, NULL);
        static const struct {
                const char *name, *text;
                bool changes;
        } steps[] = {
                { "mine/mine.py", "a = 2", true },
                { "mine/mine.py", "a = 1", true },
                { "mine/parts/wheel.py", "b = 2", true },
                { "mine/__pycache__/mine.pyc", "x", false },
                { "mine/.git/HEAD", "x", false },
                { "venv/lib/python3.11/site-packages/numpy/core.py", "x", false },
                { "venv/lib/python3.11/site-packages/gymnasium-1.0.dist-info/METADATA", "x", true },
        };
        g_autofree char *last = NULL;

        write_file("mine/mine.py", "a = 1");
        write_file("mine/parts/wheel.py", "b = 1");
        write_file("venv/bin/python", "");
        write_file("venv/pyvenv.cfg", "home = /usr/bin\n");
        write_file("venv/lib/python3.11/site-packages/numpy-2.0.dist-info/METADATA", "x");
        last = definition(text);
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
                char *now;

                write_file(steps[i].name, steps[i].text);
                now = definition(text);
                g_assert_cmpint(strcmp(now, last) != 0, ==, steps[i].changes);
                g_free(last);
                last = now;
        }
}

/* A cell's definition includes the bytes of a user's model and of its RewardPlugin=, but not those of other
 * files in the model's folder. A plugin's name that is a folder's adds nothing. */
static void test_model(void) {
        static const char text[] = HEAD "[Arm x]\nJob.Environment=mujoco:task/walker.xml\n"
                                        "Environment.RewardPlugin=judge.so\n",
                          folder[] = HEAD "[Arm x]\nJob.Environment=mujoco:task/walker.xml\n"
                                          "Environment.RewardPlugin=meshes\n";
        static const struct {
                const char *name, *text;
                bool changes, changes_folder;
        } steps[] = {
                { "task/walker.xml", "b", true, true },
                { "task/judge.so", "b", true, false },
                { "task/other.so", "b", false, false },
                { "task/meshes/wheel.stl", "b", false, false },
        };

        write_file("task/walker.xml", "a");
        write_file("task/judge.so", "a");
        write_file("task/meshes/wheel.stl", "a");
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
                g_autofree char *before = definition(text), *folder_before = definition(folder),
                                *after = NULL, *folder_after = NULL;

                write_file(steps[i].name, steps[i].text);
                after = definition(text);
                folder_after = definition(folder);
                g_assert_cmpint(strcmp(before, after) != 0, ==, steps[i].changes);
                g_assert_cmpint(strcmp(folder_before, folder_after) != 0, ==, steps[i].changes_folder);
        }
}

/* A cell's definition includes the bytes of the data set from which its job learns. A data set that is
 * missing adds nothing. */
static void test_dataset(void) {
        static const char text[] = HEAD "[Arm x]\nJob.Algorithm=bc\nJob.Environment=Pendulum-v1\n"
                                        "Learner.Dataset=data/main_data.hdf5\n";
        g_autofree char *missing = definition(text), *before = NULL, *after = NULL, *again = NULL;

        write_file("data/main_data.hdf5", "a");
        before = definition(text);
        write_file("data/main_data.hdf5", "b");
        after = definition(text);
        write_file("data/main_data.hdf5", "a");
        again = definition(text);
        g_assert_cmpstr(missing, !=, before);
        g_assert_cmpstr(before, !=, after);
        g_assert_cmpstr(before, ==, again);
}

static void remove_tree(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *below = g_build_filename(path, name, NULL);

                remove_tree(below);
        }
        (void) g_remove(path);
}

int main(int argc, char **argv) {
        int status;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        write_file("job.conf", "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000\n[Actor]\nRolloutSteps=64\n");
        g_test_add_func("/definition/settings", test_definition);
        g_test_add_func("/definition/modules", test_modules);
        g_test_add_func("/definition/model", test_model);
        g_test_add_func("/definition/dataset", test_dataset);
        status = g_test_run();
        remove_tree(directory);
        g_free(directory);
        return status;
}
