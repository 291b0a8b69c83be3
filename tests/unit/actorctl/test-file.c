/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A regular file is read, a pipe is read to its end, and everything else is refused at once. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actorctl/file.h"
#include "lib/fd.h"

static void test_refused(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-test-XXXXXX", NULL),
                        *fifo = g_build_filename(directory, "fifo", NULL), *text = NULL;
        size_t n;

        g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
        g_assert_cmpint(file_open(fifo), ==, -ENOTSUP);
        g_assert_cmpint(file_read(fifo, 100, &text, &n), ==, -ENOTSUP);
        g_assert_cmpint(file_open("/dev/zero"), ==, -ENOTSUP);
        g_assert_cmpint(file_open(directory), ==, -EISDIR);
        g_assert_cmpint(g_unlink(fifo), ==, 0);
        g_assert_cmpint(file_open(fifo), ==, -ENOENT);
        g_assert_null(text);
        g_assert_nonnull(strstr(file_reason(-ENOTSUP), "regular file"));
        g_assert_cmpint(g_rmdir(directory), ==, 0);
}

static gpointer write_late(gpointer data) {
        int fd = GPOINTER_TO_INT(data);

        g_usleep(50000);
        g_assert_cmpint(write_full(fd, "late", 4), ==, 0);
        (void) close(fd);
        return NULL;
}

static void test_read(void) {
        g_autofree char *text = NULL, *piped = NULL, *name = NULL, *path = NULL;
        int pipe_fds[2], fd;
        GThread *writer;
        size_t n;

        fd = g_file_open_tmp("actord-test-XXXXXX", &path, NULL);
        g_assert_cmpint(write_full(fd, "a\0b", 3), ==, 0);
        (void) close(fd);
        g_assert_cmpint(file_read(path, 3, &text, &n), ==, 0);
        g_assert_cmpmem(text, n + 1, "a\0b", 4);
        g_assert_cmpint(file_read(path, 2, &piped, &n), ==, -EFBIG);
        g_assert_cmpint(g_unlink(path), ==, 0);

        g_assert_cmpint(pipe(pipe_fds), ==, 0);
        name = g_strdup_printf("/dev/fd/%d", pipe_fds[0]);
        writer = g_thread_new("writer", write_late, GINT_TO_POINTER(pipe_fds[1]));
        g_assert_cmpint(file_read(name, 100, &piped, &n), ==, 0);
        g_assert_cmpstr(piped, ==, "late");
        (void) g_thread_join(writer);
        (void) close(pipe_fds[0]);
}

/* A write that fails leaves the old file as it was, and no other file beside it. */
static void test_written(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-test-XXXXXX", NULL),
                        *path = g_build_filename(directory, "file", NULL),
                        *below = g_build_filename(path, "file", NULL), *text = NULL;
        size_t n;

        g_assert_cmpint(file_write(path, "a long text", 11), ==, 0);
        g_assert_cmpint(file_write(path, "a\0b", 3), ==, 0);
        g_assert_cmpint(file_read(path, 100, &text, &n), ==, 0);
        g_assert_cmpmem(text, n, "a\0b", 3);
        g_assert_cmpint(file_write(below, "a", 1), ==, -ENOTDIR);
        g_assert_cmpint(file_write(directory, "a", 1), ==, -EISDIR);
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(g_rmdir(directory), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/file/refused", test_refused);
        g_test_add_func("/file/read", test_read);
        g_test_add_func("/file/written", test_written);
        return g_test_run();
}
