/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger keeps its content through kill -9, a full disk, and records that are read twice. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

static char *directory;

static char *fresh_path(const char *name) {
        g_autofree char *template = g_strdup_printf("%s/%s-XXXXXX", directory, name);

        g_assert_nonnull(g_mkdtemp(template));
        return g_build_filename(template, "ledger.db", NULL);
}

static uint64_t job_new(Ledger *ledger) {
        LedgerJob job = ledger_row_running();

        job.text = (char *) "[Job]\nEnvironment=CartPole-v1\n";
        job.file_name = (char *) "a.conf";
        job.overrides = (char *) "Job.Seed=3\n";
        job.sheet = (char *) "[Sheet]\n";
        assert_ok(ledger_job_add(ledger, &job));
        return job.id;
}

static Record record_new(uint64_t life, uint64_t seq, RecordKind kind) {
        Record record = { .life = life, .seq = seq, .kind = kind, .round = seq, .actor = UINT32_MAX };

#define X(name, unit) record.statistics.name = NAN;
        STATISTICS(X)
#undef X
        record.metered.cpu_nsec = seq * 10;
        return record;
}

static int record_collect(const Record *record, void *userdata) {
        g_array_append_vals(userdata, record, 1);
        return 0;
}

static GArray *records_read(Ledger *ledger, uint64_t job) {
        GArray *records = g_array_new(FALSE, FALSE, sizeof(Record));

        assert_ok(ledger_records_some(ledger, job, &(LedgerPosition){}, 10000, record_collect, records));
        return records;
}

static void test_job(void) {
        g_autofree char *path = fresh_path("job");
        Ledger *ledger = NULL;
        LedgerJob job = {};
        uint64_t id;

        assert_ok(ledger_open(path, &ledger));
        id = job_new(ledger);
        g_assert_cmpuint(job_new(ledger), ==, id + 1);
        g_assert_cmpint(ledger_job_get(ledger, 99, &job), ==, -ENOENT);

        assert_ok(ledger_job_get(ledger, id, &job));
        g_assert_cmpstr(job.overrides, ==, "Job.Seed=3\n");
        g_assert_null(job.fault);
        g_assert_false(job.has_policy);
        g_free(job.state);
        job.state = g_strdup("ended");
        job.fault = g_strdup("actor 3 was killed by signal 9");
        job.has_policy = true;
        memset(job.policy_sha256, 7, 32);
        job.life = 2;
        job.ended_usec = UINT64_C(1) << 60;
        job.distribution = g_strdup("multi-learner");
        job.distribution_reason = g_strdup("learner-bound");
        job.distribution_life = 3, job.n_learners = 4, job.n_preempted = 2, job.paused_usec = 5;
        job.frozen_usec = 8, job.end_wanted = 5;
        assert_ok(ledger_job_update(ledger, &job));
        ledger_job_done(&job);
        ledger = ledger_close(ledger);
        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_job_get(ledger, id, &job));
        g_assert_cmpstr(job.state, ==, "ended");
        g_assert_cmpstr(job.fault, ==, "actor 3 was killed by signal 9");
        g_assert_true(job.has_policy && job.policy_sha256[31] == 7);
        g_assert_cmpuint(job.life, ==, 2);
        g_assert_cmpuint(job.ended_usec, ==, UINT64_C(1) << 60);
        g_assert_cmpstr(job.distribution, ==, "multi-learner");
        g_assert_cmpstr(job.distribution_reason, ==, "learner-bound");
        g_assert_true(job.distribution_life == 3 && job.n_learners == 4 && job.n_preempted == 2);
        g_assert_true(job.paused_usec == 5 && job.frozen_usec == 8 && job.end_wanted == 5);
        ledger_job_done(&job);
        ledger_close(ledger);
}

