/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the engine for Slurm. Scripts stand in for Slurm's commands. They note their arguments, and answer
 * as the files beside them say. */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cluster/command.h"
#include "cluster/engine.h"
#include "cluster/node.h"
#include "lib/boottime.h"

#define SEC 1000000000ull
#define LINE_USED(id, state, start, end, exit, used)                                                        \
        id "|" state "|2020-11-24T16:00:00|" start "|" end "|n1|" exit "|cpu=2,mem=1G,billing=2|None|" used \
           "|\n"
#define LINE(id, state, start, end, exit) LINE_USED(id, state, start, end, exit, "1:00:00")
#define NEVER                             "N/A"
#define START                             "2020-11-24T16:00:10"
#define END                               "2020-11-24T17:00:10"

enum { N_NODES = 3, PATIENCE_SECONDS = 60 };

typedef struct SlurmFixture {
        char *folder;
        Engine engine;
        EngineNode nodes[N_NODES];
        uint64_t skipped; /* nanoseconds that the test does not wait for */
} SlurmFixture;

static int64_t set_by; /* the seconds by which the test puts this process's clock forward */

time_t time(time_t *ret) {
        time_t now = (time_t) ((int64_t) (clock_nsec(CLOCK_REALTIME) / SEC) + set_by);

        if (ret)
                *ret = now;
        return now;
}

static void put(const SlurmFixture *f, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(f->folder, name, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_assert_cmpint(chmod(path, 0755), ==, 0);
}

static bool has(const SlurmFixture *f, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(f->folder, name, NULL), *content = NULL;

        return g_file_get_contents(path, &content, NULL, NULL) && strstr(content, text);
}

static void put_command(const SlurmFixture *f, const char *name, const char *rest) {
        g_autofree char *text = g_strdup_printf(
                        "#!/bin/sh\ncd '%s'\necho \"$*\" >>%s-calls\n%s\n", f->folder, name, rest);

        put(f, name, text);
}

/* Makes one step of the engine. Time is skipped only while no command runs, so no command is late because of
 * the test. */
static void step(SlurmFixture *f) {
        static struct pollfd fds[ENGINE_FDS_MAX];
        int timeout_msec = -1;
        bool busy = f->engine.kind->poll(&f->engine, fds, &timeout_msec, clock_boottime()) > 0;

        f->engine.kind->step(&f->engine, clock_boottime() + (busy ? 0 : f->skipped));
        g_usleep(2000);
}

#define STEP_UNTIL(f, condition)                                          \
        do {                                                              \
                uint64_t end = clock_boottime() + PATIENCE_SECONDS * SEC; \
                                                                          \
                while (!(condition)) {                                    \
                        g_assert_cmpuint(clock_boottime(), <, end);       \
                        step(f);                                          \
                }                                                         \
        } while (0)

static void want(SlurmFixture *f, size_t i, uint32_t number) {
        f->nodes[i] = (EngineNode){ .number = number, .state = ENGINE_WANTED, .exit_status = -1 };
}

static size_t n_looks(const SlurmFixture *f) {
        g_autofree char *path = g_build_filename(f->folder, "squeue-calls", NULL), *content = NULL;
        size_t n = 0;

        if (g_file_get_contents(path, &content, NULL, NULL))
                for (const char *p = content; (p = strchr(p, '\n')); p++)
                        n++;
        return n;
}

/* Waits until two more calls of squeue have ended, so that the engine has seen the present queue. */
static void look(SlurmFixture *f) {
        size_t n = n_looks(f);

        f->skipped = 16 * SEC;
        STEP_UNTIL(f, n_looks(f) >= n + 3 || f->nodes[0].state == ENGINE_OVER);
}

static void setup(SlurmFixture *f, gconstpointer data) {
        g_autofree char *path = NULL;

        (void) data;
        f->folder = g_dir_make_tmp("actord-slurm-XXXXXX", NULL);
        g_assert_nonnull(f->folder);
        path = g_strdup_printf("%s:%s", f->folder, g_getenv("PATH"));
        g_setenv("PATH", path, TRUE);
        put(f, "actord-cluster", "");
        put(f, "n", "0");
        put(f, "queue", "");
        put_command(f, "sinfo", "echo 'main* 10.0.0.1'");
        put_command(f, "sbatch",
                        "case \"$*\" in *--test-only*) exit 0;; esac\n"
                        "n=$(($(cat n) + 1))\necho $n >n\n"
                        "if [ -e sbatch-$n ]; then cat sbatch-$n; exit 1; fi\necho $n");
        put_command(f, "squeue", "cat queue");
        put_command(f, "scancel", "test ! -e scancel-fails");
        put_command(f, "sbcast", "tar -tf $3 >packed; test ! -e sbcast-fails$2");
        f->engine = (Engine){ .kind = &engine_slurm,
                .nodes = f->nodes,
                .n_nodes = N_NODES,
                .head_address = "10.0.0.9",
                .head_port = 7,
                .terms = { .partition = "",
                                .account = "",
                                .constraint = "",
                                .options = "",
                                .directory = f->folder } };
        g_assert_cmpint(engine_slurm.init(&f->engine), ==, 0);
        STEP_UNTIL(f, f->engine.open == ENGINE_OPEN);
        g_assert_cmpstr(f->engine.address, ==, "10.0.0.1");
}

static void teardown(SlurmFixture *f, gconstpointer data) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->folder);
        const char *path = strchr(g_getenv("PATH"), ':');

        (void) data;
        engine_slurm.done(&f->engine);
        g_setenv("PATH", path + 1, TRUE);
        g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
        g_free(f->folder);
}

