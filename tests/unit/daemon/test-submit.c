/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls to the real daemon in run mode over a socket pair, above all with descriptors: which it takes and
 * which it refuses. */
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "daemon/ledger/ledger.h"
#include "include/bus.h"
#include "lib/environments.h"
#include "lib/fd.h"

extern char **environ;

#define TEXT "[Job]\nEnvironment=CartPole-v1\n"

typedef struct Fixture {
        char *state;
        pid_t pid;
        sd_bus *bus;
} Fixture;

static char *daemon_program(void) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *tests = g_path_get_dirname(self),
                        *build = g_path_get_dirname(tests);

        return g_build_filename(build, "actord", NULL);
}

/* A daemon that only shows records needs a ledger to show. */
static void make_ledger(const char *state) {
        g_autofree char *path = g_build_filename(state, "ledger.sqlite", NULL);
        Ledger *ledger = NULL;

        g_assert_cmpint(ledger_open(path, &ledger), ==, 0);
        (void) ledger_close(ledger);
}

static void set_up(Fixture *f, const void *userdata) {
        g_autofree char *program = daemon_program(), *state = NULL;
        posix_spawn_file_actions_t actions;
        int pair[2];

        if (!g_file_test(program, G_FILE_TEST_IS_EXECUTABLE))
                return;
        f->state = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        state = g_strconcat("--state=", f->state, NULL);
        make_ledger(f->state);
        char *argv[] = { (char *) "actord", (char *) "--run-fd=3", state, (char *) userdata, NULL };

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
        /* Jobs that are accepted cannot start here. The daemon's messages about that are dropped. */
        (void) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        g_assert_cmpint(posix_spawn(&f->pid, program, &actions, NULL, argv, environ), ==, 0);
        (void) posix_spawn_file_actions_destroy(&actions);
        (void) close(pair[1]);

        g_assert_cmpint(sd_bus_new(&f->bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(f->bus, pair[0], pair[0]), >=, 0);
        g_assert_cmpint(sd_bus_set_anonymous(f->bus, true), >=, 0);
        g_assert_cmpint(sd_bus_negotiate_fds(f->bus, true), >=, 0);
        g_assert_cmpint(sd_bus_start(f->bus), >=, 0);
}

static void tear_down(Fixture *f, const void *userdata) {
        g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->state);
        int status;

        if (!f->bus)
                return;
        /* The daemon ends when its one caller is gone. */
        (void) sd_bus_close_unref(f->bus);
        g_assert_cmpint(waitpid(f->pid, &status, 0), ==, f->pid);
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        g_assert_cmpint(system(command), ==, 0);
        g_free(f->state);
}

static bool ready(const Fixture *f) {
        if (!f->bus)
                g_test_skip("actord has not been built");
        return f->bus;
}

static sd_bus_message *call_of(Fixture *f, const char *method) {
        sd_bus_message *m = NULL;

        g_assert_cmpint(sd_bus_message_new_method_call(
                                        f->bus, &m, NULL, BUS_PATH, BUS_INTERFACE_MANAGER, method),
                        >=, 0);
        return m;
}

/* Sends the message and returns the error's name; NULL: it was accepted. */
static char *send_off(Fixture *f, sd_bus_message *m, char **ret_message) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        char *name = NULL;

        if (sd_bus_call(f->bus, m, 0, &error, &reply) < 0) {
                name = g_strdup(error.name);
                if (ret_message)
                        *ret_message = g_strdup(error.message);
                g_assert_true(g_utf8_strlen(error.message, -1) > 10); /* a sentence, not a number */
        }
        sd_bus_error_free(&error);
        (void) sd_bus_message_unref(reply);
        (void) sd_bus_message_unref(m);
        return name;
}

static char *submit_text(Fixture *f, const char *text) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", text, "a.conf", 0, 0, 0), >=, 0);
        return send_off(f, m, NULL);
}