static void test_jobs_live(void) {
        static const char *const states[] = { "queued", "running", "ended", "running", "ended", "ended" };
        static const uint64_t live[] = { 1, 2, 4 };
        Ledger *ledger = NULL;
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));

        assert_ok(ledger_open(":memory:", &ledger));
        for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
                LedgerJob job = {};

                assert_ok(ledger_job_get(ledger, job_new(ledger), &job));
                free(job.state);
                job.state = strdup(states[i]);
                assert_ok(ledger_job_update(ledger, &job));
                ledger_job_done(&job);
        }
        assert_ok(ledger_jobs_live(ledger, ids));
        g_assert_cmpmem(ids->data, ids->len * sizeof(uint64_t), live, sizeof(live));
        ledger_close(ledger);
}

/* Each member of the record comes back, bit for bit. */
static void test_record_whole(void) {
        g_autofree char *path = fresh_path("whole");
        Ledger *ledger = NULL;
        Record in = record_new(1, 1, RECORD_ROUND);
        uint64_t job;
        double x = 0.1;

        assert_ok(ledger_open(path, &ledger));
        job = job_new(ledger);

        in.actor = 7;
        in.detail = -110;
#define X(column, field, comment)                                             \
        if (strcmp(#column, "kind") != 0 && strcmp(#column, "detail") != 0 && \
                        strcmp(#column, "wasted") != 0)                       \
                in.field = (__typeof__(in.field)) (UINT64_C(0xfedcba9876543210) + (x += 1));
        RECORD_COLUMNS(X)
#undef X
#define X(name, unit) in.statistics.name = (x += 0.1);
        STATISTICS(X)
#undef X
        in.statistics.kl = NAN;
        in.statistics.entropy = -0.0;
        in.statistics.n_env_steps = 5;
        in.statistics.n_episodes = UINT64_MAX;
        in.statistics.policy_version = 6;
        memset(in.sha256, 0xab, 32);

        assert_ok(ledger_append(ledger, job, &in));
        assert_ok(ledger_commit(ledger));
        g_autoptr(GArray) records = records_read(ledger, job);
        g_assert_cmpuint(records->len, ==, 1);
        Record *out = &g_array_index(records, Record, 0);
        g_assert_true(isnan(out->statistics.kl));
        in.statistics.kl = out->statistics.kl = 0;
        in.statistics.entropy = out->statistics.entropy = 0; /* SQLite keeps a zero without its sign */
        g_assert_cmpmem(out, sizeof(*out), &in, sizeof(in));
        ledger_close(ledger);
}

static void test_twice(void) {
        g_autofree char *path = fresh_path("twice");
        Ledger *ledger = NULL;
        uint64_t job, seq;

        assert_ok(ledger_open(path, &ledger));
        job = job_new(ledger);
        for (int times = 0; times < 2; times++)
                for (uint64_t i = 1; i <= 50; i++) {
                        Record record = record_new(1, i, i % 5 ? RECORD_ROLLOUT : RECORD_ROUND);

                        /* of two records with the same number, the first counts */
                        record.metered.cpu_nsec += (uint64_t) times;
                        assert_ok(ledger_append(ledger, job, &record));
                        if (i == 20 || i == 50)
                                assert_ok(ledger_commit(ledger));
                }
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 0);
        assert_ok(ledger_last_seq(ledger, job, 1, &seq));
        g_assert_cmpuint(seq, ==, 50);
        assert_ok(ledger_last_seq(ledger, job, 2, &seq));
        g_assert_cmpuint(seq, ==, 0);

        g_autoptr(GArray) records = records_read(ledger, job);
        g_assert_cmpuint(records->len, ==, 50);
        for (unsigned i = 0; i < 50; i++)
                g_assert_cmpuint(g_array_index(records, Record, i).metered.cpu_nsec, ==, (i + 1) * 10);
        ledger_close(ledger);
}

static void test_pending_limit(void) {
        Ledger *ledger = NULL;
        uint64_t job;
        int r = 0;

        assert_ok(ledger_open(":memory:", &ledger));
        job = job_new(ledger);
        for (uint64_t i = 1; i <= LEDGER_PENDING_MAX; i++) {
                Record record = record_new(1, i, RECORD_ROLLOUT);

                assert_ok(ledger_append(ledger, job, &record));
        }
        Record record = record_new(1, LEDGER_PENDING_MAX + 1, RECORD_ROLLOUT);
        r = ledger_append(ledger, job, &record);
        g_assert_cmpint(r, ==, -ENOBUFS);
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_append(ledger, job, &record));
        ledger_close(ledger);
}

static void test_second_daemon(void) {
        g_autofree char *path = fresh_path("second");
        Ledger *ledger = NULL, *second = NULL;
        sqlite3 *reader = NULL;

        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ledger_open(path, &second), ==, -EBUSY);
        g_assert_null(second);

        /* Another program may read the ledger meanwhile, and sees kinds and faults as words. */
        uint64_t job = job_new(ledger);
        Record record = record_new(1, 1, RECORD_ROLLOUT);
        record.fault = FAULT_MEMORY;
        assert_ok(ledger_append(ledger, job, &record));
        assert_ok(ledger_commit(ledger));
        g_assert_cmpint(sqlite3_open_v2(path, &reader, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
        {
                _cleanup_statement_ sqlite3_stmt *s = NULL;

                g_assert_cmpint(sqlite3_prepare_v2(
                                                reader, "SELECT kind, fault FROM invocations", -1, &s, NULL),
                                ==, SQLITE_OK);
                g_assert_cmpint(sqlite3_step(s), ==, SQLITE_ROW);
                g_assert_cmpstr((const char *) sqlite3_column_text(s, 0), ==, "rollout");
                g_assert_cmpstr((const char *) sqlite3_column_text(s, 1), ==, "out-of-memory");
        }
        sqlite3_close(reader);

        ledger = ledger_close(ledger);
        assert_ok(ledger_open(path, &ledger));
        ledger_close(ledger);
}

/* A child commits groups of records, and reports after each group how many records are durable. It is killed
 * at a random moment. */
static void child_commit_forever(const char *path, int fd) {
        Ledger *ledger = NULL;
        uint64_t seq = 0, job;

        if (ledger_open(path, &ledger) < 0)
                _exit(1);
        job = job_new(ledger);
        for (;;) {
                for (int i = 0; i < 7; i++) {
                        Record record = record_new(1, ++seq, RECORD_ROUND);

                        if (ledger_append(ledger, job, &record) < 0)
                                _exit(2);
                }
                if (seq % 5 == 0) {
                        LedgerCheckpoint checkpoint = { .job = job, .life = 1, .seq = seq, .name = "a" };

                        (void) ledger_checkpoint_append(ledger, &checkpoint);
                }
                if (ledger_commit(ledger) < 0)
                        _exit(4);
                if (write(fd, &seq, sizeof(seq)) != sizeof(seq))
                        _exit(5);
        }
}

static void test_killed(void) {
        for (int i = 0; i < 8; i++) {
                g_autofree char *path = fresh_path("killed");
                int fds[2];
                uint64_t said = 0, got, value;
                Ledger *ledger = NULL;
                pid_t pid;

                g_assert_cmpint(pipe(fds), ==, 0);
                pid = fork();
                g_assert_cmpint(pid, >=, 0);
                if (pid == 0)
                        child_commit_forever(path, fds[1]);
                close(fds[1]);
                g_assert_cmpint(read(fds[0], &said, sizeof(said)), ==, sizeof(said));
                g_usleep((gulong) g_random_int_range(0, 30000));
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                while (read(fds[0], &value, sizeof(value)) == sizeof(value))
                        said = value;
                close(fds[0]);

                assert_ok(ledger_open(path, &ledger));
                assert_ok(ledger_last_seq(ledger, 1, 1, &got));
                g_assert_cmpuint(got, >=, said);
                g_assert_cmpuint(got % 7, ==, 0); /* whole groups only */
                g_autoptr(GArray) records = records_read(ledger, 1);
                g_assert_cmpuint(records->len, ==, got);
                ledger_close(ledger);
        }
}

static void test_disk_full(void) {
        g_autofree char *path = fresh_path("full");
        Ledger *ledger = NULL;
        uint64_t job, seq = 0, got;
        int r = 0;

        assert_ok(ledger_open(path, &ledger));
        job = job_new(ledger);
        assert_ok(ledger_exec(ledger, "PRAGMA max_page_count = 40"));
        while (r >= 0 && seq < 10000) {
                for (int i = 0; i < 64; i++) {
                        Record record = record_new(1, ++seq, RECORD_ROUND);

                        assert_ok(ledger_append(ledger, job, &record));
                }
                r = ledger_commit(ledger);
        }
        g_assert_cmpint(r, ==, -ENOSPC);
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 64);
        g_assert_cmpint(ledger_commit(ledger), ==, -ENOSPC);
        assert_ok(ledger_last_seq(ledger, job, 1, &got));
        g_assert_cmpuint(got, ==, seq - 64);

        LedgerCheckpoint checkpoint = { .job = job, .life = 1, .seq = seq, .name = "a" };
        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        g_assert_cmpint(ledger_commit(ledger), ==, -ENOSPC);
        g_assert_cmpint(ledger_checkpoint_newest(ledger, job, &checkpoint), ==, -ENOENT);
        assert_ok(ledger_exec(ledger, "PRAGMA max_page_count = 100000"));
        assert_ok(ledger_commit(ledger));
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 0);
        g_autoptr(GArray) records = records_read(ledger, job);
        g_assert_cmpuint(records->len, ==, seq);
        ledger_close(ledger);
}