/* Slurm may have queued a job although sbatch failed. Then no later job gets the same node number. The
 * queued job is cancelled as soon as squeue lists it. */
static void test_unsure(SlurmFixture *f, gconstpointer data) {
        (void) data;
        put(f, "sbatch-1", "sbatch: error: Batch job submission failed: Socket timed out on send/recv\n");
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state != ENGINE_WANTED);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_OVER);
        g_assert_true(f->nodes[0].excused);
        g_assert_nonnull(strstr(f->nodes[0].words, "timed out"));
        want(f, 0, 2);
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        g_assert_cmpstr(f->nodes[0].id, ==, "2");
        put(f, "queue", LINE("2", "PENDING", NEVER, NEVER, "0") LINE("1", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, has(f, "scancel-calls", "--quiet 1\n"));
        g_assert_false(has(f, "scancel-calls", "2"));
}

/* A job that Slurm may have queued although sbatch failed is also cancelled when the engine is abandoned. */
static void test_unsure_end(SlurmFixture *f, gconstpointer data) {
        (void) data;
        engine_slurm.abandon(&f->engine);
        g_assert_false(has(f, "scancel-calls", "--name=actord-"));
        put(f, "sbatch-1", "sbatch: error: Batch job submission failed: Socket timed out on send/recv\n");
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_OVER);
        engine_slurm.abandon(&f->engine);
        g_assert_true(has(f, "scancel-calls", "--name=actord-"));
}

/* If Slurm says that its queue is full, the job is certainly not queued, so the node keeps its number. */
static void test_full(SlurmFixture *f, gconstpointer data) {
        (void) data;
        put(f, "sbatch-1", "sbatch: error: AssocMaxSubmitJobLimit\n");
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].words[0]);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_WANTED);
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        g_assert_cmpuint(f->nodes[0].number, ==, 1);
}

