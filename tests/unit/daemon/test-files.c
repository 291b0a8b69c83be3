/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that strangers or administrators write: a job's directory, the daemon's settings, price sheets;
 * on a real file system. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/bill/price.h"
#include "daemon/config.h"
#include "daemon/files.h"
#include "daemon/hold.h"
#include "daemon/removals.h"
#include "include/launch.h"
#include "lib/sheets.h"
#include "lib/tree.h"

typedef struct Fixture {
        char *path;
        int fd;
} Fixture;

static void set_up(Fixture *f, const void *userdata) {
        f->path = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        f->fd = open(f->path, O_RDONLY | O_DIRECTORY);
        g_assert_cmpint(f->fd, >=, 0);
}

static void tear_down(Fixture *f, const void *userdata) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->path);

        g_assert_cmpint(system(command), ==, 0);
        (void) close(f->fd);
        g_free(f->path);
}

static int file_of(const char *text) {
        FILE *file = tmpfile();
        int fd;

        g_assert_nonnull(file);
        (void) fputs(text, file);
        (void) fflush(file);
        fd = dup(fileno(file));
        (void) fclose(file);
        return fd;
}

static void test_directory(Fixture *f, const void *userdata) {
        g_autofree char *name = NULL;
        char got[6] = "";
        struct stat st;
        int fd, plugin = file_of("hello");

        fd = job_directory_new(f->fd, true, &name);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(job_file_add(fd, "environment", plugin), ==, 0);
        g_assert_cmpint(job_file_add(fd, "environment", plugin), ==, -EEXIST);
        g_assert_cmpint(job_directory_commit(f->fd, name, 7), ==, 0);
        (void) close(fd);
        (void) close(plugin);

        g_assert_cmpint(fstatat(f->fd, "7", &st, 0), ==, 0);
        g_assert_cmpuint(st.st_mode & 07777, ==, 0700);
        g_assert_cmpint(fstatat(f->fd, "7/state", &st, 0), ==, 0);
        g_assert_cmpuint(st.st_mode & 07777, ==, 0777); /* the mode of its parent keeps other users out */

        fd = job_file_open(f->fd, 7, "environment");
        g_assert_cmpint(read(fd, got, 5), ==, 5);
        g_assert_cmpstr(got, ==, "hello");
        (void) close(fd);
        job_file_remove(f->fd, 7, "environment");
        g_assert_cmpint(job_file_open(f->fd, 7, "environment"), ==, -ENOENT);
}

static void test_sweep(Fixture *f, const void *userdata) {
        g_autofree char *name = NULL;
        int fd, plugin = file_of("hello");
        struct stat st;

        fd = job_directory_new(f->fd, false, &name);
        g_assert_cmpint(job_file_add(fd, "environment", plugin), ==, 0);
        (void) close(fd);
        (void) close(plugin);
        g_assert_cmpint(mkdirat(f->fd, "3", 0700), ==, 0);

        g_autoptr(GPtrArray) removed = job_directories_sweep(f->fd);
        g_assert_cmpuint(removed->len, ==, 0);
        g_assert_cmpint(fstatat(f->fd, name, &st, 0), ==, -1);
        g_assert_cmpint(fstatat(f->fd, "3", &st, 0), ==, 0);
}

static void test_strange_files(Fixture *f, const void *userdata) {
        int pair[2], directory = open("/", O_RDONLY | O_DIRECTORY), path = open("/etc/passwd", O_PATH);
        g_autofree char *name = NULL;
        int fd = job_directory_new(f->fd, false, &name);

        g_assert_cmpint(pipe(pair), ==, 0);
        /* a copy from it would wait for ever */
        g_assert_cmpint(job_file_add(fd, "a", pair[0]), ==, -EMEDIUMTYPE);
        g_assert_cmpint(job_file_add(fd, "b", directory), ==, -EMEDIUMTYPE);
        g_assert_cmpint(job_file_add(fd, "c", path), ==, -EMEDIUMTYPE);
        g_assert_cmpint(job_file_add(fd, "d", open("/dev/zero", O_RDONLY)), ==, -EMEDIUMTYPE);
        (void) close(fd);
}

