/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything about a job file that needs the user: reading it, opening what it names, saying what is wrong with it. */
#include "actorctl/submission.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/checkpoint.h"
#include "actorctl/decisions.h"
#include "actorctl/file.h"
#include "actorctl/trained.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/directory.h"
#include "lib/environments.h"
#include "lib/settings-print.h"

static void say(const char *sentences) {
        (void) fflush(stdout);
        fprintf(stderr, "%s\n", sentences);
}

static ExitStatus read_text(const char *file, char **ret) {
        g_autofree char *text = NULL, *sentence = NULL;
        size_t n;
        int r;

        r = file_read(file, JOB_TEXT_MAX, &text, &n);
        if (r == -EFBIG)
                sentence = g_strdup_printf(
                                "%s: longer than %u KiB, which no job file is", file, JOB_TEXT_MAX / 1024);
        else if (r < 0)
                sentence = g_strdup_printf("%s: the job file cannot be read: %s", file, file_reason(r));
        else if (text && strlen(text) < n) {
                unsigned line = 1;

                for (const char *p = text; *p; p++)
                        line += *p == '\n';
                sentence = g_strdup_printf("%s:%u: the text holds a zero byte", file, line);
        }
        if (sentence) {
                say(sentence);
                return STATUS_USAGE;
        }
        *ret = g_steal_pointer(&text);
        return STATUS_OK;
}

static void add_overrides(Submission *submission, const GPtrArray *sets) {
        for (guint i = 0; sets && i < sets->len; i++) {
                char *key = g_strdup(sets->pdata[i]), *equals = strchr(key, '=');
                SettingOverride override = { key, equals + 1 };

                *equals = '\0';
                g_ptr_array_add(submission->override_texts, key);
                g_array_append_val(submission->overrides, override);
        }
}

static bool is_overridden(const Submission *submission, const char *key) {
        for (guint i = 0; i < submission->overrides->len; i++)
                if (strcmp(g_array_index(submission->overrides, SettingOverride, i).key, key) == 0)
                        return true;
        return false;
}

/* Says a reason at the line of a key, for what is only found when the world is looked at. */
static void submission_complain(const Submission *submission, const char *section, const char *key,
                const char *value, const char *reason) {
        unsigned line = settings_locate(submission->text, section, key);
        g_autofree char *place = NULL, *sentence = NULL, *whole = g_strconcat(section, ".", key, NULL);
        bool overridden = is_overridden(submission, whole);

        if (overridden)
                place = g_strdup_printf("--set %s.", section);
        else
                place = line > 0 ? g_strdup_printf("%s:%u: [%s] ", submission->file_name, line, section)
                                 : g_strdup_printf("%s: [%s] ", submission->file_name, section);
        sentence = g_strdup_printf("%s%s=%s: %s", place, key, value, reason);
        if (overridden && submission->source)
                submission->source->complain(submission->source, sentence);
        else
                say(sentence);
}

void submission_complain_environment(const Submission *submission, const char *reason) {
        const char *environment = submission->settings.environment;

        if (submission->no_file)
                complain("%s: %s", environment, reason);
        else
                submission_complain(submission, "Job", "Environment", environment, reason);
}

/* A path is relative to the file that it stands in, a job's or an experiment's, and to the working directory when
 * it was given by --set. */
static char *path_of(const Submission *submission, const char *key, const char *name) {
        const char *file = submission->file_name;
        g_autofree char *directory = NULL;

        if (is_overridden(submission, key))
                file = submission->source ? submission->source->file_name : NULL;
        if (g_path_is_absolute(name) || !file)
                return g_strdup(name);
        directory = g_path_get_dirname(file);
        return g_build_filename(directory, name, NULL);
}

