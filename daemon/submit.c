/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks a submission, copies its files and writes it down. Two kinds of the message's descriptors are not
 * copied but kept: the directories of Python= or of a model, which may be too large to copy, and in run mode
 * the caller's stderr. */
#include "daemon/submit.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/copies.h"
#include "daemon/descriptors.h"
#include "daemon/disk.h"
#include "daemon/files.h"
#include "daemon/quota.h"
#include "daemon/reply.h"
#include "daemon/submission.h"
#include "daemon/trade-policy.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/limits.h"
#include "lib/settings/cpus.h"
#include "lib/settings/print.h"
#include "lib/settings/settings.h"
#include "lib/sheets.h"
#include "lib/width.h"

static bool is_overridden(const Submission *s, const char *key) {
        for (guint i = 0; i < s->overrides->len; i++)
                if (g_str_equal(g_array_index(s->overrides, SettingOverride, i).key, key))
                        return true;
        return false;
}

static bool names_sheet(const Submission *s) {
        return is_overridden(s, "Billing.PriceSheet") ||
               settings_locate(s->text, "Billing", "PriceSheet") > 0;
}

static int check_settings(Manager *manager, Submission *s, sd_bus_error *error) {
        g_auto(GStrv) sheets = NULL;
        g_autofree char *message = NULL;
        int r;

        r = sheets_list(&sheets);
        if (r < 0)
                return reply_no_sheets(error, r);
        /* Stores the administrator's default sheet with the job, so that later changes of the default do not
         * change the job's bill. */
        if (*manager->context.config.default_price_sheet && !names_sheet(s))
                g_array_append_val(s->overrides,
                                ((SettingOverride){ "Billing.PriceSheet",
                                                manager->context.config.default_price_sheet }));

        r = settings_parse(s->text, s->file_name, (const SettingOverride *) (void *) s->overrides->data,
                        s->overrides->len, (const char *const *) sheets, &s->settings, &message);
        if (r >= 0 && environment_is_job(s->settings.environment)) {
                g_autofree JobSettings *inner = g_new0(JobSettings, 1);

                r = settings_parse_inner(s->text, s->file_name, &s->settings, inner, &message);
        }
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(BadJobFile), message);
        return 0;
}

static int check_scheduler(Submission *s, sd_bus_error *error) {
        g_autofree char *message = NULL;
        bool overridden = is_overridden(s, "Scaling.Policy");

        if (s->purpose == LAUNCH_EVALUATE && s->n_scheduler_data > 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "An evaluation has no scheduler, so it takes no scheduler's data.");
        if (s->purpose == LAUNCH_EVALUATE ||
                        scheduler_check(&s->settings, s->scheduler_data, s->n_scheduler_data, &message) >= 0)
                return 0;
        if (overridden)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "--set: [Scaling] %s", message);
        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s:%u: [Scaling] %s", s->file_name,
                        settings_locate(s->text, "Scaling", "Policy"), message);
}

/* Takes a price sheet of the user's own. The system's daemon refuses it, since the administrator sets the
 * prices there. */
static int take_own_sheet(const Manager *manager, Submission *s, sd_bus_error *error) {
        const char *reason = NULL;

        if (manager->context.mode == DAEMON_SYSTEM)
                reason = "on the system's actord the administrator sets the prices: name a sheet of "
                         "`actorctl price list`, or ask for yours to be put into /etc/actord/price";
        else if (!s->sheet_text)
                reason = "this file was not sent along with the job";
        else if (strlen(s->sheet_text) > SHEET_BYTES_MAX)
                reason = "a price sheet has at most 64 KiB";
        if (reason)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s:%u: [Billing] PriceSheet=%s: %s.",
                                s->file_name, settings_locate(s->text, "Billing", "PriceSheet"),
                                s->settings.price_sheet, reason);
        s->sheet = g_strdup(s->sheet_text);
        return 0;
}

