/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests daemon/verify.h: whether a file has the bytes that were written. Other processes read large files,
 * two at once, and the event loop goes on meanwhile. */
#include "daemon/verify.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cleanup.h"

#define LARGE ((off_t) 64 << 20)

typedef struct Reader {
        sd_event *event;
        Verify *verify;
        unsigned n_turns; /* turns of the event loop before the result */
        bool kills;       /* the test kills the process that reads, in the event loop's first turn */
        unsigned n_killed;
        int result;
} Reader;

static int file_of(const char *text, off_t size) {
        int fd = memfd_create("file", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(pwrite(fd, text, strlen(text), 0), ==, (ssize_t) strlen(text));
        g_assert_cmpint(ftruncate(fd, size), ==, 0);
        return fd;
}

static void digest_of(int fd, uint8_t ret[32]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        gsize n_digest = 32;
        char buffer[65536];
        off_t at = 0;
        ssize_t n;

        while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
                g_checksum_update(sum, (const guchar *) buffer, n);
                at += n;
        }
        g_checksum_get_digest(sum, ret, &n_digest);
}

static void on_done(int result, void *userdata) {
        Reader *reader = userdata;

        reader->result = result;
        reader->verify = verify_free(reader->verify);
        (void) sd_event_exit(reader->event, 0);
}

#define CHILDREN_MAX 8u

/* The number of our child processes, and their ids. The test is skipped where a kernel does not list
 * them. */
static unsigned children(pid_t ret[CHILDREN_MAX]) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%d/children", (int) getpid()), *text = NULL;
        g_auto(GStrv) words = NULL;
        unsigned n = 0;

        if (!g_file_get_contents(path, &text, NULL, NULL)) {
                g_test_skip("this kernel does not list children");
                return 0;
        }
        words = g_strsplit(text, " ", -1);
        for (char **word = words; *word && n < CHILDREN_MAX; word++)
                if (atoi(*word) > 0)
                        ret[n++] = atoi(*word);
        return n;
}

static int on_turn(sd_event_source *source, void *userdata) {
        Reader *reader = userdata;
        pid_t pids[CHILDREN_MAX];
        unsigned n = 0;

        if (reader->n_turns++ == 0 && reader->kills)
                n = children(pids);
        for (unsigned i = 0; i < n; i++)
                g_assert_cmpint(kill(pids[i], SIGKILL), ==, 0);
        reader->n_killed += n;
        return 0;
}

static int read_in_turns(Reader *reader, int fd, const uint8_t expected[32]) {
        sd_event_source *turn = NULL;
        Verifier *verifier;
        int r;

        g_assert_cmpint(sd_event_new(&reader->event), >=, 0);
        verifier = verifier_new(reader->event, VERIFY_TIMEOUT_USEC);
        g_assert_cmpint(sd_event_add_defer(reader->event, &turn, on_turn, reader), >=, 0);
        g_assert_cmpint(sd_event_source_set_enabled(turn, SD_EVENT_ON), >=, 0);
        g_assert_cmpint(sd_event_source_set_priority(turn, SD_EVENT_PRIORITY_IDLE), >=, 0);
        r = verify_file(verifier, fd, expected, on_done, reader, &reader->verify);
        if (r > 0) {
                g_assert_cmpint(sd_event_loop(reader->event), ==, 0);
                r = reader->result;
        }
        (void) sd_event_source_disable_unref(turn);
        (void) verifier_free(verifier);
        reader->event = sd_event_unref(reader->event);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        return r;
}

static void test_small(void) {
        _cleanup_close_ int fd = file_of("weights", 7);
        uint8_t digest[32];
        Reader reader = {};

        digest_of(fd, digest);
        g_assert_cmpint(read_in_turns(&reader, fd, digest), ==, 0);
        digest[0] ^= 1;
        g_assert_cmpint(read_in_turns(&reader, fd, digest), ==, -EUCLEAN);
        g_assert_cmpuint(reader.n_turns, ==, 0);
}

static void test_large(void) {
        _cleanup_close_ int fd = file_of("weights", LARGE);
        uint8_t digest[32];
        Reader reader = {};

        digest_of(fd, digest);
        g_assert_cmpint(read_in_turns(&reader, fd, digest), ==, 0);
        g_assert_cmpuint(reader.n_turns, >, 0);
        g_assert_cmpint(pwrite(fd, "W", 1, LARGE / 2), ==, 1);
        reader.n_turns = 0;
        g_assert_cmpint(read_in_turns(&reader, fd, digest), ==, -EUCLEAN);
        g_assert_cmpuint(reader.n_turns, >, 0);
}