/* Says where a path of the job file was looked for: it is not there when the file is a checkpoint, or was moved. */
static char *missing(const Submission *submission, const char *what, const char *path, const char *key,
                const char *example) {
        const char *reason = g_strerror(errno);

        if (is_overridden(submission, key) && submission->source)
                return g_strdup_printf("%s: %s: %s", what, path, reason);
        if (submission->no_file || is_overridden(submission, key))
                return g_strdup_printf("%s: %s", what, reason);
        return g_strdup_printf("%s: %s: %s; name it by --set %s=%s", what, path, reason, key, example);
}

static bool is_elf(int fd) {
        char magic[SELFMAG];

        return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static ExitStatus open_environment(Submission *submission) {
        g_autofree char *path = NULL, *reason = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!environment_is_file(submission->settings.environment))
                return STATUS_OK;
        path = path_of(submission, "Job.Environment", submission->settings.environment);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 && g_str_has_prefix(submission->settings.environment, "ALE/"))
                reason = g_strdup_printf("an Atari game of Gymnasium's is gym:ale_py:%s",
                                submission->settings.environment);
        else if (fd < 0)
                reason = missing(submission, "the plugin cannot be opened", path, "Job.Environment",
                                "./FILE.so");
        else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                reason = g_strdup("the plugin is not a regular file");
        else if (!is_elf(fd))
                reason = g_strdup(
                                "the plugin is no shared library: examples/env-template/Makefile compiles one");
        if (reason) {
                submission_complain_environment(submission, reason);
                return STATUS_USAGE;
        }
        submission->environment_fd = TAKE_FD(fd);
        return STATUS_OK;
}

/* Why this directory must not be mounted into actors, or NULL. The caller's home may lie anywhere. */
static const char *directory_reason(int fd, DirectoryKind kind) {
        const char *reason = NULL;
        struct stat st, home;

        if (directory_check(fd, kind, &reason) < 0)
                return reason ?: "this directory cannot be looked into";
        if (fstat(fd, &st) >= 0 && stat(g_get_home_dir(), &home) >= 0 && st.st_dev == home.st_dev &&
                        st.st_ino == home.st_ino)
                return "this directory is a home, and all that lies in it would be there for the actors: use a "
                       "directory of its own";
        return NULL;
}

/* The virtual environment of Python=, as a directory that stays open: the daemon opens no path of a user. */
static ExitStatus open_python(Submission *submission) {
        const char *python = submission->settings.python;
        g_autofree char *path = NULL, *reason = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (python[0] == '\0')
                return STATUS_OK;
        path = path_of(submission, "Actor.Python", python);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                reason = missing(submission, "the virtual environment cannot be opened", path,
                                "Actor.Python", "DIRECTORY; `python3 -m venv DIRECTORY` makes one");
        else
                reason = g_strdup(directory_reason(fd, DIRECTORY_PYTHON));
        if (reason) {
                submission_complain(submission, "Actor", "Python", python, reason);
                return STATUS_USAGE;
        }
        submission->directory_fd = TAKE_FD(fd);
        return STATUS_OK;
}

/* The directory that a model lies in, since most have meshes beside them; the model is read in a sandbox. */
static ExitStatus open_model(Submission *submission) {
        const char *name = submission->settings.environment + strlen(ENVIRONMENT_MJCF_PREFIX);
        g_autofree char *path = path_of(submission, "Job.Environment", name), *reason = NULL;
        g_autofree char *directory = g_path_get_dirname(path);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (stat(path, &st) < 0 || access(path, R_OK) < 0)
                reason = missing(submission, "the model cannot be read", path, "Job.Environment",
                                "mujoco:FILE.xml");
        else if (!S_ISREG(st.st_mode))
                reason = g_strdup("the model is not a regular file");
        else {
                fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        reason = g_strdup_printf("its directory %s cannot be opened: %s", directory,
                                        g_strerror(errno));
                else if (directory_reason(fd, DIRECTORY_MODEL))
                        reason = g_strdup_printf("it lies in %s: %s", directory,
                                        directory_reason(fd, DIRECTORY_MODEL));
        }
        if (reason) {
                submission_complain_environment(submission, reason);
                return STATUS_USAGE;
        }
        submission->directory_fd = TAKE_FD(fd);
        return STATUS_OK;
}