/* A daemon with --inspect only shows a ledger. It refuses each method that changes something, whether or not
 * the job exists. */
static void test_inspecting(Fixture *f, const void *userdata) {
        static const char *const of_jobs[] = { "StopJob", "RemoveJobFiles" };
        g_autofree char *submitted = NULL, *kept = NULL;

        if (!ready(f))
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(of_jobs); i++) {
                sd_bus_message *m = call_of(f, of_jobs[i]);
                g_autofree char *name = NULL;

                g_assert_cmpint(sd_bus_message_append(m, "t", (uint64_t) 1), >=, 0);
                name = send_off(f, m, NULL);
                g_assert_cmpstr(name, ==, SD_BUS_ERROR_NOT_SUPPORTED);
        }
        submitted = submit_text(f, TEXT);
        g_assert_cmpstr(submitted, ==, SD_BUS_ERROR_NOT_SUPPORTED);
        kept = send_off(f, call_of(f, "KeepRest"), NULL);
        g_assert_cmpstr(kept, ==, SD_BUS_ERROR_NOT_SUPPORTED);
}

static char *submit_fd(Fixture *f, int fd) {
        sd_bus_message *m = call_of(f, "SubmitJobFile");

        g_assert_cmpint(sd_bus_message_append(m, "hsa(ss)a{sh}a{sv}", fd, "a.conf", 0, 0, 0), >=, 0);
        (void) close(fd);
        return send_off(f, m, NULL);
}

static char *submit_override(Fixture *f, const char *key, const char *value, unsigned n) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ss", TEXT, "a.conf"), >=, 0);
        g_assert_cmpint(sd_bus_message_open_container(m, 'a', "(ss)"), >=, 0);
        for (unsigned i = 0; i < n; i++)
                g_assert_cmpint(sd_bus_message_append(m, "(ss)", key, value), >=, 0);
        g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
        g_assert_cmpint(sd_bus_message_append(m, "a{sh}a{sv}", 0, 0), >=, 0);
        return send_off(f, m, NULL);
}

static char *submit_file(Fixture *f, const char *environment, const char *key, int fd) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", TEXT, "a.conf", 1, "Job.Environment",
                                        environment, 1, key, fd, 0),
                        >=, 0);
        (void) close(fd);
        return send_off(f, m, NULL);
}

static char *verify_checkpoint(Fixture *f, int fd) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", TEXT, "a.conf", 0, 1,
                                        BUS_FILE_CHECKPOINT, fd, 1, BUS_OPTION_PURPOSE, "s", "verify"),
                        >=, 0);
        (void) close(fd);
        return send_off(f, m, NULL);
}

static char *submit_option(
                Fixture *f, const char *key, const char *type, const char *word, uint64_t number) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}", TEXT, "a.conf", 0, 0), >=, 0);
        if (*type == 's')
                g_assert_cmpint(sd_bus_message_append(m, "a{sv}", 1, key, "s", word), >=, 0);
        else
                g_assert_cmpint(sd_bus_message_append(m, "a{sv}", 1, key, "t", number), >=, 0);
        return send_off(f, m, NULL);
}

static void expect(char *name, const char *expected) {
        g_assert_cmpstr(name, ==, expected);
        g_free(name);
}

static void test_texts(Fixture *f, const void *userdata) {
        g_autofree char *longer = g_strnfill(300 * 1024, '#');

        if (!ready(f))
                return;
        expect(submit_text(f, TEXT), NULL);
        expect(submit_text(f, ""), BUS_ERROR(BadJobFile));
        expect(submit_text(f, longer), BUS_ERROR(BadJobFile));
        expect(submit_text(f, "[Job]\nEnvironment=CartPole-v1\nSeed=-1\n"), BUS_ERROR(BadJobFile));
}

