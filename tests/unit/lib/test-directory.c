/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories may be mounted into actors: virtual environments and folders of models, and no system
 * directory. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/directory.h"

/* Why a directory may not be mounted; NULL: it may. flags: the flags of open() for the directory. */
static const char *reason_of(const char *path, DirectoryKind kind, int flags) {
        _cleanup_close_ int fd = open(path, flags | O_CLOEXEC);
        const char *reason = NULL;
        int r;

        g_assert_cmpint(fd, >=, 0);
        r = directory_check(fd, kind, &reason);
        g_assert_cmpint(r, ==, reason ? -EMEDIUMTYPE : 0);
        return reason;
}

static void assert_refused(const char *path, DirectoryKind kind, const char *words) {
        const char *reason = reason_of(path, kind, O_RDONLY);

        if (!reason || !strstr(reason, words))
                g_error("%s: \"%s\" is said, not \"%s\"", path, reason, words);
}

static void run(const char *command) {
        g_assert_cmpint(system(command), ==, 0);
}

static void test_python(void) {
        g_autofree char *place = g_dir_make_tmp("directory-XXXXXX", NULL), *before = g_get_current_dir();

        g_assert_cmpint(chdir(place), ==, 0);
        run("mkdir -p v/bin v/lib/python3.11/site-packages && touch v/pyvenv.cfg && ln -s /usr/bin/python3 "
            "v/bin/python3");
        g_assert_null(reason_of("v", DIRECTORY_PYTHON, O_RDONLY));
        g_assert_null(reason_of("v", DIRECTORY_PYTHON, O_PATH));

        run("mv v/pyvenv.cfg v/other && ln -s other v/pyvenv.cfg");
        assert_refused("v", DIRECTORY_PYTHON, "it has no pyvenv.cfg");
        run("rm v/pyvenv.cfg && mkdir v/pyvenv.cfg");
        assert_refused("v", DIRECTORY_PYTHON, "it has no pyvenv.cfg");
        run("rmdir v/pyvenv.cfg && mv v/other v/pyvenv.cfg && mv v/bin v/sbin");
        assert_refused("v", DIRECTORY_PYTHON, "it has no bin/python");
        run("ln -s /usr/bin v/bin");
        assert_refused("v", DIRECTORY_PYTHON, "it has no bin/python");
        run("rm v/bin && mv v/sbin v/bin && mv v/lib/python3.11/site-packages "
            "v/lib/python3.11/dist-packages");
        assert_refused("v", DIRECTORY_PYTHON, "it has no lib/python3*/site-packages");
        run("ln -s / v/lib/python3.11/site-packages");
        assert_refused("v", DIRECTORY_PYTHON, "it has no lib/python3*/site-packages");
        run("rm -r v/lib && ln -s / v/lib");
        assert_refused("v", DIRECTORY_PYTHON, "it has no lib/python3*/site-packages");
        assert_refused("v/pyvenv.cfg", DIRECTORY_PYTHON, "this is not a directory");

        g_assert_cmpint(chdir(before), ==, 0);
        g_autofree char *remove = g_strdup_printf("rm -rf '%s'", place);
        run(remove);
}

static void test_systems(void) {
        static const struct {
                const char *path, *words;
        } cases[] = {
                { "/", "belongs to the system" },
                { "/etc", "belongs to the system" },
                { "/usr", "belongs to the system" },
                { "/var", "belongs to the system" },
                { "/tmp", "belongs to the system" },
                { "/dev", "belongs to the system" },
                { "/dev/shm", "belongs to the system" },
                { "/proc", "belongs to the kernel" },
                { "/proc/self", "belongs to the kernel" },
                { "/sys", "belongs to the" },
                { "/home", "a home" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                if (access(cases[i].path, R_OK | X_OK) < 0) {
                        g_test_message("%s is not there", cases[i].path);
                        continue;
                }
                assert_refused(cases[i].path, DIRECTORY_PYTHON, cases[i].words);
                assert_refused(cases[i].path, DIRECTORY_MODEL, cases[i].words);
                assert_refused(cases[i].path, DIRECTORY_PYTHON_PATH, cases[i].words);
        }
}

static void test_model(void) {
        g_autofree char *place = g_dir_make_tmp("directory-XXXXXX", NULL);

        g_assert_null(reason_of(place, DIRECTORY_MODEL, O_RDONLY));
        g_assert_null(reason_of(place, DIRECTORY_MODEL, O_PATH));
        (void) g_rmdir(place);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/directory/python", test_python);
        g_test_add_func("/directory/systems", test_systems);
        g_test_add_func("/directory/model", test_model);
        return g_test_run();
}