/* The first node tells that its host does not see the programs, so that later ones wait for sbcast. */
static void lacks_programs(SlurmFixture *f) {
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        put(f, "queue", LINE("1", "FAILED", START, START, "127"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_OVER);
}

/* While the programs cannot be sent to one node, the others get them. */
static void test_turns(SlurmFixture *f, gconstpointer data) {
        (void) data;
        lacks_programs(f);
        g_assert_true(f->nodes[0].excused);
        for (uint32_t i = 0; i < N_NODES; i++)
                want(f, i, 2 + i);
        STEP_UNTIL(f, f->nodes[2].state == ENGINE_ASKED);
        put(f, "sbcast-fails--jobid=2", "");
        put(f, "sbcast-fails--jobid=3", "");
        put(f, "queue",
                        LINE("2", "RUNNING", START, END, "0") LINE("3", "RUNNING", START, END, "0")
                                        LINE("4", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, f->nodes[2].state == ENGINE_RUNNING && !f->nodes[2].awaits);
        g_assert_true(f->nodes[0].awaits && f->nodes[1].awaits);
        STEP_UNTIL(f, has(f, "sbcast-calls", "--jobid=2") && has(f, "sbcast-calls", "--jobid=3"));
}

/* A scancel that failed is repeated. */
static void test_cancel(SlurmFixture *f, gconstpointer data) {
        (void) data;
        put(f, "scancel-fails", "");
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        f->nodes[0].stop = true;
        STEP_UNTIL(f, f->nodes[0].stopping);
        STEP_UNTIL(f, !f->nodes[0].stopping);
        g_assert_true(has(f, "scancel-calls", "--quiet 1\n"));
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, has(f, "scancel-calls", "--quiet 1\n--quiet 1\n"));
}

/* A node is charged by the cluster's clock. Its time grows until its program ends, although Slurm's epilog
 * takes longer. */
static void test_time(SlurmFixture *f, gconstpointer data) {
        (void) data;
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        put(f, "queue", LINE("1", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_RUNNING);
        g_assert_cmpint(f->nodes[0].seen, >=, f->nodes[0].started);
        g_assert_cmpint(f->nodes[0].seen, <=, f->nodes[0].started + PATIENCE_SECONDS);
        put(f, "queue", LINE("1", "COMPLETING", START, END, "0"));
        STEP_UNTIL(f, f->nodes[0].seen == f->nodes[0].started + 3600);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_RUNNING);
        /* Slurm has forgotten the job. */
        put(f, "queue", "");
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_OVER);
        g_assert_cmpint(f->nodes[0].ended, ==, f->nodes[0].started + 3600);
}

/* The test sets this host's clock forward while a node runs. The node is charged only for the time that has
 * really passed. */
static void test_clock(SlurmFixture *f, gconstpointer data) {
        int64_t seen;

        (void) data;
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        put(f, "queue", LINE("1", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_RUNNING);
        seen = f->nodes[0].seen;
        set_by = 36000;
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[0].seen > seen);
        set_by = 0;
        g_assert_cmpint(f->nodes[0].seen - seen, <=, PATIENCE_SECONDS);
}

/* The time for which Slurm suspends a job is not charged, whether squeue showed the job as suspended or
 * not. */
static void test_suspended(SlurmFixture *f, gconstpointer data) {
        EngineNode *node = f->nodes;
        int64_t seen;

        (void) data;
        want(f, 0, 1);
        STEP_UNTIL(f, node->state == ENGINE_ASKED);
        put(f, "queue", LINE_USED("1", "RUNNING", START, NEVER, "0", "0:41"));
        STEP_UNTIL(f, node->state == ENGINE_RUNNING);
        g_assert_cmpint(node->seen, ==, node->started);
        put(f, "queue", LINE_USED("1", "SUSPENDED", START, NEVER, "0", "0:12"));
        look(f);
        seen = node->seen;
        g_usleep(3000000);
        look(f);
        g_assert_cmpint(node->seen, ==, seen);
        /* Slurm's count of the used seconds (41) has not grown since the first look, so the node is not
         * charged for more. */
        put(f, "queue", LINE_USED("1", "RUNNING", START, NEVER, "0", "0:41"));
        look(f);
        g_usleep(3000000);
        look(f);
        g_assert_cmpint(node->seen, <=, MAX(seen, node->started + 1));
        put(f, "queue", LINE_USED("1", "COMPLETED", START, END, "0", "0:16"));
        STEP_UNTIL(f, node->state == ENGINE_OVER);
        g_assert_cmpint(node->ended, ==, node->started + 16);
}

/* Only COMMAND_OUTPUT_MAX bytes of squeue's output are read, so the list may be cut off before this job's
 * line. */