static void test_memfds(Fixture *f, const void *userdata) {
        g_autofree char *longer = g_strnfill(300 * 1024, '#');
        int pair[2];

        if (!ready(f))
                return;
        expect(submit_fd(f, memfd_make_sealed("text", TEXT, strlen(TEXT))), NULL);
        expect(submit_fd(f, memfd_make_sealed("text", longer, strlen(longer))), BUS_ERROR(BadJobFile));
        expect(submit_fd(f, memfd_make_sealed("text", TEXT "\0Seed=2\n", strlen(TEXT) + 8)),
                        BUS_ERROR(BadJobFile));
        expect(submit_fd(f, memfd_make_sealed("text", "\xff\xfe", 2)), BUS_ERROR(BadJobFile));

        /* A file that could change while it is read is not read. */
        expect(submit_fd(f, memfd_make("text", 4096)), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_fd(f, open("/dev/zero", O_RDONLY)), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_fd(f, open("/etc/passwd", O_RDONLY)), SD_BUS_ERROR_INVALID_ARGS);
        g_assert_cmpint(pipe(pair), ==, 0);
        expect(submit_fd(f, pair[0]), SD_BUS_ERROR_INVALID_ARGS);
        (void) close(pair[1]);
}

static void test_overrides(Fixture *f, const void *userdata) {
        g_autofree char *longer = g_strnfill(5000, '1');

        if (!ready(f))
                return;
        expect(submit_override(f, "Job.Seed", "7", 1), NULL);
        expect(submit_override(f, "Job.Seed", "7", 256), NULL);
        expect(submit_override(f, "Job.Seed", "7", 257), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_override(f, "Job.Seed", longer, 1), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_override(f, "Job.Sed", "7", 1), BUS_ERROR(BadJobFile));
        /* An override is one line in the ledger, and must not become two lines. */
        expect(submit_override(f, "Job.Description", "a\nJob.Budget=1", 1), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_override(f, "Job.Seed=1\nX", "7", 1), SD_BUS_ERROR_INVALID_ARGS);
}

static void test_files(Fixture *f, const void *userdata) {
        int pair[2];

        if (!ready(f))
                return;
        expect(submit_file(f, "./mine.so", BUS_FILE_ENVIRONMENT, open("/proc/self/exe", O_RDONLY)), NULL);
        expect(submit_file(f, "./mine.so", "sauce", open("/proc/self/exe", O_RDONLY)),
                        SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_file(f, "./mine.so", BUS_FILE_STDERR, open("/dev/null", O_WRONLY)),
                        BUS_ERROR(BadJobFile));
        expect(submit_file(f, "CartPole-v1", BUS_FILE_ENVIRONMENT, open("/proc/self/exe", O_RDONLY)),
                        SD_BUS_ERROR_INVALID_ARGS);
        /* Any file is accepted as the checkpoint with which a training begins: the learner checks its
         * content. */
        expect(submit_file(f, "CartPole-v1", BUS_FILE_CHECKPOINT, open("/proc/self/exe", O_RDONLY)), NULL);
        expect(verify_checkpoint(f, open("/proc/self/exe", O_RDONLY)), SD_BUS_ERROR_INVALID_ARGS);
        g_assert_cmpint(pipe(pair), ==, 0);
        expect(submit_file(f, "./mine.so", BUS_FILE_ENVIRONMENT, pair[0]), SD_BUS_ERROR_INVALID_ARGS);
        (void) close(pair[1]);
        expect(submit_file(f, "./mine.so", BUS_FILE_ENVIRONMENT, open("/tmp", O_RDONLY)),
                        SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_file(f, "./mine.so", BUS_FILE_ENVIRONMENT, open("/etc/passwd", O_PATH)),
                        SD_BUS_ERROR_INVALID_ARGS);
}

/* The directory of a virtual environment or of a model. Only jobs with Python= or with a user's model accept
 * one, and they demand it. It is not copied: the job uses the caller's own directory. */