/* Like test_disk_full(), but the file system itself is full: the error comes from the WAL or its index. */
static void fill_small_disk(const char *at) {
        g_autofree char *path = g_build_filename(at, "ledger.db", NULL);
        Ledger *ledger = NULL;
        uint64_t job, seq = 0, got;
        int r = 0;

        assert_ok(ledger_open(path, &ledger));
        job = job_new(ledger);
        while (r >= 0 && seq < 100000) {
                for (int i = 0; i < 64; i++) {
                        Record record = record_new(1, ++seq, RECORD_ROUND);

                        assert_ok(ledger_append(ledger, job, &record));
                }
                r = ledger_commit(ledger);
        }
        g_assert_cmpint(r, ==, -ENOSPC);
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 64);

        g_assert_cmpint(mount("small", at, "tmpfs", MS_REMOUNT, "size=64m"), ==, 0);
        assert_ok(ledger_commit(ledger));
        ledger = ledger_close(ledger);
        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_last_seq(ledger, job, 1, &got));
        g_assert_cmpuint(got, ==, seq);
        ledger_close(ledger);
}

static void test_small_disk(void) {
        g_autofree char *at = g_build_filename(directory, "small", NULL);
        int status;
        pid_t pid;

        if (geteuid() != 0) {
                g_test_skip("mounting a small file system takes root");
                return;
        }
        g_assert_cmpint(g_mkdir(at, 0700), ==, 0);
        pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
                                mount("small", at, "tmpfs", 0, "size=512k") < 0)
                        _exit(77);
                fill_small_disk(at);
                _exit(0);
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                g_test_skip("this root may not mount");
        else
                g_assert_cmpint(status, ==, 0);
}