static void write_state(const Fixture *f, uint64_t round, const char *text) {
        char file_name[64];
        g_autofree char *path = NULL;

        (void) snprintf(file_name, sizeof(file_name), CHECKPOINT_NAME, round);
        path = g_build_filename(f->path, "1", "state", file_name, NULL);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static bool has_state(const Fixture *f, const char *name) {
        g_autofree char *path = g_build_filename(f->path, "1", "state", name, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void make_job(Fixture *f) {
        g_autofree char *name = NULL;
        int fd = job_directory_new(f->fd, false, &name);

        (void) close(fd);
        g_assert_cmpint(job_directory_commit(f->fd, name, 1), ==, 0);
}

/* The ledger was moved away, but not the directories: job numbers begin anew, and no job's checkpoint is
 * lost or taken for another job's. */
static void test_number_again(Fixture *f, const void *userdata) {
        g_autofree char *old = NULL;
        g_autoptr(GDir) dir = NULL;
        const char *name;
        bool kept = false;

        make_job(f);
        write_state(f, 3, "old");
        make_job(f);
        old = g_build_filename(f->path, "1", "state", "checkpoint-3.safetensors", NULL);
        g_assert_false(g_file_test(old, G_FILE_TEST_EXISTS));

        dir = g_dir_open(f->path, 0, NULL);
        while ((name = g_dir_read_name(dir))) {
                g_autofree char *path =
                                g_build_filename(f->path, name, "state", "checkpoint-3.safetensors", NULL);

                kept |= g_str_has_prefix(name, "1.before-") && g_file_test(path, G_FILE_TEST_EXISTS);
        }
        g_assert_true(kept);
}

static void test_prune(Fixture *f, const void *userdata) {
        g_autofree char *other = g_build_filename(f->path, "1", "state", "notes.txt", NULL);

        make_job(f);
        for (uint64_t round = 2; round <= 10; round += 2)
                write_state(f, round, "x");
        g_assert_true(g_file_set_contents(other, "x", -1, NULL));

        job_checkpoints_prune(f->fd, 1, 8, 2);
        /* checkpoint 10 is newer than the newest complete one: it is being written, so it stays */
        g_assert_true(has_state(f, "checkpoint-10.safetensors"));
        g_assert_true(has_state(f, "checkpoint-8.safetensors"));
        g_assert_true(has_state(f, "checkpoint-6.safetensors"));
        g_assert_false(has_state(f, "checkpoint-4.safetensors"));
        g_assert_false(has_state(f, "checkpoint-2.safetensors"));
        g_assert_true(has_state(f, "notes.txt"));
}

/* Files count in whole blocks, whether the job brought them or wrote them. A symbolic link counts as
 * nothing, whatever its target. */
static void test_bytes(Fixture *f, const void *userdata) {
        g_autofree char *big = g_strnfill(5000, 'x'), *name = NULL,
                        *link = g_build_filename(f->path, "1", "state", "link", NULL);
        uint64_t job = 0;

        g_assert_cmpuint(job_files_bytes(f->fd, "1"), ==, 0);
        make_job(f);
        g_assert_cmpuint(job_files_bytes(f->fd, "1"), ==, 0);
        write_state(f, 1, "x");
        write_state(f, 2, big);
        g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
        g_assert_cmpuint(job_files_bytes(f->fd, "1"), ==, 3 * 4096);
        g_autofree char *brought = g_build_filename(f->path, "1", "environment", NULL);

        g_assert_true(g_file_set_contents(brought, "x", -1, NULL));
        g_assert_cmpuint(job_files_bytes(f->fd, "1"), ==, 4 * 4096);

        g_assert_cmpint(job_directory_retire(f->fd, 1, &name), ==, 0);
        g_assert_cmpuint(job_files_bytes(f->fd, "1"), ==, 0);
        g_assert_true(job_directory_was(name, &job));
        g_assert_cmpuint(job, ==, 1);
        g_assert_false(job_directory_was("1", &job));
        g_assert_false(job_directory_was("1.before-0badcafe", &job));
}

/* job_files_bytes() also counts space that is allocated beyond the end of a file: the learner reserves the
 * space of its last checkpoint in this way. */
static void test_bytes_reserved(Fixture *f, const void *userdata) {
        g_autofree char *path = g_build_filename(f->path, "1", "state", CHECKPOINT_RESERVE, NULL);
        int fd;

        make_job(f);
        write_state(f, 1, "x");
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        g_assert_cmpint(fd, >=, 0);
        if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) < 0)
                g_test_skip("this file system allocates nothing ahead");
        else
                g_assert_cmpuint(job_files_bytes(f->fd, "1"), >=, (1 << 20) + 4096);
        (void) close(fd);
}

static void test_room(void) {
        g_assert_true(quota_disk_has_room(0, UINT64_MAX, UINT64_MAX)); /* no limit */
        g_assert_true(quota_disk_has_room(8192, 0, 8192));
        g_assert_false(quota_disk_has_room(8192, 0, 8193));
        g_assert_true(quota_disk_has_room(8192, 4096, 4096));
        g_assert_false(quota_disk_has_room(8192, 4096, 4097));
        g_assert_false(quota_disk_has_room(8192, 8192, 0)); /* nothing more fits */
        g_assert_false(quota_disk_has_room(8192, UINT64_MAX, 1));
}

static void test_checkpoint(Fixture *f, const void *userdata) {
        LedgerCheckpoint checkpoint = { .job = 1, .round = 4, .name = "checkpoint-4.safetensors" };
        int fd;

        make_job(f);
        g_assert_cmpint(job_checkpoint_open(f->fd, &checkpoint), ==, -ENOENT);
        write_state(f, 4, "weights");
        fd = job_checkpoint_open(f->fd, &checkpoint);
        g_assert_cmpint(fd, >=, 0);
        (void) close(fd);

        /* Refuses to open a name that leads out of the directory, as a damaged ledger may have it, and a
         * symbolic link that a job left in place of its checkpoint. */
        strcpy(checkpoint.name, "../../etc/passwd");
        g_assert_cmpint(job_checkpoint_open(f->fd, &checkpoint), ==, -EUCLEAN);
        g_autofree char *link = g_build_filename(f->path, "1", "state", "link", NULL);

        g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
        strcpy(checkpoint.name, "link");
        g_assert_cmpint(job_checkpoint_open(f->fd, &checkpoint), ==, -ELOOP);
}

/* A job's files are removed in portions, whatever the directory holds, and nothing outside of it is
 * removed. */
static void test_retire(Fixture *f, const void *userdata) {
        g_autofree char *outside = g_build_filename(f->path, "outside", NULL), *file = NULL, *name = NULL,
                        *link = g_build_filename(f->path, "1", "state", "link", NULL),
                        *hard = g_build_filename(f->path, "1", "state", "hard", NULL),
                        *below = g_build_filename(f->path, "1", "state", "a", "b", "c", NULL);
        g_autoptr(GPtrArray) removed = NULL;
        g_autoptr(GArray) jobs = NULL;
        unsigned n_calls = 0;
        struct stat st;
        int r;

        g_assert_cmpint(job_directory_retire(f->fd, 1, &name), ==, -ENOENT);
        make_job(f);
        for (uint64_t round = 1; round <= 30; round++)
                write_state(f, round, "x");
        g_assert_cmpint(g_mkdir(outside, 0700), ==, 0);
        file = g_build_filename(outside, "policy", NULL);
        g_assert_true(g_file_set_contents(file, "x", -1, NULL));
        g_assert_cmpint(symlink(outside, link), ==, 0);
        g_assert_cmpint(linkat(AT_FDCWD, file, AT_FDCWD, hard, 0), ==, 0);
        g_assert_cmpint(g_mkdir_with_parents(below, 0700), ==, 0);
        jobs = job_directories_list(f->fd);
        g_assert_cmpuint(jobs->len, ==, 1);
        g_assert_cmpuint(g_array_index(jobs, uint64_t, 0), ==, 1);

        g_assert_cmpint(job_directory_retire(f->fd, 1, &name), ==, 0);
        g_assert_false(job_directory_exists(f->fd, 1));
        g_assert_cmpint(tree_remove(f->fd, name, 10), ==, 1);

        /* The daemon is killed here, and the next one goes on with the files that it finds. */
        removed = job_directories_sweep(f->fd);
        g_assert_cmpuint(removed->len, ==, 1);
        g_assert_cmpstr(removed->pdata[0], ==, name);
        while ((r = tree_remove(f->fd, removed->pdata[0], 10)) > 0)
                n_calls++;
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(n_calls, >=, 2);
        g_assert_cmpint(fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW), ==, -1);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
        g_assert_cmpint(tree_remove(f->fd, name, 10), ==, 0);
}