static int take_sheet(const Manager *manager, Submission *s, sd_bus_error *error) {
        int r;

        if (strchr(s->settings.price_sheet, '/'))
                return take_own_sheet(manager, s, error);
        if (s->sheet_text)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The call sends a price sheet, but PriceSheet= names a sheet of this host.");
        r = sheets_read(s->settings.price_sheet, &s->sheet);
        return r < 0 ? reply_no_sheet(error, s->settings.price_sheet, r) : 0;
}

static int check_sheet(const Manager *manager, Submission *s, sd_bus_error *error) {
        g_autofree char *message = NULL;
        PriceSheet *sheet = NULL;
        int r;

        r = take_sheet(manager, s, error);
        if (r < 0)
                return r;
        r = price_sheet_parse(s->sheet, s->settings.price_sheet, &sheet, &message);
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message);
        s->currency = g_strdup(price_sheet_currency(sheet));
        r = price_sheet_check(sheet, &s->settings, &message);
        (void) price_sheet_free(sheet);
        return r < 0 ? sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s: %s", s->file_name, message) : 0;
}

static int complain_of_directory(
                const Submission *s, DirectoryKind kind, const char *what, sd_bus_error *error) {
        const DirectoryRow *row = directory_row(kind);

        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s:%u: [%s] %s=%s: %s", s->file_name,
                        settings_locate(s->text, row->section, row->key), row->section, row->key,
                        environment_directory(&s->settings, kind), what);
}

/* Checks that exactly the directories that the job names were sent. */
static int check_directories(const Submission *s, sd_bus_error *error) {
        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX; kind++) {
                bool wanted = environment_directory(&s->settings, kind);

                if (!wanted && s->directories.fds[kind] >= 0)
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "The call sends a directory as `%s`, but the job has no %s= that "
                                        "needs one.",
                                        directory_row(kind)->file, directory_row(kind)->key);
                if (wanted && s->directories.fds[kind] < 0)
                        return complain_of_directory(
                                        s, kind, "this directory was not sent along with the job.", error);
        }
        return 0;
}

/* Checks that the file of Dataset= was sent if, and only if, the job reads it. An evaluation reads none. */
static int check_dataset(const Submission *s, sd_bus_error *error) {
        bool wanted = s->settings.dataset[0] && s->purpose != LAUNCH_EVALUATE;

        if (!wanted && s->dataset_fd >= 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The call sends a file as `dataset`, but the job reads none.");
        if (wanted && s->dataset_fd < 0)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Learner] Dataset=%s: this file was not sent along with the job.",
                                s->file_name, settings_locate(s->text, "Learner", "Dataset"),
                                s->settings.dataset);
        return 0;
}

static int check_files(Manager *manager, const Submission *s, uint32_t uid, sd_bus_error *error) {
        bool plugin = environment_is_file(s->settings.environment);
        int r;

        if (plugin && s->environment_fd < 0)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Job] Environment=%s: this file was not sent along with the job.",
                                s->file_name, settings_locate(s->text, "Job", "Environment"),
                                s->settings.environment);
        if (!plugin && s->environment_fd >= 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "A built-in environment takes no file, but one was sent.");
        if (plugin && strlen(strrchr(s->settings.environment, '/') + 1) > 100)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Job] Environment=%s: the file's name is longer than 100 bytes.",
                                s->file_name, settings_locate(s->text, "Job", "Environment"),
                                s->settings.environment);

        r = check_directories(s, error);
        if (r < 0)
                return r;
        r = check_dataset(s, error);
        if (r < 0)
                return r;

        if (s->purpose == LAUNCH_EVALUATE && s->checkpoint_fd < 0)
                return sd_bus_error_set(error, BUS_ERROR(NoCheckpoint), "An evaluation needs a checkpoint.");
        if (s->purpose == LAUNCH_VERIFY && s->checkpoint_fd >= 0)
                return sd_bus_error_set(
                                error, SD_BUS_ERROR_INVALID_ARGS, "A verification takes no checkpoint.");

        if (settings_has_nodes(&s->settings) && manager->context.mode == DAEMON_SYSTEM)
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                                "%s:%u: [Distribution] Cluster=%s: a job on a cluster runs as its user, "
                                "which the system's service cannot do: use `actorctl run`, or your own "
                                "daemon with `actorctl --user submit`.",
                                s->file_name, settings_locate(s->text, "Distribution", "Cluster"),
                                choice_cluster_to_string(s->settings.cluster));
        if (s->settings.sandbox == SANDBOX_CHOICE_NONE && manager->context.mode == DAEMON_SYSTEM && uid != 0)
                return sd_bus_error_setf(error, BUS_ERROR(SandboxRefused),
                                "%s: [Actor] Sandbox=none is for root only: your actors would run with "
                                "this service's rights.",
                                s->file_name);
        return 0;
}