static void test_truncated(SlurmFixture *f, gconstpointer data) {
        g_autofree char *padding = g_strnfill(COMMAND_OUTPUT_MAX, '\n'), *queue = NULL;

        (void) data;
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        queue = g_strconcat(padding, LINE("1", "RUNNING", START, END, "0"), NULL);
        put(f, "queue", queue);
        for (size_t i = 0; i < 3; i++)
                look(f);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_ASKED);
        /* A line that is cut off counts for nothing. */
        g_free(queue);
        queue = g_strconcat(LINE("1", "PENDING", NEVER, NEVER, "0"), padding, NULL);
        memcpy(queue + COMMAND_OUTPUT_MAX - 12, "\n1|RUNNING|20", 13);
        put(f, "queue", queue);
        look(f);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_ASKED);
        g_assert_nonnull(strstr(f->nodes[0].words, "Slurm looks for a node"));
        /* If squeue's list is complete and lacks the job a few times in a row, the job counts as over. */
        put(f, "queue", "");
        for (size_t i = 0; i < 4; i++)
                look(f);
        g_assert_cmpint(f->nodes[0].state, ==, ENGINE_OVER);
}

/* A node whose script gave up waiting for the programs (exit status 25) counts as lost, unless no
 * sbcast to the node ever began. */
static void test_late(SlurmFixture *f, gconstpointer data) {
        (void) data;
        lacks_programs(f);
        want(f, 0, 2);
        want(f, 1, 3);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED && f->nodes[1].state == ENGINE_ASKED);
        put(f, "sbcast-fails--jobid=2", "");
        put(f, "queue", LINE("2", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, has(f, "sbcast-calls", "--jobid=2"));
        put(f, "queue", LINE("2", "FAILED", START, START, "25") LINE("3", "FAILED", START, START, "25"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_OVER && f->nodes[1].state == ENGINE_OVER);
        g_assert_false(f->nodes[0].excused);
        g_assert_nonnull(strstr(f->nodes[0].words, "in time: is there room in the node's /tmp"));
        g_assert_true(f->nodes[1].excused);
}

/* Without sbcast no node gets the programs, so no more nodes are asked for. */
static void test_no_sbcast(SlurmFixture *f, gconstpointer data) {
        g_autofree char *path = g_strdup(g_getenv("PATH"));
        g_autofree char *sbcast = g_build_filename(f->folder, "sbcast", NULL);

        (void) data;
        lacks_programs(f);
        want(f, 0, 2);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        /* this host may have an sbcast of its own in another folder */
        g_assert_cmpint(g_unlink(sbcast), ==, 0);
        put_command(f, "squeue", "echo '" LINE("2", "RUNNING", START, END, "0") "'");
        g_setenv("PATH", f->folder, TRUE);
        STEP_UNTIL(f, f->engine.open == ENGINE_REFUSED);
        g_assert_true(g_str_has_prefix(
                        f->engine.words, "sbcast, which sends the programs to nodes, cannot be started: "));
        g_setenv("PATH", path, TRUE);
}

/* A command that was killed at its deadline and does not end must not keep the program busy. */
static void test_stuck(SlurmFixture *f, gconstpointer data) {
        Command stuck = { .pid = 1, .deadline_nsec = SEC };

        (void) f;
        (void) data;
        g_assert_cmpint(command_timeout(&stuck, 2 * SEC), ==, 0);
        stuck.late = true;
        g_assert_cmpint(command_timeout(&stuck, 2 * SEC), >, 0);
}

/* Hosts on which nodes have failed are not asked for again, until no other host is left. */
static void test_avoided(SlurmFixture *f, gconstpointer data) {
        EngineNode bad = { .name = "n7", .exit_status = NODE_EXIT_MUNGE };

        (void) data;
        engine_avoid(&f->engine, &bad);
        engine_avoid(&f->engine, &bad);
        bad = (EngineNode){ .name = "n8", .exit_status = -1 };
        engine_avoid(&f->engine, &bad);
        bad = (EngineNode){ .name = "n9,n1", .exit_status = NODE_EXIT_MUNGE };
        engine_avoid(&f->engine, &bad);
        bad = (EngineNode){ .name = "n77", .exit_status = NODE_EXIT_CONNECT };
        engine_avoid(&f->engine, &bad);
        g_assert_cmpstr(f->engine.avoid, ==, "n7,n77");
        put(f, "sbatch-1", "sbatch: error: Requested node configuration is not available\n");
        want(f, 0, 1);
        STEP_UNTIL(f, has(f, "sbatch-calls", "--exclude=n7,n77\n"));
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        g_assert_cmpint(f->engine.open, ==, ENGINE_OPEN);
        g_assert_cmpstr(f->engine.avoid, ==, "");
        for (size_t i = 0; i < 200; i++) {
                bad = (EngineNode){ .exit_status = NODE_EXIT_MUNGE };
                (void) g_snprintf(bad.name, sizeof(bad.name), "host-%zu", i);
                engine_avoid(&f->engine, &bad);
                g_assert_true(engine_avoids(&f->engine, bad.name));
        }
        g_assert_false(engine_avoids(&f->engine, "host-1") || engine_avoids(&f->engine, "host-19"));
}

/* Slurm's daemons refuse a job while slurmctld or munged restarts. Since Slurm took an earlier job,
 * actord-cluster tries again. */
static void test_passing(SlurmFixture *f, gconstpointer data) {
        (void) data;
        want(f, 0, 1);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        put(f, "sbatch-2", "sbatch: error: Zero Bytes were transmitted or received\n");
        put(f, "sbatch-3", "sbatch: error: Batch job submission failed: Unexpected missing socket error\n");
        want(f, 1, 2);
        STEP_UNTIL(f, f->nodes[1].state == ENGINE_OVER);
        g_assert_true(f->nodes[1].excused);
        g_assert_cmpint(f->engine.open, ==, ENGINE_OPEN);
        want(f, 1, 3);
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, strstr(f->nodes[1].words, "socket error"));
        g_assert_cmpint(f->engine.open, ==, ENGINE_OPEN);
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[1].state == ENGINE_ASKED);
        g_assert_cmpuint(f->nodes[1].number, ==, 3);
}