/* tree_remove() removes a symbolic link, but not its target, and refuses a tree deeper than
 * TREE_DEPTH_MAX. */
static void test_tree_strange(Fixture *f, const void *userdata) {
        g_autofree char *file = g_build_filename(f->path, "kept", "policy", NULL), *deep = NULL;
        g_autoptr(GString) path = g_string_new(f->path);

        g_assert_cmpint(mkdirat(f->fd, "kept", 0700), ==, 0);
        g_assert_true(g_file_set_contents(file, "x", -1, NULL));
        g_assert_cmpint(symlinkat("kept", f->fd, "link"), ==, 0);
        g_assert_cmpint(tree_remove(f->fd, "link", 10), ==, 0);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));

        for (unsigned i = 0; i < TREE_DEPTH_MAX + 2; i++)
                g_string_append(path, "/d");
        deep = g_string_free(g_steal_pointer(&path), FALSE);
        g_assert_cmpint(g_mkdir_with_parents(deep, 0700), ==, 0);
        g_assert_cmpint(tree_remove(f->fd, "d", 10), <, 0);
        g_assert_true(g_file_test(deep, G_FILE_TEST_EXISTS));
}

static void test_over(void) {
        uint64_t day = 86400ull * 1000000;

        g_assert_false(files_are_over(day, 1000 * day, 0)); /* for ever */
        g_assert_false(files_are_over(0, 1000 * day, day)); /* it has not ended */
        g_assert_false(files_are_over(9 * day, 10 * day - 1, day));
        g_assert_true(files_are_over(9 * day, 10 * day, day));
        g_assert_false(files_are_over(11 * day, 10 * day, day)); /* the clock was set back */
}