static void file_damage(const char *path, long from, size_t n) {
        FILE *f = fopen(path, "r+");

        g_assert_nonnull(f);
        g_assert_cmpint(fseek(f, from, SEEK_SET), ==, 0);
        for (size_t i = 0; i < n; i++)
                fputc(0x5a, f);
        fclose(f);
}

static void test_foreign_files(void) {
        g_autofree char *text = fresh_path("text"), *other = fresh_path("other"),
                        *newer = fresh_path("newer"), *damaged = fresh_path("damaged");
        Ledger *ledger = NULL;
        sqlite3 *db = NULL;

        g_assert_true(g_file_set_contents(
                        text, "this is no database, but a long enough text of a user\n", -1, NULL));
        g_assert_cmpint(ledger_open(text, &ledger), ==, -EUCLEAN);

        g_assert_cmpint(sqlite3_open(other, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, "CREATE TABLE songs (a); PRAGMA user_version = 1", NULL, NULL,
                                        NULL),
                        ==, SQLITE_OK);
        sqlite3_close(db);
        g_assert_cmpint(ledger_open(other, &ledger), ==, -EUCLEAN);

        assert_ok(ledger_open(newer, &ledger));
        assert_ok(ledger_exec(ledger, "PRAGMA user_version = 1000"));
        ledger = ledger_close(ledger);
        g_assert_cmpint(ledger_open(newer, &ledger), ==, -EUCLEAN);

        assert_ok(ledger_open(damaged, &ledger));
        uint64_t job = job_new(ledger);
        for (uint64_t i = 1; i <= 500; i++) {
                Record record = record_new(1, i, RECORD_ROUND);
                assert_ok(ledger_append(ledger, job, &record));
        }
        assert_ok(ledger_commit(ledger));
        ledger = ledger_close(ledger);
        file_damage(damaged, 0, 4096);
        g_assert_cmpint(ledger_open(damaged, &ledger), ==, -EUCLEAN);
}