/* The job that Environment=job:FILE names, put into this one's text: the daemon opens no path of a user. A text that has it already
 * (`actorctl cat`) needs no file. */
static ExitStatus include_inner(Submission *submission) {
        g_autofree JobSettings *inner = g_new0(JobSettings, 1);
        const char *name = submission->settings.environment + strlen(ENVIRONMENT_JOB_PREFIX);
        g_autofree char *path = NULL, *text = NULL, *message = NULL, *sections = NULL, *own = NULL;
        int r;

        r = settings_parse_inner(
                        submission->text, submission->file_name, &submission->settings, inner, &message);
        if (r != -ENOENT) {
                if (r < 0)
                        say(message);
                return r < 0 ? STATUS_USAGE : STATUS_OK;
        }

        path = path_of(submission, "Job.Environment", name);
        if (read_text(path, &text) != STATUS_OK)
                return STATUS_USAGE;
        g_clear_pointer(&message, g_free);
        r = settings_parse(text, path, NULL, 0, NULL, inner, &message);
        if (r >= 0)
                r = settings_check_inner(&submission->settings, inner, text, path, &message);
        if (r < 0) {
                say(message);
                return STATUS_USAGE;
        }
        sections = settings_print_inner(inner);
        own = submission->text;
        submission->text = g_strconcat(own, "\n", sections, NULL);
        return STATUS_OK;
}

static ExitStatus parse(Submission *submission, const char *name, const char *text, const GPtrArray *sets,
                const OverrideSource *source, char **ret_message) {
        *submission = (Submission){
                .file_name = g_strdup(name ? name : "command line"),
                .no_file = !name,
                .text = g_strdup(text),
                .overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride)),
                .override_texts = g_ptr_array_new_with_free_func(g_free),
                .source = source,
                .environment_fd = -EBADF,
                .directory_fd = -EBADF,
                .checkpoint_fd = -EBADF,
        };
        add_overrides(submission, sets);
        if (settings_parse(text, submission->file_name, (SettingOverride *) submission->overrides->data,
                            submission->overrides->len, NULL, &submission->settings, ret_message) < 0)
                return STATUS_USAGE;
        if (environment_is_job(submission->settings.environment))
                return include_inner(submission);
        if (environment_loads_packages(submission->settings.environment))
                return open_python(submission);
        if (environment_is_mjcf(submission->settings.environment))
                return open_model(submission);
        return open_environment(submission);
}

ExitStatus submission_load_from(Submission *submission, const char *name, const char *text,
                const GPtrArray *sets, const OverrideSource *source) {
        g_autofree char *message = NULL;
        ExitStatus status;

        status = parse(submission, name, text, sets, source, &message);
        if (message && source)
                source->complain(source, message);
        else if (message)
                say(message);
        return status;
}

ExitStatus submission_load_text(
                Submission *submission, const char *name, const char *text, const GPtrArray *sets) {
        return submission_load_from(submission, name, text, sets, NULL);
}

ExitStatus submission_load(Submission *submission, const char *file, const GPtrArray *sets) {
        g_autofree char *text = NULL;
        ExitStatus status;

        *submission = SUBMISSION_NONE;
        status = read_text(file, &text);
        return status == STATUS_OK ? submission_load_text(submission, file, text, sets) : status;
}

void submission_done(Submission *submission) {
        submission->environment_fd = close_fd(submission->environment_fd);
        submission->directory_fd = close_fd(submission->directory_fd);
        submission->checkpoint_fd = close_fd(submission->checkpoint_fd);
        if (submission->overrides)
                g_array_unref(submission->overrides);
        if (submission->override_texts)
                g_ptr_array_unref(submission->override_texts);
        if (submission->scheduler_data)
                g_array_unref(submission->scheduler_data);
        g_free(submission->text);
        g_free(submission->file_name);
        *submission = SUBMISSION_NONE;
}