static int parse(Config *config, const char *text) {
        g_autofree char *message = NULL;
        int r = config_parse(config, text, "actord.conf", &message);

        g_assert_true((r < 0) == (message != NULL));
        if (message)
                g_assert_true(g_str_has_prefix(message, "actord.conf:"));
        return r;
}

static void test_config(void) {
        Config config;

        config_init(&config);
        g_assert_cmpuint(config.max_jobs_user, ==, 100);
        g_assert_cmpint(parse(&config, ""), ==, 0);
        g_assert_cmpint(parse(&config, "[Daemon]\n#MaxJobs=3\n"), ==, 0);
        g_assert_cmpuint(config.max_jobs, ==, 0);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJobs=3\nDefaultPriceSheet=local\n"), ==, 0);
        g_assert_cmpuint(config.max_jobs, ==, 3);
        g_assert_cmpstr(config.default_price_sheet, ==, "local");

        g_assert_cmpuint(config.keep_files_usec, ==, 0);
        g_assert_cmpint(parse(&config, "[Daemon]\nKeepFilesSec=30d 1h\n"), ==, 0);
        g_assert_cmpuint(config.keep_files_usec, ==, (30 * 24 + 1) * 3600ull * 1000000);
        g_assert_cmpint(parse(&config, "[Daemon]\nKeepFilesSec=infinity\n"), ==, 0);
        g_assert_cmpuint(config.keep_files_usec, ==, 0);

        g_assert_cmpuint(config.keep_records_usec, ==, 90ull * 24 * 3600 * 1000000);
        g_assert_cmpuint(config.ledger_max_bytes, ==, 1u << 30);
        g_assert_cmpint(parse(&config, "[Daemon]\nKeepRecordsSec=infinity\nLedgerMax=0\n"), ==, 0);
        g_assert_cmpuint(config.keep_records_usec, ==, 0);
        g_assert_cmpuint(config.ledger_max_bytes, ==, 0);

        g_assert_cmpint(parse(&config, "[Daemon]\nKeepFilesSec=30 moons\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Daemon]\nKeepFilesSec=-1\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJob=3\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJobs=-1\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJobs=1001\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJobs=3 or 4\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Demon]\nMaxJobs=3\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "MaxJobs=3\n"), ==, -EINVAL);
        g_assert_cmpuint(config.max_jobs, ==, 3);
}

/* A file may not set a key twice, since one of the two values would have no effect. A later file may change
 * the value (test_drop_ins()). */
static void test_config_repeated(void) {
        g_autofree char *message = NULL;
        Config config;

        config_init(&config);
        g_assert_cmpint(config_parse(&config, "[Daemon]\nMaxJobs=3\n\n[Daemon]\nMaxJobs=4\n", "a.conf",
                                        &message),
                        ==, -EINVAL);
        g_assert_cmpstr(message, ==,
                        "a.conf:5: [Daemon] MaxJobs= is in line 2 already; remove one of the two.");
        g_assert_cmpuint(config.max_jobs, ==, 0);
        g_assert_cmpint(parse(&config, "[User 7]\nMaxJobsPerUser=1\nMaxJobsPerUser=1\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[User 7]\nMaxJobsPerUser=1\n[User 8]\nMaxJobsPerUser=1\n"), ==, 0);
}

/* A price sheet may not repeat a key, either, except in a job's copy, which an earlier actord may have
 * accepted. */
static void test_sheet_repeated(void) {
        static const char text[] = "[Sheet]\nName=a\nDate=2024-01-31\nSource=b\nCurrency=USD\n"
                                   "Description=c\nCurrency=EUR\n[Execution]\nGBSecond=1\n";
        PriceSheet *sheet = NULL;
        g_autofree char *message = NULL;

        g_assert_cmpint(price_sheet_parse(text, "s.sheet", &sheet, &message), ==, -EINVAL);
        g_assert_cmpstr(message, ==,
                        "s.sheet:7: [Sheet] Currency= is in line 5 already; remove one of the two.");
        g_assert_cmpint(price_sheet_parse_stored(text, "s.sheet", &sheet, &message), ==, 0);
        g_assert_cmpstr(price_sheet_currency(sheet), ==, "EUR");
        (void) price_sheet_free(sheet);
}

/* The section of a user overrides the sections of the user's groups, wherever it stands in the file. Users
 * and groups have names of this host, or numbers. */
static void test_config_of_users(void) {
        const gid_t groups[] = { 7, 9 };
        g_autofree char *message = NULL;
        Config config, own;

        config_init(&config);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxJobsPerUser=50\nMaxMemoryPerUser=2G\n[User root]\n"
                                       "MaxJobsPerUser=5\n"
                                       "[Group 9]\nMaxJobsPerUser=6\nMaxActorsPerUser=4\n[Group 8]\n"
                                       "MaxActorsPerUser=3\n"),
                        ==, 0);
        config_for_user(&config, 0, groups, 2, &own);
        g_assert_cmpuint(own.max_jobs_user, ==, 5);
        g_assert_cmpuint(own.max_actors_user, ==, 4);
        g_assert_cmpuint(own.max_memory_user, ==, 2ull << 30);
        config_for_user(&config, 1000, groups, 1, &own);
        g_assert_cmpuint(own.max_jobs_user, ==, 50);
        g_assert_cmpuint(own.max_actors_user, ==, 0);
        g_assert_cmpuint(config.max_jobs_user, ==, 50);

        g_assert_cmpint(config_parse(&config, "[Daemon]\n\n[User root]\n MaxJobs = 3\n", "a.conf", &message),
                        ==, -EINVAL);
        g_assert_true(g_str_has_prefix(message, "a.conf:4: [User root] has no key MaxJobs="));
        g_assert_cmpint(parse(&config, "[User root]\nMaxJobsPerUser=0\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[User no-such-user]\nMaxJobsPerUser=3\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Group no-such-group]\n"), ==, -EINVAL);
        g_assert_cmpint(parse(&config, "[Users root]\n"), ==, -EINVAL);
}