/* Refuses OnEnd= in the system's daemon, which cannot reach a user's manager, and must not start the
 * system's units for a user. */
static int check_on_end(const Manager *manager, const Submission *s, sd_bus_error *error) {
        if (!s->settings.on_end[0] || manager->context.mode != DAEMON_SYSTEM || s->purpose != LAUNCH_TRAIN)
                return 0;
        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                        "%s:%u: [Job] OnEnd=%s: the system's actord starts no units. Submit the job to "
                        "your own (`actorctl --user submit`), or let a unit of yours wait for it, with "
                        "ExecStart=actorctl submit FILE --wait and OnSuccess=%s.",
                        s->file_name, settings_locate(s->text, "Job", "OnEnd"), s->settings.on_end,
                        s->settings.on_end);
}

static int check_width(const Submission *s, sd_bus_error *error) {
        uint32_t class = s->settings.kernel_class;

        if (width_present(width_of_class(class)))
                return 0;
        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile),
                        "%s:%u: [Learner] KernelClass=%s: this host's CPU lacks it, and has %s; auto takes "
                        "the widest, with the same result.",
                        s->file_name, settings_locate(s->text, "Learner", "KernelClass"),
                        choice_kernel_class_to_string(class), width_words_present());
}

/* Checks AllowedCPUs=. actorctl makes this check, too, and can name the line of an experiment, but other
 * clients may not have made it. */
static int check_cpus(const Submission *s, sd_bus_error *error) {
        g_autofree char *reason = cpus_reason(&s->settings);
        char value[SETTING_TEXT_MAX];

        if (!reason)
                return 0;
        setting_print(&s->settings, SETTING_Actor_AllowedCPUs, value);
        if (is_overridden(s, "Actor.AllowedCPUs"))
                return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "--set Actor.AllowedCPUs=%s: %s",
                                value, reason);
        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s:%u: [Actor] AllowedCPUs=%s: %s",
                        s->file_name, settings_locate(s->text, "Actor", "AllowedCPUs"), value, reason);
}

/* Checks the policy of Shares=simppo:NAME. An evaluation does not trade, so it is not checked. A
 * verification does not trade either, but its verdict must also hold for the job itself. */
static int check_shares(const Manager *manager, const Submission *s, sd_bus_error *error) {
        g_auto(GStrv) directories = trade_directories(manager->context.mode == DAEMON_SYSTEM);
        g_autofree char *reason = NULL;
        char value[SETTING_TEXT_MAX];
        TradePolicy *policy;

        if (s->settings.shares.kind == SHARES_KIND_EQUAL || s->purpose == LAUNCH_EVALUATE)
                return 0;
        if (trade_policy_find(directories, s->settings.shares.name, &policy, &reason) >= 0) {
                (void) trade_policy_free(policy);
                return 0;
        }
        setting_print(&s->settings, SETTING_Scaling_Shares, value);
        if (is_overridden(s, "Scaling.Shares"))
                return sd_bus_error_setf(
                                error, BUS_ERROR(BadJobFile), "--set Scaling.Shares=%s: %s", value, reason);
        return sd_bus_error_setf(error, BUS_ERROR(BadJobFile), "%s:%u: [Scaling] Shares=%s: %s",
                        s->file_name, settings_locate(s->text, "Scaling", "Shares"), value, reason);
}

