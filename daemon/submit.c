/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read, check, copy, write down. The message's descriptors are borrowed from it; the only one that is kept is the caller's stderr in run mode. */
#include "daemon/submit.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "daemon/files.h"
#include "daemon/sheets.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/settings.h"

#define EPISODES_DEFAULT 20u
#define EPISODES_MAX     1000000u

typedef struct Submission {
        char *text, *file_name;
        GArray *overrides; /* SettingOverride: strings of the message and of the daemon's settings */
        int environment_fd, checkpoint_fd, stderr_fd; /* borrowed */
        uint32_t purpose;
        uint64_t n_episodes;

        JobSettings settings;
        char *sheet;
} Submission;

static void submission_done(Submission *s) {
        g_free(s->text);
        g_free(s->file_name);
        g_free(s->sheet);
        g_array_unref(s->overrides);
}

static int invalid(sd_bus_error *error, const char *sentence) {
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, sentence);
}

/* A sealed memfd: what is checked now is what is parsed now. */
static int read_text_fd(int fd, char **ret, sd_bus_error *error) {
        g_autofree char *text = NULL;
        uint64_t bytes;
        int r;

        r = memfd_check_sealed(fd);
        if (r >= 0)
                r = fd_size(fd, &bytes);
        if (r < 0)
                return invalid(error,
                                "The job's text must be in a memfd that is sealed against writing, growing and shrinking.");
        if (bytes > JOB_TEXT_MAX)
                return sd_bus_error_set(error, BUS_ERROR(BadJobFile), "A job file has at most 256 KiB.");

        text = g_malloc0(bytes + 1);
        r = pread_full(fd, text, bytes, 0);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "The job's text could not be read.");
        if (strlen(text) != bytes || !g_utf8_validate(text, (gssize) bytes, NULL))
                return sd_bus_error_set(error, BUS_ERROR(BadJobFile), "The job file is not UTF-8 text.");
        *ret = g_steal_pointer(&text);
        return 0;
}

static int read_text(sd_bus_message *m, bool from_fd, Submission *s, sd_bus_error *error) {
        const char *text, *file_name;
        int r, fd;

        if (from_fd) {
                r = sd_bus_message_read(m, "hs", &fd, &file_name);
                if (r >= 0)
                        r = read_text_fd(fd, &s->text, error);
        } else {
                r = sd_bus_message_read(m, "ss", &text, &file_name);
                if (r >= 0 && strlen(text) > JOB_TEXT_MAX)
                        return sd_bus_error_set(
                                        error, BUS_ERROR(BadJobFile), "A job file has at most 256 KiB.");
                if (r >= 0)
                        s->text = g_strdup(text);
        }
        if (r < 0)
                return r;

        if (strlen(file_name) > OVERRIDE_BYTES_MAX)
                return invalid(error, "The job file's name is too long.");
        s->file_name = g_strdup(*file_name ? file_name : "job.conf");
        return 0;
}