static void test_config_of_money(void) {
        static const char *const wrong[] = { "5", "0USD", "0.0USD", "-1USD", "USD", "5 dollars and 2 cents",
                "5US", "5USD EUR", "5,50USD", "", "5%", "99999999999USD", "5abcdefghijklmnopqrstuvwxyz" };
        Config config, own;

        config_init(&config);
        g_assert_cmpuint(config.max_money_user.nano, ==, 0);
        g_assert_cmpint(parse(&config, "[Daemon]\nMaxMoneyPerDayPerUser=5USD\n[User 7]\n"
                                       "MaxMoneyPerDayPerUser=0\n"
                                       "[User 8]\nMaxMoneyPerDayPerUser=0.25 billing-min\n"),
                        ==, 0);
        g_assert_cmpuint(config.max_money_user.nano, ==, 5000000000);
        g_assert_cmpstr(config.max_money_user.currency, ==, "USD");
        config_for_user(&config, 7, NULL, 0, &own);
        g_assert_cmpuint(own.max_money_user.nano, ==, 0);
        config_for_user(&config, 8, NULL, 0, &own);
        g_assert_cmpuint(own.max_money_user.nano, ==, 250000000);
        g_assert_cmpstr(own.max_money_user.currency, ==, "billing-min");
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree char *text = g_strdup_printf("[Daemon]\nMaxMoneyPerDayPerUser=%s\n", wrong[i]);

                if (parse(&config, text) != -EINVAL)
                        g_error("%s was taken for money", wrong[i]);
        }
        g_assert_cmpuint(config.max_money_user.nano, ==, 5000000000);
}