static void test_directories(Fixture *f, const void *userdata) {
        static const struct {
                const char *environment, *python, *path, *error;
                int flags;
        } cases[] = {
                { "gym:X-v0", "/venv", "venv", NULL, O_RDONLY },
                { "gym:X-v0", "/venv", "venv", NULL, O_PATH },
                { "gym:X-v0", "/venv", NULL, BUS_ERROR(BadJobFile), 0 },
                { "gym:X-v0", "/venv", "/etc/passwd", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "gym:X-v0", "/venv", "model", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "gym:X-v0", "/venv", "/", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "gym:X-v0", "/venv", "/", SD_BUS_ERROR_INVALID_ARGS, O_PATH },
                { "gym:X-v0", "/venv", "/proc", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "gym:X-v0", "/venv", "/etc", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "gym:X-v0", "", "venv", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "CartPole-v1", "/venv", "venv", BUS_ERROR(BadJobFile), O_RDONLY },
                { "gym:", "/venv", "venv", BUS_ERROR(BadJobFile), O_RDONLY },
                { "gym::X", "/venv", "venv", BUS_ERROR(BadJobFile), O_RDONLY },
                { "mujoco:m.xml", "", "model", NULL, O_RDONLY },
                { "mujoco:m.xml", "", NULL, BUS_ERROR(BadJobFile), 0 },
                { "mujoco:m.xml", "", "/etc/passwd", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "mujoco:m.xml", "", "/etc", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "mujoco:m.xml", "", "/", SD_BUS_ERROR_INVALID_ARGS, O_PATH },
                { "mujoco:m.xml", "", "/sys", SD_BUS_ERROR_INVALID_ARGS, O_RDONLY },
                { "mujoco:m.xml", "/venv", "model", BUS_ERROR(BadJobFile), O_RDONLY },
        };

        g_autofree char *place = g_dir_make_tmp("submit-XXXXXX", NULL);
        g_autofree char *make = g_strdup_printf(
                        "cd '%s' && mkdir -p model venv/bin venv/lib/python3.11/site-packages && touch "
                        "venv/pyvenv.cfg venv/bin/python",
                        place);
        g_autofree char *remove = g_strdup_printf("rm -r '%s'", place);

        if (!ready(f))
                return;
        g_assert_cmpint(system(make), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                sd_bus_message *m = call_of(f, "SubmitJob");
                g_autofree char *path = cases[i].path ? g_canonicalize_filename(cases[i].path, place) : NULL;
                int fd = path ? open(path, cases[i].flags | O_CLOEXEC) : -1;
                bool model = environment_is_mjcf(cases[i].environment);
                const char *key = model ? BUS_FILE_MODEL : BUS_FILE_PYTHON;

                g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)", TEXT, "a.conf", 3, "Job.Environment",
                                                cases[i].environment, "Actor.Python", cases[i].python,
                                                model ? "Environment.Reward" : "Job.Description", "alive 1"),
                                >=, 0);
                g_assert_cmpint(fd >= 0 ? sd_bus_message_append(m, "a{sh}a{sv}", 1, key, fd, 0)
                                        : sd_bus_message_append(m, "a{sh}a{sv}", 0, 0),
                                >=, 0);
                (void) close(fd);
                expect(send_off(f, m, NULL), cases[i].error);
        }
        g_assert_cmpint(system(remove), ==, 0);
}

static char *submit_named(Fixture *f, const char *file_name) {
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", TEXT, file_name, 0, 0, 0), >=, 0);
        return send_off(f, m, NULL);
}

static void test_names(Fixture *f, const void *userdata) {
        g_autofree char *longer = g_strnfill(5000, 'a');

        if (!ready(f))
                return;
        expect(submit_named(f, "jäb.conf"), NULL);
        expect(submit_named(f, longer), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_named(f, "a.conf\nb"), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_named(f, "\033[2Ja.conf"), SD_BUS_ERROR_INVALID_ARGS);
}