static int read_overrides(sd_bus_message *m, Submission *s, sd_bus_error *error) {
        const char *key, *value;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(ss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(ss)", &key, &value)) > 0) {
                if (s->overrides->len >= OVERRIDES_MAX || strlen(key) + strlen(value) > OVERRIDE_BYTES_MAX)
                        return invalid(error,
                                        "At most 256 settings of 4096 bytes can be given beside the job file.");
                if (strchr(key, '=') || strpbrk(key, "\r\n") || strpbrk(value, "\r\n"))
                        return invalid(error, "A setting given beside the job file has one line.");
                g_array_append_val(s->overrides, ((SettingOverride){ key, value }));
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_files(Manager *manager, sd_bus_message *m, Submission *s, sd_bus_error *error) {
        const char *key;
        int r, fd;

        r = sd_bus_message_enter_container(m, 'a', "{sh}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "{sh}", &key, &fd)) > 0)
                if (g_str_equal(key, BUS_FILE_ENVIRONMENT))
                        s->environment_fd = fd;
                else if (g_str_equal(key, BUS_FILE_CHECKPOINT))
                        s->checkpoint_fd = fd;
                else if (g_str_equal(key, BUS_FILE_STDERR) && manager->mode == DAEMON_RUN)
                        s->stderr_fd = fd;
                else
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "A job has no use for a file `%s` here.", key);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_purpose(const char *word, Submission *s, sd_bus_error *error) {
        static const char *const words[] = { "train", "verify", "evaluate" }; /* in LaunchPurpose's order */

        for (uint32_t i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_str_equal(word, words[i])) {
                        s->purpose = i;
                        return 0;
                }
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                        "There is no purpose `%s`; there are train, verify and evaluate.", word);
}

static int read_options(sd_bus_message *m, Submission *s, sd_bus_error *error) {
        const char *key, *word;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                if (g_str_equal(key, BUS_OPTION_PURPOSE)) {
                        r = sd_bus_message_read(m, "v", "s", &word);
                        if (r >= 0)
                                r = read_purpose(word, s, error);
                } else if (g_str_equal(key, BUS_OPTION_EPISODES))
                        r = sd_bus_message_read(m, "v", "t", &s->n_episodes);
                else
                        r = sd_bus_error_setf(
                                        error, SD_BUS_ERROR_INVALID_ARGS, "There is no option `%s`.", key);
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        if (s->n_episodes == 0 || s->n_episodes > EPISODES_MAX)
                return invalid(error, "The number of episodes is between 1 and 1000000.");
        return sd_bus_message_exit_container(m);
}

static bool names_sheet(const Submission *s) {
        for (guint i = 0; i < s->overrides->len; i++)
                if (g_str_equal(g_array_index(s->overrides, SettingOverride, i).key, "Billing.PriceSheet"))
                        return true;
        return settings_locate(s->text, "Billing", "PriceSheet") > 0;
}

static int check_settings(Manager *manager, Submission *s, sd_bus_error *error) {
        g_auto(GStrv) sheets = sheets_list();
        g_autofree char *message = NULL;
        int r;

        /* The administrator's default is written down with the job: a later change of it changes no bill. */
        if (*manager->config.default_price_sheet && !names_sheet(s))
                g_array_append_val(s->overrides, ((SettingOverride){ "Billing.PriceSheet",
                                                                 manager->config.default_price_sheet }));

        r = settings_parse(s->text, s->file_name, (const SettingOverride *) (void *) s->overrides->data,
                        s->overrides->len, (const char *const *) sheets, &s->settings, &message);
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(BadJobFile), message);
        return 0;
}

static int check_sheet(Submission *s, sd_bus_error *error) {
        g_autofree char *message = NULL;
        PriceSheet *sheet = NULL;
        int r;

        r = sheets_read(s->settings.price_sheet, &s->sheet);
        if (r == -ENOENT)
                return sd_bus_error_setf(error, BUS_ERROR(NoSuchPriceSheet),
                                "There is no price sheet `%s`; `actorctl price list` shows those there are.",
                                s->settings.price_sheet);
        if (r < 0)
                return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "Price sheet `%s` cannot be read.",
                                s->settings.price_sheet);
        r = price_sheet_parse(s->sheet, s->settings.price_sheet, &sheet, &message);
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message);
        r = price_sheet_check(sheet, &s->settings, &message);
        (void) price_sheet_free(sheet);
        return r < 0 ? sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s: %s", s->file_name, message) : 0;
}

static int check_files(Manager *manager, const Submission *s, uint32_t uid, sd_bus_error *error) {
        bool plugin = strchr(s->settings.environment, '/');

        if (plugin && s->environment_fd < 0)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Job] Environment=%s: this file was not sent along with the job.",
                                s->file_name, settings_locate(s->text, "Job", "Environment"),
                                s->settings.environment);
        if (!plugin && s->environment_fd >= 0)
                return invalid(error, "An environment with a name brings no file.");
        if (plugin && strlen(strrchr(s->settings.environment, '/') + 1) > 100)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Job] Environment=%s: the file's name is longer than 100 bytes.",
                                s->file_name, settings_locate(s->text, "Job", "Environment"),
                                s->settings.environment);

        if (s->purpose == LAUNCH_EVALUATE && s->checkpoint_fd < 0)
                return sd_bus_error_set(error, BUS_ERROR(NoCheckpoint), "To evaluate takes a checkpoint.");
        if (s->purpose != LAUNCH_EVALUATE && s->checkpoint_fd >= 0)
                return invalid(error, "Only an evaluation brings a checkpoint.");

        if (s->settings.sandbox == SANDBOX_CHOICE_NONE && manager->mode == DAEMON_SYSTEM && uid != 0)
                return sd_bus_error_setf(error, BUS_ERROR(SandboxRefused),
                                "%s: [Actor] Sandbox=none is for root alone: your actors would run with this service's rights.",
                                s->file_name);
        return 0;
}

static int check_limits(Manager *manager, uint32_t uid, sd_bus_error *error) {
        unsigned n = 0;

        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];

                n += job->row.uid == uid && job->state != JOB_ENDED;
        }
        if (n >= manager->config.max_jobs_user)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "You have %u jobs that have not ended, which is the limit (MaxJobsPerUser=).",
                                n);
        if (manager->n_queued >= JOBS_QUEUED_MAX)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "%u jobs are queued, which is the limit.", manager->n_queued);
        return 0;
}

