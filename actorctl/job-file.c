/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does the work that needs the user's rights: reads the job file, opens the paths in it, and reports
 * mistakes with their lines. The daemon gets text and descriptors, and opens no path of a user. */
#include "actorctl/job-file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actorctl/decisions.h"
#include "actorctl/file.h"
#include "actorctl/scheduler/trained.h"
#include "actorctl/start.h"
#include "include/bus.h"
#include "include/cluster.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/settings/cpus.h"
#include "lib/settings/print.h"
#include "lib/sheets.h"

static ExitStatus read_text(const char *file, char **ret) {
        g_autofree char *text = NULL, *sentence = NULL;
        size_t n;
        int r;

        r = file_read(file, JOB_TEXT_MAX, &text, &n);
        if (r == -EFBIG)
                sentence = g_strdup_printf("%s: longer than %u KiB, the limit for a job file", file,
                                JOB_TEXT_MAX / 1024);
        else if (r < 0)
                sentence = g_strdup_printf("%s: the job file cannot be read: %s", file, file_reason(r));
        else if (text && strlen(text) < n) {
                unsigned line = 1;

                for (const char *p = text; *p; p++)
                        line += *p == '\n';
                sentence = g_strdup_printf("%s:%u: the text holds a zero byte", file, line);
        }
        if (sentence) {
                complain_bare(sentence);
                return STATUS_USAGE;
        }
        *ret = g_steal_pointer(&text);
        return STATUS_OK;
}

static void add_overrides(JobFile *job_file, const GPtrArray *sets) {
        for (guint i = 0; sets && i < sets->len; i++) {
                char *key = g_strdup(sets->pdata[i]), *equals = strchr(key, '=');
                SettingOverride override = { key, equals + 1 };

                *equals = '\0';
                g_ptr_array_add(job_file->override_texts, key);
                g_array_append_val(job_file->overrides, override);
        }
}

/* A message, with the full path that was tried unless the path comes from the command line: a relative path
 * may fail because the job file was moved, or comes from a checkpoint. */
static char *missing(const JobFile *job_file, const char *what, const char *path, const char *key,
                const char *example) {
        const char *reason = g_strerror(errno);

        /* A shell reads a ~ as the home directory only at the beginning of a word, and not after Python=. */
        if (path[0] == '~' || strstr(path, "/~/"))
                return g_strdup_printf("%s: %s: ~ does not stand for a home directory here: write the "
                                       "whole path",
                                what, path);
        if (job_file_override(job_file, key) && job_file->source)
                return g_strdup_printf("%s: %s: %s", what, path, reason);
        if (job_file->no_file || job_file_override(job_file, key))
                return g_strdup_printf("%s: %s", what, reason);
        return g_strdup_printf(
                        "%s: %s: %s; if it is elsewhere, use --set %s=%s", what, path, reason, key, example);
}

static bool is_elf(int fd) {
        char magic[SELFMAG];

        return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static ExitStatus open_environment(JobFile *job_file) {
        g_autofree char *path = NULL, *reason = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!environment_is_file(job_file->settings.environment))
                return STATUS_OK;
        path = job_file_path(job_file, "Job.Environment", job_file->settings.environment);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 && g_str_has_prefix(job_file->settings.environment, "ALE/"))
                reason = g_strdup_printf("an Atari game of Gymnasium's is gym:ale_py:%s",
                                job_file->settings.environment);
        else if (fd < 0)
                reason = missing(job_file, "the plugin cannot be opened", path, "Job.Environment",
                                "./FILE.so");
        else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                reason = g_strdup("the plugin is not a regular file");
        else if (!is_elf(fd))
                reason = g_strdup("the plugin is not a shared library: examples/env-template/Makefile "
                                  "compiles one");
        else if (settings_has_nodes(&job_file->settings) && st.st_size > CLUSTER_PLUGIN_MAX)
                reason = g_strdup_printf("the plugin is %" PRIu64 " MiB, and at most %u MiB can be sent "
                                         "to the nodes of a cluster: strip it, or use Cluster=none",
                                (uint64_t) st.st_size >> 20, CLUSTER_PLUGIN_MAX >> 20);
        if (reason) {
                job_file_complain_environment(job_file, reason);
                return STATUS_USAGE;
        }
        job_file->environment_fd = TAKE_FD(fd);
        return STATUS_OK;
}