/* Jobs are accepted even after the ledger was moved away. Then job numbers begin again at 1, although
 * directories with these numbers exist. */
static void test_numbers_again(Fixture *f, const void *userdata) {
        if (!ready(f))
                return;
        for (unsigned i = 1; i <= 2; i++) {
                g_autofree char *name = g_strdup_printf("%u", i),
                                *path = g_build_filename(f->state, "jobs", name, "state", NULL);

                g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
        }
        expect(submit_text(f, TEXT), NULL);
        expect(submit_text(f, TEXT), NULL);
}

typedef struct Race {
        const char *first;
        unsigned n;
} Race;

static int on_submitted(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Race *race = userdata;

        g_assert_false(sd_bus_message_is_method_error(m, NULL));
        if (race->n++ == 0)
                race->first = "submit";
        return 0;
}

static int on_version(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Race *race = userdata;

        g_assert_false(sd_bus_message_is_method_error(m, NULL));
        if (race->n++ == 0)
                race->first = "version";
        return 0;
}

/* A caller whose file is large or slow to read delays only itself. */
static void test_others_do_not_wait(Fixture *f, const void *userdata) {
        int fd = memfd_make("large", 512ull << 20);
        sd_bus_message *submit, *get = NULL;
        Race race = {};

        if (!ready(f))
                return;
        submit = call_of(f, "SubmitJob");
        g_assert_cmpint(sd_bus_message_append(submit, "ssa(ss)a{sh}a{sv}", TEXT, "a.conf", 1,
                                        "Job.Environment", "./large.so", 1, BUS_FILE_ENVIRONMENT, fd, 0),
                        >=, 0);
        (void) close(fd);
        g_assert_cmpint(sd_bus_message_new_method_call(f->bus, &get, NULL, BUS_PATH,
                                        "org.freedesktop.DBus.Properties", "Get"),
                        >=, 0);
        g_assert_cmpint(sd_bus_message_append(get, "ss", BUS_INTERFACE_MANAGER, "Version"), >=, 0);

        g_assert_cmpint(sd_bus_call_async(f->bus, NULL, submit, on_submitted, &race, 0), >=, 0);
        g_assert_cmpint(sd_bus_call_async(f->bus, NULL, get, on_version, &race, 0), >=, 0);
        (void) sd_bus_message_unref(submit);
        (void) sd_bus_message_unref(get);
        while (race.n < 2) {
                int r = sd_bus_process(f->bus, NULL);

                g_assert_cmpint(r, >=, 0);
                if (r == 0)
                        (void) sd_bus_wait(f->bus, UINT64_MAX);
        }
        g_assert_cmpstr(race.first, ==, "version");
}

static sd_bus_message *submission_of_a_gibibyte(Fixture *f) {
        int environment = memfd_make("large", 512ull << 20), checkpoint = memfd_make("large", 512ull << 20);
        sd_bus_message *m = call_of(f, "SubmitJob");

        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", TEXT, "a.conf", 1, "Job.Environment",
                                        "./large.so", 2, BUS_FILE_ENVIRONMENT, environment,
                                        BUS_FILE_CHECKPOINT, checkpoint, 1, BUS_OPTION_PURPOSE, "s",
                                        "evaluate"),
                        >=, 0);
        (void) close(environment);
        (void) close(checkpoint);
        return m;
}

static int on_first_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(m);
        Race *race = userdata;

        if (race->n++ == 0)
                race->first = g_strdup_printf("%s: %s", e ? e->name : "", e ? e->message : "");
        return 0;
}

/* Three submissions whose files and whose number are within the limits, but whose bytes together are not.
 * The one whose size is known last is refused, before any file is copied. */