static int check_limits(Manager *manager, uint32_t uid, const Submission *s, sd_bus_error *error) {
        int r;

        r = quota_check(manager, uid, &s->settings, s->purpose == LAUNCH_TRAIN, s->currency, error);
        if (r < 0)
                return r;
        if (manager->context.jobs.n_queued >= JOBS_QUEUED_MAX)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "%u jobs are queued, which is the limit: submit the job again when one "
                                "of them has started.",
                                manager->context.jobs.n_queued);
        return 0;
}

static void fill_row(const Submission *s, uint32_t uid, LedgerJob *ret) {
        *ret = (LedgerJob){
                .uid = uid,
                .purpose = s->purpose,
                .n_episodes = s->purpose == LAUNCH_EVALUATE ? s->n_episodes : 0,
                .scheduler_data = s->n_scheduler_data > 0 ? g_memdup2(s->scheduler_data, s->n_scheduler_data)
                                                          : NULL,
                .n_scheduler_data = s->n_scheduler_data,
                .submitted_usec = (uint64_t) g_get_real_time(),
                .state = strdup("queued"),
                .result = strdup("running"),
                .text = strdup(s->text),
                .file_name = strdup(s->file_name),
                .overrides = overrides_print(s->overrides),
                .sheet = strdup(s->sheet),
                .environment = strdup(s->settings.environment),
                .description = strdup(s->settings.description),
                .currency = strdup(s->currency),
                .tag = strdup(s->settings.tag),
                .files = g_strconcat(s->environment_fd >= 0 ? BUS_FILE_ENVIRONMENT "=" BUS_FILE_ENVIRONMENT
                                                                                   "\n"
                                                            : "",
                                s->dataset_fd >= 0 ? BUS_FILE_DATASET "=" BUS_FILE_DATASET "\n" : "",
                                s->checkpoint_fd >= 0 ? BUS_FILE_CHECKPOINT "=" BUS_FILE_CHECKPOINT "\n"
                                                      : "",
                                NULL),
        };
}

static int make_directory(Manager *manager, char **ret_name, sd_bus_error *error) {
        int fd = job_directory_new(
                        manager->context.jobs_fd, context_reserves_ids(&manager->context), ret_name);

        if (fd < 0)
                return sd_bus_error_set_errnof(error, fd, "No directory could be made in %s: %s%s.",
                                manager->context.state_directory, g_strerror(-fd), limit_advice(fd));
        (void) close_fd(fd);
        return 1;
}

/* Copies the files that came with the job. 1: all are in the job's directory, whose temporary name is
 * *ret_name; 0: they are still being copied, and the handler will be called again. */
static int fetch(Manager *manager, sd_bus_message *message, const Submission *s, uint32_t uid,
                sd_bus_message_handler_t handler, char **ret_name, Directories *ret_directories,
                sd_bus_error *error) {
        CopyRequest request = {
                .tokens = {
                        [COPY_ENVIRONMENT] = s->environment_fd,
                        [COPY_CHECKPOINT] = s->checkpoint_fd,
                        [COPY_DATASET] = s->dataset_fd,
                },
        };
        DirectoryKind hidden;
        bool has_files = false;
        int r;

        memcpy(request.tokens + COPY_DIRECTORY, s->directories.fds, sizeof(s->directories.fds));
        for (size_t i = 0; i < ELEMENTSOF(request.tokens); i++)
                has_files = has_files || request.tokens[i] >= 0;
        if (!has_files)
                return make_directory(manager, ret_name, error);
        r = copies_fetch(
                        manager, message, handler, uid, &request, ret_name, ret_directories, &hidden, error);
        if (r == -EXDEV)
                return complain_of_directory(s, hidden,
                                "the system's daemon sees no home directories and no /tmp: move it (to "
                                "/opt, for example), or submit the job to your own daemon (--user).",
                                error);
        return r;
}