/* Checked here and at the daemon's, by the same code. */
static ExitStatus add_trained(Submission *submission) {
        const char *name = submission->settings.scheduler.argument;
        g_autofree char *path = NULL, *message = NULL;
        g_autoptr(Trained) trained = NULL;

        if (strchr(name, '/'))
                path = path_of(submission, "Scaling.Policy", name);
        trained = trained_open(path ? path : name, &message);
        if (!trained) {
                g_autofree char *value = g_strconcat("minions:", name, NULL);

                submission_complain(submission, "Scaling", "Policy", value, message);
                return STATUS_USAGE;
        }
        submission->scheduler_data = g_array_sized_new(FALSE, FALSE, 1, (guint) trained->n);
        g_array_append_vals(submission->scheduler_data, trained->data, (guint) trained->n);
        return STATUS_OK;
}

static bool names_job(const Submission *submission) {
        const char *job = submission->settings.scheduler.argument;

        return scheduler_has(submission->settings.scheduler.kind, TRAIT_TAKES_JOB) &&
               strspn(job, "0123456789") == strlen(job);
}

ExitStatus submission_add_file(Submission *submission) {
        const char *file = submission->settings.scheduler.argument;
        g_autofree char *path = NULL;

        if (scheduler_has(submission->settings.scheduler.kind, TRAIT_TAKES_TRAINED))
                return add_trained(submission);
        if (!scheduler_has(submission->settings.scheduler.kind, TRAIT_TAKES_JOB) || names_job(submission))
                return STATUS_OK;
        if (file[0] == '@') {
                char value[SETTING_TEXT_MAX];

                setting_print(&submission->settings, SETTING_Scaling_Policy, value);
                submission_complain(submission, "Scaling", "Policy", value,
                                "@ARM is an arm of an experiment, and named in the experiment's file alone; here: a job's number, or a file");
                return STATUS_USAGE;
        }
        path = path_of(submission, "Scaling.Policy", file);
        return decisions_of_file(path, &submission->scheduler_data) < 0 ? STATUS_USAGE : STATUS_OK;
}

static ExitStatus add_scheduler_data(Submission *submission, const Options *options) {
        const char *job = submission->settings.scheduler.argument;
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        int r;

        if (!names_job(submission))
                return submission_add_file(submission);

        if (job_path(job, NULL, &path) < 0)
                return STATUS_USAGE;
        r = connection_open(options, &connection);
        if (r >= 0)
                r = decisions_of_job(connection, path, &submission->scheduler_data);
        if (r >= 0 && submission->scheduler_data->len == 0) {
                complain("job %s has decided nothing yet", job);
                return STATUS_USAGE;
        }
        return r < 0 ? status_of_error(r) : STATUS_OK;
}

/* What begins at its own end would end without a round. */
static ExitStatus check_start(const Submission *submission, const NamedCheckpoint *from) {
        g_autofree char *message = NULL;
        uint64_t n_steps;
        const TensorRow row = { "n_env_steps", "I64", 1, { 1 }, &n_steps };

        if (checkpoint_tensor(&from->checkpoint, from->name, &row, &message) < 0) {
                complain("%s", message);
                return STATUS_USAGE;
        }
        if (n_steps < submission->settings.stop_steps)
                return STATUS_OK;
        complain("%s: it has taken %" PRIu64 " steps, and the job ends after %" PRIu64
                 "; go further with --set Job.StopSteps=",
                        from->name, n_steps, submission->settings.stop_steps);
        return STATUS_USAGE;
}

/* The daemon that has it need not be the one that goes on with it. */
static ExitStatus add_start(Submission *submission, const Options *options) {
        NamedCheckpoint from;
        ExitStatus status;

        if (!options->from)
                return STATUS_OK;
        status = named_checkpoint_open(&from, options, options->from);
        if (status == STATUS_OK)
                status = check_start(submission, &from);
        if (status == STATUS_OK)
                submission->checkpoint_fd = TAKE_FD(from.fd);
        named_checkpoint_done(&from);
        return status;
}