/* If the process that reads a large file is killed, the result is -EAGAIN: the file may be sound. The daemon
 * does not read large files itself. */
static void test_killed(void) {
        _cleanup_close_ int fd = file_of("weights", LARGE);
        Reader reader = { .kills = true };
        uint8_t digest[32];
        int r;

        digest_of(fd, digest);
        r = read_in_turns(&reader, fd, digest);
        if (reader.n_killed > 0)
                g_assert_cmpint(r, ==, -EAGAIN);
}

/* A large file is read by a process of its own. If no descriptor is left for this process, verification
 * fails. */
static void test_no_descriptor(void) {
        _cleanup_close_ int large = file_of("weights", LARGE), small = file_of("weights", 7);
        struct rlimit before, none = {};
        uint8_t large_digest[32], small_digest[32];
        Verify *verify = NULL;
        sd_event *event = NULL;
        Verifier *verifier;

        digest_of(large, large_digest);
        digest_of(small, small_digest);
        g_assert_cmpint(sd_event_new(&event), >=, 0);
        verifier = verifier_new(event, VERIFY_TIMEOUT_USEC);
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
        none.rlim_max = before.rlim_max;
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
        g_assert_cmpint(verify_file(verifier, large, large_digest, on_done, NULL, &verify), ==, -EMFILE);
        g_assert_cmpint(verify_file(verifier, small, small_digest, on_done, NULL, &verify), ==, 0);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        g_assert_cmpint(verify_file(verifier, large, large_digest, on_done, NULL, &verify), ==, 1);
        verify = verify_free(verify);
        (void) verifier_free(verifier);
        event = sd_event_unref(event);
        while (waitpid(-1, NULL, 0) > 0)
                ;
}

enum { FILES = 5 };

typedef struct Crowd {
        sd_event *event;
        unsigned n_done;
        struct Member {
                struct Crowd *crowd;
                Verify *verify;
                int result;
        } members[FILES];
} Crowd;

static void on_member_done(int result, void *userdata) {
        struct Member *member = userdata;
        Crowd *crowd = member->crowd;

        member->result = result;
        member->verify = verify_free(member->verify);
        if (++crowd->n_done == FILES)
                (void) sd_event_exit(crowd->event, 0);
}

/* Two files are read at once, each by one process. The test halts these two processes with SIGSTOP, so their
 * files are given up at the timeout. The files that waited are read nevertheless: their time begins when
 * their turn comes. */
static void test_queue(void) {
        _cleanup_close_ int fd = file_of("weights", (off_t) VERIFY_AT_ONCE_BYTES + 1);
        Crowd crowd = {};
        Verifier *verifier;
        pid_t pids[CHILDREN_MAX];
        uint8_t digest[32];
        unsigned n;

        digest_of(fd, digest);
        g_assert_cmpint(sd_event_new(&crowd.event), >=, 0);
        verifier = verifier_new(crowd.event, UINT64_C(3000000));
        for (unsigned i = 0; i < FILES; i++) {
                crowd.members[i].crowd = &crowd;
                g_assert_cmpint(verify_file(verifier, fd, digest, on_member_done, &crowd.members[i],
                                                &crowd.members[i].verify),
                                ==, 1);
                /* The process may have written its result or not: no event has been looked at yet. */
                n = children(pids);
                if (i < VERIFY_RUNNING_MAX && n > i)
                        g_assert_cmpint(kill(pids[i], SIGSTOP), ==, 0);
        }
        n = children(pids);
        if (n > 0)
                g_assert_cmpuint(n, ==, VERIFY_RUNNING_MAX);
        g_assert_cmpint(sd_event_loop(crowd.event), ==, 0);
        /* A stopped process has no result in time, unless it reported one before SIGSTOP. */
        for (unsigned i = 0; i < FILES; i++)
                g_assert_true(crowd.members[i].result == 0 ||
                                (i < VERIFY_RUNNING_MAX && crowd.members[i].result == -ETIMEDOUT));
        (void) verifier_free(verifier);
        crowd.event = sd_event_unref(crowd.event);
        while (waitpid(-1, NULL, 0) > 0)
                ;
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/verify/small", test_small);
        g_test_add_func("/verify/large", test_large);
        g_test_add_func("/verify/killed", test_killed);
        g_test_add_func("/verify/no-descriptor", test_no_descriptor);
        g_test_add_func("/verify/queue", test_queue);
        return g_test_run();
}
