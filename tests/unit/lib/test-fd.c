/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of lib/fd.h: sealed memory cannot be changed, reads and writes transfer all bytes, and the programs
 * beside this program are found. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/sibling.h"

static void test_sealed(void) {
        static const char text[] = "what was checked";
        _cleanup_close_ int fd = memfd_make_sealed("test", text, sizeof(text));
        char got[sizeof(text)];
        void *map;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(memfd_check_sealed(fd), ==, 0);
        g_assert_cmpint(read_full(fd, got, sizeof(got)), ==, 0);
        g_assert_cmpstr(got, ==, text);
        g_assert_cmpint(write_full(fd, "x", 1), ==, -EPERM);
        g_assert_cmpint(ftruncate(fd, 1), ==, -1);
        g_assert_cmpint(fd_map(fd, sizeof(text), true, &map), ==, -EPERM);
        g_assert_cmpint(fd_map(fd, sizeof(text), false, &map), ==, 0);
        g_assert_cmpstr(map, ==, text);
        fd_unmap(map, sizeof(text));
        g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, !=, 0);
}

static void test_shared(void) {
        _cleanup_close_ int fd = memfd_make("test", 10000);
        void *writer, *reader;
        uint64_t size;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(fd_size(fd, &size), ==, 0);
        g_assert_cmpuint(size, ==, 10000);
        g_assert_cmpint(memfd_check_sealed(fd), ==, -EPERM);
        g_assert_cmpint(ftruncate(fd, 20000), ==, -1);
        g_assert_cmpint(fd_map(fd, 10001, true, &writer), ==, -ENODATA);
        g_assert_cmpint(fd_map(fd, 10000, true, &writer), ==, 0);

        /* The writer's mapping stays writable, but no new mapping is writable. */
        g_assert_cmpint(memfd_seal_future_write(fd), ==, 0);
        g_assert_cmpint(fd_map(fd, 10000, true, &reader), ==, -EPERM);
        g_assert_cmpint(fd_map(fd, 10000, false, &reader), ==, 0);
        ((uint8_t *) writer)[9999] = 'x';
        g_assert_cmpint(((uint8_t *) reader)[9999], ==, 'x');
        fd_unmap(writer, 10000);
        fd_unmap(reader, 10000);
}

static void test_reads(void) {
        _cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        g_autofree char *long_text = g_strnfill(100000, 'y');
        char got[8];
        size_t n;

        g_assert_cmpint(write_full(fd, long_text, 100000), ==, 0);
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        g_assert_cmpint(read_all(fd, 100000, &text, &n), ==, 0);
        g_assert_cmpuint(n, ==, 100000);
        g_assert_cmpstr(text, ==, long_text);
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        free(TAKE_PTR(text));
        g_assert_cmpint(read_all(fd, 99999, &text, &n), ==, -EFBIG);
        g_assert_null(text);

        g_assert_cmpint(pread_full(fd, got, 8, 99992), ==, 0);
        g_assert_cmpint(pread_full(fd, got, 8, 99993), ==, -ENODATA);
        g_assert_cmpint(lseek(fd, -4, SEEK_END), ==, 99996);
        g_assert_cmpint(read_full(fd, got, 8), ==, -ENODATA);
        g_assert_cmpint(read_all(fd, 0, &text, &n), ==, 0);
        g_assert_cmpuint(n, ==, 0);
        g_assert_cmpstr(text, ==, "");
        g_assert_cmpint(read_full(-1 + 10000, got, 1), ==, -EBADF);
}

static void test_cloexec(void) {
        _cleanup_close_ int fd = memfd_make("test", 1);

        g_assert_cmpint(fd_set_cloexec(fd, false), ==, 0);
        g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, ==, 0);
        g_assert_cmpint(fd_set_cloexec(fd, true), ==, 0);
        g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, !=, 0);
}

static void test_siblings(void) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL),
                        *directory = g_path_get_dirname(self);
        g_autofree char *installed = g_strdup_printf("%s/price/x", ACTORD_DATADIR), *name = NULL;
        char got[SIBLING_DIRECTORY_MAX], path[DATA_PATH_MAX];

        g_assert_cmpint(sibling_directory(got), ==, 0);
        g_assert_cmpstr(got, ==, directory);
        /* There is no folder `share` beside the tests, so the path is that of the installed file. */
        g_assert_cmpint(data_path("price/x", path), ==, 0);
        g_assert_cmpstr(path, ==, installed);
        name = g_strnfill(DATA_PATH_MAX, 'z');
        g_assert_cmpint(data_path(name, path), ==, -ENAMETOOLONG);
}

/* A copy of this program, which removes its own file. */
static void test_replaced(void) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *copy = NULL, *text = NULL;
        g_autofree char *directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        char *argv[] = { NULL, (char *) "--replaced", NULL };
        g_autoptr(GError) error = NULL;
        gsize n;
        int status;

        g_assert_false(sibling_replaced());
        argv[0] = copy = g_build_filename(directory, "copy", NULL);
        g_assert_true(g_file_get_contents(self, &text, &n, NULL));
        g_assert_true(g_file_set_contents_full(
                        copy, text, (gssize) n, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
        g_assert_true(g_spawn_sync(
                        NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status, &error));
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpint(rmdir(directory), ==, 0);
}

static int replaced_in_copy(const char *path) {
        if (sibling_replaced() || unlink(path) < 0)
                return 1;
        return sibling_replaced() ? 0 : 1;
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

/* Calls fd_keep_only() in a child process that has the descriptors `others` and that of a file, which it
 * keeps if `keeps`. Returns the child's exit status; 0: the right descriptors were open after the call. */
static int keep_only_in_child(bool keeps) {
        int status, others[2], fd;
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                char got = 0;

                fd = memfd_make_sealed("test", "k", 1);
                if (fd < 0 || pipe2(others, O_CLOEXEC) < 0)
                        _exit(2);
                if (fd_keep_only((int[]){ keeps ? fd : -EBADF, -EBADF }, 2) < 0)
                        _exit(3);
                if (!is_open(STDERR_FILENO) || is_open(STDERR_FILENO + 1))
                        _exit(4);
                for (int i = STDERR_FILENO + 1; i < 256; i++)
                        if (is_open(i) && (!keeps || got || read_full(i, &got, 1) < 0))
                                _exit(5);
                _exit(keeps && got != 'k' ? 6 : 0);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        return status;
}

/* A child that keeps no descriptor closes all others, too. */
static void test_keep_only(void) {
        g_assert_cmpint(keep_only_in_child(true), ==, 0);
        g_assert_cmpint(keep_only_in_child(false), ==, 0);
}

int main(int argc, char *argv[]) {
        if (argc > 1 && strcmp(argv[1], "--replaced") == 0)
                return replaced_in_copy(argv[0]);
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/fd/sealed", test_sealed);
        g_test_add_func("/fd/shared", test_shared);
        g_test_add_func("/fd/reads", test_reads);
        g_test_add_func("/fd/cloexec", test_cloexec);
        g_test_add_func("/fd/siblings", test_siblings);
        g_test_add_func("/fd/replaced", test_replaced);
        g_test_add_func("/fd/keep-only", test_keep_only);

        return g_test_run();
}