static void test_bytes_of_a_user(Fixture *f, const void *userdata) {
        Race race = {};

        if (!ready(f))
                return;
        for (unsigned i = 0; i < 3; i++) {
                sd_bus_message *m = submission_of_a_gibibyte(f);

                g_assert_cmpint(sd_bus_call_async(f->bus, NULL, m, on_first_answer, &race, 0), >=, 0);
                (void) sd_bus_message_unref(m);
        }
        while (race.n == 0) {
                int r = sd_bus_process(f->bus, NULL);

                g_assert_cmpint(r, >=, 0);
                if (r == 0)
                        (void) sd_bus_wait(f->bus, UINT64_MAX);
        }
        g_assert_true(g_str_has_prefix(race.first, SD_BUS_ERROR_LIMITS_EXCEEDED));
        g_assert_nonnull(strstr(race.first, "more than 2 GiB"));
        g_free((char *) race.first);
}

/* A job that only evaluates does not check its scheduler's data, so it must not come with such data. */
static void test_evaluation_with_data(Fixture *f, const void *userdata) {
        sd_bus_message *m;

        if (!ready(f))
                return;
        m = call_of(f, "SubmitJob");
        g_assert_cmpint(sd_bus_message_append(m, "ssa(ss)a{sh}a{sv}", TEXT, "a.conf", 2, "Scaling.MaxActors",
                                        "4", "Scaling.Policy", "minions:x", 0, 2, BUS_OPTION_PURPOSE, "s",
                                        "evaluate", BUS_OPTION_SCHEDULER_DATA, "ay", 3, 255, 255, 255),
                        >=, 0);
        expect(send_off(f, m, NULL), SD_BUS_ERROR_INVALID_ARGS);
}

static void test_options(Fixture *f, const void *userdata) {
        if (!ready(f))
                return;
        expect(submit_option(f, BUS_OPTION_PURPOSE, "s", "verify", 0), NULL);
        expect(submit_option(f, BUS_OPTION_PURPOSE, "s", "evaluate", 0), BUS_ERROR(NoCheckpoint));
        expect(submit_option(f, BUS_OPTION_PURPOSE, "s", "", 0), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_option(f, BUS_OPTION_EPISODES, "t", NULL, 5), NULL);
        expect(submit_option(f, BUS_OPTION_EPISODES, "t", NULL, 0), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_option(f, "colour", "s", "red", 0), SD_BUS_ERROR_INVALID_ARGS);
        /* A value of the wrong type is the caller's mistake, too. */
        expect(submit_option(f, BUS_OPTION_PURPOSE, "t", NULL, 1), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_option(f, BUS_OPTION_EPISODES, "s", "5", 0), SD_BUS_ERROR_INVALID_ARGS);
        expect(submit_text(f, TEXT), NULL); /* and the daemon still listens */
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/submit/inspecting", Fixture, "--inspect", set_up, test_inspecting, tear_down);
        g_test_add("/submit/texts", Fixture, NULL, set_up, test_texts, tear_down);
        g_test_add("/submit/memfds", Fixture, NULL, set_up, test_memfds, tear_down);
        g_test_add("/submit/overrides", Fixture, NULL, set_up, test_overrides, tear_down);
        g_test_add("/submit/files", Fixture, NULL, set_up, test_files, tear_down);
        g_test_add("/submit/directories", Fixture, NULL, set_up, test_directories, tear_down);
        g_test_add("/submit/names", Fixture, NULL, set_up, test_names, tear_down);
        g_test_add("/submit/numbers-again", Fixture, NULL, set_up, test_numbers_again, tear_down);
        g_test_add("/submit/others-do-not-wait", Fixture, NULL, set_up, test_others_do_not_wait, tear_down);
        g_test_add("/submit/bytes-of-a-user", Fixture, NULL, set_up, test_bytes_of_a_user, tear_down);
        g_test_add("/submit/evaluation-with-data", Fixture, NULL, set_up, test_evaluation_with_data,
                        tear_down);
        g_test_add("/submit/options", Fixture, NULL, set_up, test_options, tear_down);
        return g_test_run();
}