static char *print_overrides(const Submission *s) {
        GString *lines = g_string_new(NULL);

        for (guint i = 0; i < s->overrides->len; i++) {
                const SettingOverride *o = &g_array_index(s->overrides, SettingOverride, i);

                g_string_append_printf(lines, "%s=%s\n", o->key, o->value);
        }
        return g_string_free(lines, FALSE);
}

static int copy_file(int directory_fd, const char *key, int fd, sd_bus_error *error) {
        int r;

        if (fd < 0)
                return 0;
        r = job_file_add(directory_fd, key, fd);
        if (r == -EMEDIUMTYPE)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The %s must be a regular file, open for reading, on a file system that no user serves.",
                                key);
        if (r == -EFBIG)
                return sd_bus_error_setf(
                                error, SD_BUS_ERROR_INVALID_ARGS, "The %s is larger than 512 MiB.", key);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "The %s could not be copied into the state directory: %s.", key,
                                g_strerror(-r));
        return 0;
}

static void fill_row(const Submission *s, uint32_t uid, LedgerJob *ret) {
        struct timespec now;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        *ret = (LedgerJob){
                .uid = uid,
                .purpose = s->purpose,
                .n_episodes = s->purpose == LAUNCH_EVALUATE ? s->n_episodes : 0,
                .submitted_usec = (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u,
                .state = strdup("queued"),
                .result = strdup("running"),
                .text = strdup(s->text),
                .file_name = strdup(s->file_name),
                .overrides = print_overrides(s),
                .sheet = strdup(s->sheet),
                .files = g_strconcat(s->environment_fd >= 0 ? BUS_FILE_ENVIRONMENT "=" BUS_FILE_ENVIRONMENT
                                                                                   "\n"
                                                            : "",
                                s->checkpoint_fd >= 0 ? BUS_FILE_CHECKPOINT "=" BUS_FILE_CHECKPOINT "\n"
                                                      : "",
                                NULL),
        };
}

/* Its directory first, under a name of its own; then the ledger, which gives it a number; then the directory gets that name. */
static int write_down(Manager *manager, Submission *s, uint32_t uid, Job **ret, sd_bus_error *error) {
        bool shared = manager_reserves_ids(manager);
        _cleanup_close_ int directory_fd = -EBADF;
        g_autofree char *name = NULL;
        LedgerJob row;
        int r;

        directory_fd = job_directory_new(manager->jobs_fd, shared, &name);
        if (directory_fd < 0)
                return sd_bus_error_set_errnof(error, directory_fd, "No directory could be made in %s: %s.",
                                manager->state_directory, g_strerror(-directory_fd));
        r = copy_file(directory_fd, BUS_FILE_ENVIRONMENT, s->environment_fd, error);
        if (r >= 0)
                r = copy_file(directory_fd, BUS_FILE_CHECKPOINT, s->checkpoint_fd, error);
        if (r < 0) {
                job_directory_discard(manager->jobs_fd, name);
                return r;
        }

        fill_row(s, uid, &row);
        r = ledger_job_add(manager->ledger, &row);
        if (r >= 0) {
                r = job_directory_commit(manager->jobs_fd, name, row.id);
                if (r >= 0)
                        r = job_new(manager, &row, ret);
        }
        if (r < 0) {
                job_directory_discard(manager->jobs_fd, name);
                ledger_job_done(&row);
                return sd_bus_error_set_errnof(error, r, "The job could not be written into %s: %s.",
                                manager->state_directory, g_strerror(-r));
        }
        return 0;
}

int submit_job(Manager *manager, sd_bus_message *message, uint32_t uid, bool from_fd, Job **ret,
                sd_bus_error *error) {
        _cleanup_(submission_done) Submission s = {
                .environment_fd = -EBADF,
                .checkpoint_fd = -EBADF,
                .stderr_fd = -EBADF,
                .purpose = LAUNCH_TRAIN,
                .n_episodes = EPISODES_DEFAULT,
        };
        int r;

        assert(manager);
        assert(message);
        assert(ret);

        s.overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride));
        r = read_text(message, from_fd, &s, error);
        if (r >= 0)
                r = read_overrides(message, &s, error);
        if (r >= 0)
                r = read_files(manager, message, &s, error);
        if (r >= 0)
                r = read_options(message, &s, error);
        if (r >= 0)
                r = check_settings(manager, &s, error);
        if (r >= 0)
                r = check_sheet(&s, error);
        if (r >= 0)
                r = check_files(manager, &s, uid, error);
        if (r >= 0)
                r = check_limits(manager, uid, error);
        if (r >= 0)
                r = write_down(manager, &s, uid, ret, error);
        if (r < 0)
                return r;

        if (s.stderr_fd >= 0)
                (*ret)->stderr_fd = fcntl(s.stderr_fd, F_DUPFD_CLOEXEC, 3);
        r = manager_add(manager, *ret);
        assert(r >= 0);
        return 0;
}