/* Why this directory must not be mounted into actors; NULL: it may. The rule for home directories needs to
 * know the caller's home, which may be anywhere. */
static const char *directory_reason(int fd, DirectoryKind kind) {
        const char *reason = NULL;
        struct stat st, home;

        if (directory_check(fd, kind, &reason) < 0)
                return reason ?: "this directory cannot be read";
        if (fstat(fd, &st) >= 0 && stat(g_get_home_dir(), &home) >= 0 && st.st_dev == home.st_dev &&
                        st.st_ino == home.st_ino)
                return "this directory is a home directory, and actors could read everything in it: use a "
                       "directory of its own";
        return NULL;
}

/* Opens a directory that a key of [Actor] names, since the daemon opens no path of a user. what, example:
 * for the message if the directory cannot be opened. */
static ExitStatus open_directory(
                JobFile *job_file, DirectoryKind kind, const char *what, const char *example) {
        const char *name = environment_directory(&job_file->settings, kind), *key = directory_row(kind)->key;
        g_autofree char *whole_key = g_strconcat("Actor.", key, NULL), *path = NULL, *reason = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (!name)
                return STATUS_OK;
        path = job_file_path(job_file, whole_key, name);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                reason = missing(job_file, what, path, whole_key, example);
        else
                reason = g_strdup(directory_reason(fd, kind));
        if (reason) {
                job_file_complain(job_file, "Actor", key, name, reason);
                return STATUS_USAGE;
        }
        job_file->directories.fds[kind] = TAKE_FD(fd);
        return STATUS_OK;
}

static ExitStatus open_python(JobFile *job_file) {
        ExitStatus status = open_directory(job_file, DIRECTORY_PYTHON,
                        "the virtual environment cannot be opened",
                        "DIRECTORY; `python3 -m venv DIRECTORY` makes one");

        return status == STATUS_OK ? open_directory(job_file, DIRECTORY_PYTHON_PATH,
                                                     "the directory cannot be opened", "DIRECTORY")
                                   : status;
}

/* Opens the directory of a model, since most models have meshes beside them. The model itself is read in a
 * sandbox. */
static ExitStatus open_model(JobFile *job_file) {
        const char *name = job_file->settings.environment + strlen(ENVIRONMENT_MJCF_PREFIX);
        g_autofree char *path = job_file_path(job_file, "Job.Environment", name), *reason = NULL;
        g_autofree char *directory = g_path_get_dirname(path);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (stat(path, &st) < 0 || access(path, R_OK) < 0)
                reason = missing(job_file, "the model cannot be read", path, "Job.Environment",
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
                job_file_complain_environment(job_file, reason);
                return STATUS_USAGE;
        }
        job_file->directories.fds[DIRECTORY_MODEL] = TAKE_FD(fd);
        return STATUS_OK;
}

/* Appends the inner job of Environment=job:FILE to this job's text, since the daemon opens no path of a
 * user. If the text has the inner job already (from `actorctl cat`), no file is needed. */
static ExitStatus include_inner(JobFile *job_file) {
        g_autofree JobSettings *inner = g_new0(JobSettings, 1);
        const char *name = job_file->settings.environment + strlen(ENVIRONMENT_JOB_PREFIX);
        g_autofree char *path = NULL, *text = NULL, *message = NULL, *sections = NULL, *own = NULL;
        int r;

        r = settings_parse_inner(job_file->text, job_file->file_name, &job_file->settings, inner, &message);
        if (r != -ENOENT) {
                if (r < 0)
                        complain_bare(message);
                return r < 0 ? STATUS_USAGE : STATUS_OK;
        }

        path = job_file_path(job_file, "Job.Environment", name);
        if (read_text(path, &text) != STATUS_OK)
                return STATUS_USAGE;
        g_clear_pointer(&message, g_free);
        if (settings_parse(text, path, NULL, 0, NULL, inner, &message) < 0 ||
                        settings_check_inner(&job_file->settings, inner, text, path, &message) < 0) {
                complain_bare(message);
                return STATUS_USAGE;
        }
        sections = settings_print_inner(inner);
        own = job_file->text;
        job_file->text = g_strconcat(own, "\n", sections, NULL);
        return STATUS_OK;
}