/* The ledger is damaged in the middle, and its daemon was killed. After a kill, ledger_open() reads the
 * whole file before it uses any of it, and so finds the damage. */
static void test_damage_after_kill(void) {
        g_autofree char *path = fresh_path("damage"), *wal = g_strdup_printf("%s-wal", path);
        Ledger *ledger = NULL;
        uint64_t job;

        assert_ok(ledger_open(path, &ledger));
        job = job_new(ledger);
        for (uint64_t i = 1; i <= 500; i++) {
                Record record = record_new(1, i, RECORD_ROUND);
                assert_ok(ledger_append(ledger, job, &record));
        }
        assert_ok(ledger_commit(ledger));
        ledger = ledger_close(ledger);

        pid_t pid = fork();
        if (pid == 0) {
                if (ledger_open(path, &ledger) < 0)
                        _exit(1);
                job_new(ledger);
                (void) kill(getpid(), SIGKILL);
        }
        int status;
        waitpid(pid, &status, 0);
        g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        g_assert_true(g_file_test(wal, G_FILE_TEST_EXISTS));
        file_damage(path, 4096 * 12, 4096 * 3);
        g_assert_cmpint(ledger_open(path, &ledger), ==, -EUCLEAN);
}

/* The rounds after `after` that count are those up to `last`; those up to first_life are of that life. */
static void assert_rounds(Ledger *ledger, uint64_t job, uint64_t after, uint64_t last, uint64_t first_life) {
        g_autofree LedgerRound *rounds = NULL;
        size_t n;

        assert_ok(ledger_rounds(ledger, job, after, 100, &rounds, &n));
        g_assert_cmpuint(n, ==, last - after);
        for (size_t i = 0; i < n; i++) {
                g_assert_cmpuint(rounds[i].round, ==, after + i + 1);
                g_assert_cmpuint(rounds[i].emulated_nsec, ==, rounds[i].round <= first_life ? 100 : 200);
                g_assert_true(isnan(rounds[i].statistics.return_mean));
        }
}