static void test_drop_ins(Fixture *f, const void *userdata) {
        g_autofree char *main_path = g_build_filename(f->path, "actord.conf", NULL),
                        *drop_ins = g_build_filename(f->path, "actord.conf.d", NULL),
                        *a = g_build_filename(drop_ins, "10-a.conf", NULL),
                        *b = g_build_filename(drop_ins, "20-b.conf", NULL),
                        *backup = g_build_filename(drop_ins, "30-c.conf~", NULL), *message = NULL;
        Config config;

        config_init(&config);
        g_assert_cmpint(config_read(&config, f->path, &message), ==, 0); /* nothing is there */
        g_assert_cmpint(g_mkdir(drop_ins, 0700), ==, 0);
        g_assert_true(g_file_set_contents(main_path, "[Daemon]\nMaxJobs=1\nIdleExitSec=7\n", -1, NULL));
        g_assert_true(g_file_set_contents(b, "[Daemon]\nMaxJobs=3\n", -1, NULL));
        g_assert_true(g_file_set_contents(a, "[Daemon]\nMaxJobs=2\n", -1, NULL));
        g_assert_true(g_file_set_contents(backup, "[Daemon]\nMaxJobs=4\n", -1, NULL));
        g_assert_cmpint(config_read(&config, f->path, &message), ==, 0);
        g_assert_cmpuint(config.max_jobs, ==, 3);
        g_assert_cmpuint(config.idle_exit_sec, ==, 7);
}

static void test_sheet_names(void) {
        g_autofree char *text = NULL;

        g_assert_cmpint(sheets_read("", &text), ==, -ENOENT);
        g_assert_cmpint(sheets_read("../../../etc/passwd", &text), ==, -ENOENT);
        g_assert_cmpint(sheets_read("a/b", &text), ==, -ENOENT);
        g_assert_cmpint(sheets_read(".hidden", &text), ==, -ENOENT);
        g_assert_cmpint(sheets_read("no-such-sheet", &text), ==, -ENOENT);
}

int main(int argc, char **argv) {
        (void) umask(0077);
        g_test_init(&argc, &argv, NULL);
        g_test_add("/files/directory", Fixture, NULL, set_up, test_directory, tear_down);
        g_test_add("/files/sweep", Fixture, NULL, set_up, test_sweep, tear_down);
        g_test_add("/files/strange", Fixture, NULL, set_up, test_strange_files, tear_down);
        g_test_add("/files/number-again", Fixture, NULL, set_up, test_number_again, tear_down);
        g_test_add("/files/bytes", Fixture, NULL, set_up, test_bytes, tear_down);
        g_test_add("/files/bytes-reserved", Fixture, NULL, set_up, test_bytes_reserved, tear_down);
        g_test_add_func("/files/room", test_room);
        g_test_add("/files/prune", Fixture, NULL, set_up, test_prune, tear_down);
        g_test_add("/files/checkpoint", Fixture, NULL, set_up, test_checkpoint, tear_down);
        g_test_add("/files/retire", Fixture, NULL, set_up, test_retire, tear_down);
        g_test_add("/files/tree-strange", Fixture, NULL, set_up, test_tree_strange, tear_down);
        g_test_add_func("/files/over", test_over);
        g_test_add_func("/files/config", test_config);
        g_test_add_func("/files/config-repeated", test_config_repeated);
        g_test_add_func("/files/sheet-repeated", test_sheet_repeated);
        g_test_add_func("/files/config-of-users", test_config_of_users);
        g_test_add_func("/files/config-of-money", test_config_of_money);
        g_test_add("/files/drop-ins", Fixture, NULL, set_up, test_drop_ins, tear_down);
        g_test_add_func("/files/sheet-names", test_sheet_names);
        return g_test_run();
}