static int check_room(Manager *manager, uint32_t uid, const char *name, sd_bus_error *error) {
        int r;

        r = quota_check_disk(manager, uid, job_files_bytes(manager->context.jobs_fd, name), error);
        if (r < 0)
                job_directory_discard(manager->context.jobs_fd, name);
        return r;
}

/* On success the job owns the row's strings, and `row` is empty. */
static int add_row(Manager *manager, const char *directory, LedgerJob *row, Job **ret) {
        int r;

        r = ledger_job_add(manager->context.ledger, row);
        if (r < 0)
                return r;
        r = job_directory_commit(manager->context.jobs_fd, directory, row->id);
        if (r >= 0)
                r = job_new(&manager->context, row, ret);
        /* The submitter gets an error, so the job must not start after the next restart. */
        if (r < 0)
                (void) job_row_end(&manager->context, row);
        return r;
}

/* Makes the job's directory first, under a temporary name and with its files. Then the ledger gives the job
 * its number, and the directory is renamed to this number. 1: everything is written; 0: the files are still
 * being copied. */
static int write_down(Manager *manager, sd_bus_message *message, Submission *s, uint32_t uid,
                sd_bus_message_handler_t handler, Job **ret, sd_bus_error *error) {
        _cleanup_(directories_drop) Directories directories = DIRECTORIES_NONE;
        g_autofree char *name = NULL;
        LedgerJob row;
        int r;

        r = fetch(manager, message, s, uid, handler, &name, &directories, error);
        if (r <= 0)
                return r;

        r = check_room(manager, uid, name, error);
        if (r < 0)
                return r;

        fill_row(s, uid, &row);
        r = add_row(manager, name, &row, ret);
        if (r < 0) {
                job_directory_discard(manager->context.jobs_fd, name);
                ledger_job_done(&row);
                return sd_bus_error_set_errnof(error, r, "The job could not be written into %s: %s%s.",
                                manager->context.state_directory, g_strerror(-r), limit_advice(r));
        }
        disk_count(&manager->context, (*ret)->row.id);
        (*ret)->directories = directories;
        directories = DIRECTORIES_NONE;
        return 1;
}

static void say_queued(const Job *job) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_QUEUED);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " (%s) of user %u is queued.", job->row.id,
                        job->settings.environment, job->row.uid);
}

/* All checks that come before the job's files are copied. */
static int check(Manager *manager, Submission *s, uint32_t uid, sd_bus_error *error) {
        int r;

        r = check_settings(manager, s, error);
        if (r < 0)
                return r;
        r = check_scheduler(s, error);
        if (r < 0)
                return r;
        r = check_sheet(manager, s, error);
        if (r < 0)
                return r;
        r = check_files(manager, s, uid, error);
        if (r < 0)
                return r;
        r = check_on_end(manager, s, error);
        if (r < 0)
                return r;
        r = check_width(s, error);
        if (r < 0)
                return r;
        r = check_cpus(s, error);
        if (r < 0)
                return r;
        r = check_limits(manager, uid, s, error);
        /* This check comes last, since it reads a file. */
        return r < 0 ? r : check_shares(manager, s, error);
}

int submit_job(Manager *manager, sd_bus_message *message, uint32_t uid, bool from_fd,
                sd_bus_message_handler_t handler, Job **ret, sd_bus_error *error) {
        _cleanup_(submission_done) Submission s = {};
        int r;

        assert(manager);
        assert(message);
        assert(ret);

        r = submission_read(message, from_fd, manager->context.mode == DAEMON_RUN, &s, error);
        if (r < 0)
                return r;
        r = check(manager, &s, uid, error);
        if (r < 0)
                return r;
        r = write_down(manager, message, &s, uid, handler, ret, error);
        if (r <= 0)
                return r;

        if (s.stderr_fd >= 0)
                (*ret)->stderr_fd = fcntl(s.stderr_fd, F_DUPFD_CLOEXEC, 3);
        directories_keep(*ret);
        jobs_add(&manager->context.jobs, *ret);
        say_queued(*ret);
        return 1;
}