/* Reports a missing model before all other mistakes, since most of those are in settings that refer to the
 * model. */
static void complain_missing_model(JobFile *job_file) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autofree char *name = NULL;

        (void) g_key_file_load_from_data(file, job_file->text, (gsize) -1, G_KEY_FILE_NONE, NULL);
        name = job_file_override(job_file, "Job.Environment")
                               ? g_strdup(job_file_override(job_file, "Job.Environment"))
                               : g_key_file_get_value(file, "Job", "Environment", NULL);
        if (!name || !environment_is_mjcf(name))
                return;
        g_strlcpy(job_file->settings.environment, name, sizeof(job_file->settings.environment));
        (void) open_model(job_file);
}

/* The daemon decides which price sheets exist. But a text with other mistakes never reaches the daemon, and
 * the user would not hear of a wrong name of a sheet. So this program looks for the name, too, in its own
 * installation. */
static int parse_settings(JobFile *job_file, char **ret_message) {
        const SettingOverride *overrides = (const SettingOverride *) job_file->overrides->data;
        g_autofree char *message = NULL;
        g_auto(GStrv) sheets = NULL;
        int r;

        r = settings_parse(job_file->text, job_file->file_name, overrides, job_file->overrides->len, NULL,
                        &job_file->settings, &message);
        if (r >= 0)
                return 0;
        if (sheets_list(&sheets) < 0) {
                *ret_message = g_steal_pointer(&message);
                return r;
        }
        return settings_parse(job_file->text, job_file->file_name, overrides, job_file->overrides->len,
                        (const char *const *) sheets, &job_file->settings, ret_message);
}

static ExitStatus parse(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets,
                const OverrideSource *source, char **ret_message) {
        *job_file = (JobFile){
                .file_name = g_strdup(name ? name : "command line"),
                .no_file = !name,
                .text = g_strdup(text),
                .overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride)),
                .override_texts = g_ptr_array_new_with_free_func(g_free),
                .source = source,
                .environment_fd = -EBADF,
                .directories = DIRECTORIES_NONE,
                .checkpoint_fd = -EBADF,
        };
        add_overrides(job_file, sets);
        if (parse_settings(job_file, ret_message) < 0) {
                complain_missing_model(job_file);
                return STATUS_USAGE;
        }
        if (job_file_check_metrics(job_file) != STATUS_OK || job_file_read_sheet(job_file) != STATUS_OK)
                return STATUS_USAGE;
        if (environment_is_job(job_file->settings.environment))
                return include_inner(job_file);
        if (environment_loads_packages(job_file->settings.environment))
                return open_python(job_file);
        if (environment_is_mjcf(job_file->settings.environment))
                return open_model(job_file);
        return open_environment(job_file);
}

ExitStatus job_file_load_from(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets,
                const OverrideSource *source) {
        g_autofree char *message = NULL;
        ExitStatus status;

        status = parse(job_file, name, text, sets, source, &message);
        if (message && source)
                source->complain(source, message);
        else if (message)
                complain_bare(message);
        return status;
}

ExitStatus job_file_load_text(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets) {
        return job_file_load_from(job_file, name, text, sets, NULL);
}

ExitStatus job_file_load(JobFile *job_file, const char *file, const GPtrArray *sets) {
        g_autofree char *text = NULL;
        ExitStatus status;

        *job_file = JOB_FILE_NONE;
        status = read_text(file, &text);
        return status == STATUS_OK ? job_file_load_text(job_file, file, text, sets) : status;
}