static void test_lives(void) {
        Ledger *ledger = NULL;
        LedgerCheckpoint checkpoint = {}, newest = {};
        LedgerJob job = {};
        uint64_t id;
        LedgerRound *rounds = NULL;
        size_t n;

        assert_ok(ledger_open(":memory:", &ledger));
        id = job_new(ledger);
        for (uint64_t i = 1; i <= 10; i++) {
                Record record = record_new(1, i, RECORD_ROUND);
                record.emulated_round_nsec = 100;
                assert_ok(ledger_append(ledger, id, &record));
        }
        checkpoint = (LedgerCheckpoint){ .job = id,
                .life = 1,
                .seq = 6,
                .round = 6,
                .name = "six",
                .scheduler = (void *) "abc",
                .scheduler_bytes = 3 };
        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_checkpoint_newest(ledger, id, &newest));
        g_assert_cmpstr(newest.name, ==, "six");
        g_assert_cmpmem(newest.scheduler, newest.scheduler_bytes, "abc", 3);
        free(newest.scheduler);

        /* The second life repeats rounds 7 to 10. From its start on, they do not count any more. */
        assert_rounds(ledger, id, 0, 10, 10);
        assert_ok(ledger_job_get(ledger, id, &job));
        job.life = 2;
        assert_ok(ledger_job_update(ledger, &job));
        ledger_job_done(&job);
        assert_rounds(ledger, id, 0, 6, 6);
        for (uint64_t i = 1; i <= 5; i++) {
                Record record = record_new(2, i, RECORD_ROUND);
                record.round = 6 + i;
                record.emulated_round_nsec = 200;
                assert_ok(ledger_append(ledger, id, &record));
        }
        assert_ok(ledger_commit(ledger));

        g_autoptr(GArray) records = records_read(ledger, id);
        g_assert_cmpuint(records->len, ==, 15);
        for (unsigned i = 0; i < 15; i++)
                g_assert_cmpuint(g_array_index(records, Record, i).wasted, ==, i >= 6 && i < 10);

        assert_rounds(ledger, id, 0, 11, 6);
        assert_rounds(ledger, id, 11, 11, 6);
        assert_ok(ledger_rounds(ledger, id, 3, 4, &rounds, &n));
        g_assert_cmpuint(n, ==, 4);
        g_assert_cmpuint(rounds[3].round, ==, 11); /* the newest is always there */
        free(rounds);

        /* The newest checkpoint was damaged and is forgotten. So the second life begins without one, and all
         * ten rounds of the first life count as wasted. */
        assert_ok(ledger_checkpoints_forget(ledger, id, &(LedgerPosition){}));
        g_assert_cmpint(ledger_checkpoint_newest(ledger, id, &newest), ==, -ENOENT);
        g_autoptr(GArray) again = records_read(ledger, id);
        for (unsigned i = 0; i < 15; i++)
                g_assert_cmpuint(g_array_index(again, Record, i).wasted, ==, i < 10);
        ledger_close(ledger);
}

/* Each example of the manual page is a query that this schema answers. */
static void test_page(void) {
        g_autofree char *path = g_build_filename(
                                        g_getenv("ACTORD_SOURCE") ?: ".", "docs", "actord-ledger.5", NULL),
                        *text = NULL;
        Ledger *ledger = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        assert_ok(ledger_open(":memory:", &ledger));
        for (char *at = strstr(text, ".EX\n"); at; at = strstr(at, ".EX\n")) {
                g_autofree char *query = g_strndup(at + 4, (gsize) (strstr(at, ".EE\n") - at - 4));
                _cleanup_statement_ sqlite3_stmt *statement = NULL;

                assert_ok(ledger_prepare(ledger, query, &statement));
                n++;
                at += 4;
        }
        g_assert_cmpuint(n, >=, 5);
        ledger_close(ledger);
}

int main(int argc, char *argv[]) {
        int r;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL);
        g_assert_nonnull(directory);

        g_test_add_func("/ledger/job", test_job);
        g_test_add_func("/ledger/jobs-live", test_jobs_live);
        g_test_add_func("/ledger/record-whole", test_record_whole);
        g_test_add_func("/ledger/twice", test_twice);
        g_test_add_func("/ledger/pending-limit", test_pending_limit);
        g_test_add_func("/ledger/second-daemon", test_second_daemon);
        g_test_add_func("/ledger/killed", test_killed);
        g_test_add_func("/ledger/disk-full", test_disk_full);
        g_test_add_func("/ledger/small-disk", test_small_disk);
        g_test_add_func("/ledger/foreign-files", test_foreign_files);
        g_test_add_func("/ledger/damage-after-kill", test_damage_after_kill);
        g_test_add_func("/ledger/lives", test_lives);
        g_test_add_func("/ledger/page", test_page);
        r = g_test_run();

        g_autofree char *command = g_strdup_printf("rm -rf '%s'", directory);
        g_free(directory);
        return system(command) == 0 ? r : 1;
}
