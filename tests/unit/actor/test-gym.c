/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environments in Python, without a virtual environment. tests/integration/test-bridge.py plays them. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "include/settings.h"
#include "tests/unit/env-fixture.h"

typedef const ActordEnv *(*EnvOfGym)(const JobSettings *settings, int python_fd, int path_fd);

#define REFUSED "*Python=empty: this is not a virtual environment that the job can read*"

/* A Python= that is no virtual environment is refused as often as it is tried, each time with its reason. */
static void test_refused_twice(void) {
        static JobSettings settings = { .environment = "gym:CartPole-v1", .python = "empty" };
        g_autofree char *directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        void *module = env_module("gym");
        const ActordEnv *env;
        ActordEnvSpec spec;
        EnvOfGym of_gym;

        if (!module) {
                g_test_skip("env-gym.so is not built");
                (void) g_rmdir(directory);
                return;
        }
        if (g_test_subprocess()) {
                of_gym = (EnvOfGym) dlsym(module, "actord_gym_env");
                env = of_gym(&settings, open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), -EBADF);
                (void) g_rmdir(directory);
                g_assert_nonnull(env);
                g_assert_cmpint(env->spec(NULL, 0, &spec), ==, -ENOEXEC);
                g_assert_cmpint(env->spec(NULL, 0, &spec), ==, -ENOEXEC);
                _exit(0); /* the interpreter is not taken down */
        }
        (void) g_rmdir(directory);
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr(REFUSED REFUSED);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/gym/refused-twice", test_refused_twice);
        return g_test_run();
}