ExitStatus submission_add_data(Submission *submission, const Options *options) {
        ExitStatus status = add_start(submission, options);

        return status == STATUS_OK ? add_scheduler_data(submission, options) : status;
}

void submission_want_pictures(Submission *submission) {
        JobSettings *settings = &submission->settings;
        ActordOption *option;

        if (!environment_is_gym(settings->environment) || settings->n_options >= OPTIONS_MAX ||
                        settings_option(settings, "render_mode"))
                return;
        option = &settings->options[settings->n_options++];
        *option = (ActordOption){ .key = "render_mode", .value = "rgb_array" };
}

static int append_overrides(const Submission *submission, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "(ss)");
        for (guint i = 0; r >= 0 && i < submission->overrides->len; i++) {
                const SettingOverride *o = &g_array_index(submission->overrides, SettingOverride, i);

                r = sd_bus_message_append(m, "(ss)", o->key, o->value);
        }
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_file(sd_bus_message *m, const char *key, int fd) {
        return fd < 0 ? 0 : sd_bus_message_append(m, "{sh}", key, fd);
}

static int append_files(const Submission *submission, const Connection *connection, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sh}");
        if (r >= 0)
                r = append_file(m, BUS_FILE_ENVIRONMENT, submission->environment_fd);
        if (r >= 0)
                r = append_file(m,
                                environment_is_mjcf(submission->settings.environment) ? BUS_FILE_MODEL
                                                                                      : BUS_FILE_PYTHON,
                                submission->directory_fd);
        if (r >= 0)
                r = append_file(m, BUS_FILE_CHECKPOINT, submission->checkpoint_fd);
        if (r >= 0 && submission->with_stderr)
                r = append_file(m, BUS_FILE_STDERR, relay_fd(connection->relay));
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_bytes(sd_bus_message *m, const char *key, const void *data, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(m, "s", key);
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(m, 'y', data, n);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_options(const Submission *submission, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r >= 0 && submission->purpose)
                r = sd_bus_message_append(m, "{sv}", BUS_OPTION_PURPOSE, "s", submission->purpose);
        if (r >= 0 && submission->n_episodes > 0)
                r = sd_bus_message_append(m, "{sv}", BUS_OPTION_EPISODES, "t", submission->n_episodes);
        if (r >= 0 && submission->scheduler_data)
                r = append_bytes(m, BUS_OPTION_SCHEDULER_DATA, submission->scheduler_data->data,
                                submission->scheduler_data->len *
                                                g_array_get_element_size(submission->scheduler_data));
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int fill(const Submission *submission, const Connection *connection, sd_bus_message *m) {
        int r;

        r = sd_bus_message_append(m, "ss", submission->text, submission->file_name);
        if (r >= 0)
                r = append_overrides(submission, m);
        if (r >= 0)
                r = append_files(submission, connection, m);
        return r < 0 ? r : append_options(submission, m);
}

ExitStatus submission_send(
                const Submission *submission, Connection *connection, uint64_t *ret_id, char **ret_path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        const char *path;
        int r;

        r = sd_bus_message_new_method_call(connection->bus, &message, connection->destination, BUS_PATH,
                        BUS_INTERFACE_MANAGER, "SubmitJob");
        if (r >= 0)
                r = fill(submission, connection, message);
        if (r < 0) {
                complain("%s cannot be sent to the daemon: %s", submission->file_name, g_strerror(-r));
                return STATUS_FAILED;
        }
        r = connection_send(connection, message, &reply);
        if (r < 0)
                return status_of_error(r);
        r = sd_bus_message_read(reply, "to", ret_id, &path);
        if (r < 0) {
                complain("the daemon's answer to %s cannot be read: %s", submission->file_name,
                                g_strerror(-r));
                return STATUS_FAILED;
        }
        *ret_path = g_strdup(path);
        return STATUS_OK;
}