/* No command can start while this process may open no more descriptors. The engine tries again later. */
static void test_scarce(SlurmFixture *f, gconstpointer data) {
        struct rlimit limit, none;

        (void) data;
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        none = (struct rlimit){ .rlim_max = limit.rlim_max };
        want(f, 0, 1);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
        step(f);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        g_assert_cmpint(f->engine.open, ==, ENGINE_OPEN);
        f->skipped += 16 * SEC;
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
}

/* A node that has the programs lacks a library for them. */
static void test_library(SlurmFixture *f, gconstpointer data) {
        (void) data;
        put(f, "libphysics.so.3.1", "");
        lacks_programs(f);
        want(f, 0, 2);
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_ASKED);
        put(f, "queue", LINE("2", "RUNNING", START, END, "0"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_RUNNING && !f->nodes[0].awaits);
        g_assert_true(has(f, "packed", "libphysics.so.3.1\n") && has(f, "packed", "actord-cluster\n"));
        g_assert_false(has(f, "packed", "queue"));
        put(f, "queue", LINE("2", "FAILED", START, START, "127"));
        STEP_UNTIL(f, f->nodes[0].state == ENGINE_OVER);
        g_assert_false(f->nodes[0].excused);
        g_assert_nonnull(strstr(f->nodes[0].words, "library"));
}

/* Variables of Slurm's commands (SBATCH_…, SQUEUE_…) are removed, those with long names, too. */
static void test_environment(void) {
        g_autofree char *name = g_strdup_printf("SBATCH_%0100d", 1);

        g_setenv(name, "1", TRUE);
        g_setenv("SQUEUE_FORMAT", "%i", TRUE);
        command_set_environment();
        g_assert_null(g_getenv(name));
        g_assert_null(g_getenv("SQUEUE_FORMAT"));
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/slurm/" name, SlurmFixture, NULL, setup, test, teardown)
        ADD("unsure", test_unsure);
        ADD("unsure-end", test_unsure_end);
        ADD("full", test_full);
        ADD("turns", test_turns);
        ADD("cancel", test_cancel);
        ADD("time", test_time);
        ADD("suspended", test_suspended);
        ADD("truncated", test_truncated);
        ADD("no-sbcast", test_no_sbcast);
        ADD("stuck", test_stuck);
        ADD("late", test_late);
        ADD("avoided", test_avoided);
        ADD("clock", test_clock);
        ADD("passing", test_passing);
        ADD("scarce", test_scarce);
        ADD("library", test_library);
        g_test_add_func("/slurm/environment", test_environment);
        return g_test_run();
}