void job_file_done(JobFile *job_file) {
        job_file->environment_fd = close_fd(job_file->environment_fd);
        for (size_t i = 0; i < ELEMENTSOF(job_file->directories.fds); i++)
                job_file->directories.fds[i] = close_fd(job_file->directories.fds[i]);
        job_file->checkpoint_fd = close_fd(job_file->checkpoint_fd);
        if (job_file->overrides)
                g_array_unref(job_file->overrides);
        if (job_file->override_texts)
                g_ptr_array_unref(job_file->override_texts);
        if (job_file->scheduler_data)
                g_array_unref(job_file->scheduler_data);
        g_free(job_file->text);
        g_free(job_file->sheet);
        g_free(job_file->file_name);
        *job_file = JOB_FILE_NONE;
}

/* Adds a trained scheduler. The same code checks it here and in the daemon. */
static ExitStatus add_trained(JobFile *job_file) {
        const char *name = job_file->settings.scheduler.argument;
        g_autofree char *path = NULL, *message = NULL;
        g_autoptr(Trained) trained = NULL;

        if (strchr(name, '/'))
                path = job_file_path(job_file, "Scaling.Policy", name);
        trained = trained_open(path ? path : name, &message);
        if (!trained) {
                g_autofree char *value = g_strconcat("minions:", name, NULL);

                job_file_complain(job_file, "Scaling", "Policy", value, message);
                return STATUS_USAGE;
        }
        job_file->scheduler_data = g_array_sized_new(FALSE, FALSE, 1, (guint) trained->n);
        g_array_append_vals(job_file->scheduler_data, trained->data, (guint) trained->n);
        return STATUS_OK;
}

static bool names_job(const JobFile *job_file) {
        const char *job = job_file->settings.scheduler.argument;

        return scheduler_has(job_file->settings.scheduler.kind, TRAIT_TAKES_JOB) &&
               strspn(job, "0123456789") == strlen(job);
}

ExitStatus job_file_add_file(JobFile *job_file) {
        const char *file = job_file->settings.scheduler.argument;
        g_autofree char *path = NULL;

        if (scheduler_has(job_file->settings.scheduler.kind, TRAIT_TAKES_TRAINED))
                return add_trained(job_file);
        if (!scheduler_has(job_file->settings.scheduler.kind, TRAIT_TAKES_JOB) || names_job(job_file))
                return STATUS_OK;
        if (file[0] == '@') {
                char value[SETTING_TEXT_MAX];

                setting_print(&job_file->settings, SETTING_Scaling_Policy, value);
                job_file_complain(job_file, "Scaling", "Policy", value,
                                "@ARM is for experiments' files; here, write a job's number or a file");
                return STATUS_USAGE;
        }
        path = job_file_path(job_file, "Scaling.Policy", file);
        return decisions_of_file(path, &job_file->scheduler_data) < 0 ? STATUS_USAGE : STATUS_OK;
}

static ExitStatus add_scheduler_data(JobFile *job_file, const Options *options) {
        const char *job = job_file->settings.scheduler.argument;
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        int r;

        if (!names_job(job_file))
                return job_file_add_file(job_file);

        if (job_path(job, NULL, &path) < 0)
                return STATUS_USAGE;
        r = connection_open(options, &connection);
        if (r < 0)
                return status_of_error(r);
        r = decisions_of_job(connection, path, &job_file->scheduler_data);
        if (r < 0)
                return status_of_error(r);
        if (job_file->scheduler_data->len == 0) {
                complain("the scheduler of job %s has made no decision yet", job);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

ExitStatus job_file_add_data(JobFile *job_file, const Options *options) {
        ExitStatus status = start_open(options, &job_file->settings, &job_file->checkpoint_fd);

        return status == STATUS_OK ? add_scheduler_data(job_file, options) : status;
}

void job_file_want_pictures(JobFile *job_file) {
        JobSettings *settings = &job_file->settings;
        ActordOption *option;

        if (!environment_is_python(settings->environment) || settings->n_options >= OPTIONS_MAX ||
                        settings_option(settings, "render_mode"))
                return;
        option = &settings->options[settings->n_options++];
        *option = (ActordOption){ .key = "render_mode", .value = "rgb_array" };
}
