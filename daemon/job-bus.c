/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.actord1.Job: its methods, and when changes of its properties are announced. */
#include "daemon/job-bus.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/access.h"
#include "daemon/audience.h"
#include "daemon/commit.h"
#include "daemon/files.h"
#include "daemon/job-properties.h"
#include "daemon/job-turn.h"
#include "daemon/records-call.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/settings/print.h"
#include "lib/statistics.h"
#include "lib/string-tables.h"

#define ROUNDS_MOST           10000u
#define CHANGES_INTERVAL_USEC (100ull * 1000)

static int is_over(const Job *job, sd_bus_error *error) {
        return sd_bus_error_setf(error, BUS_ERROR(NotRunning), "Job %" PRIu64 " %s.", job->row.id,
                        job->state == JOB_ENDED ? "has ended already" : "is ending");
}

int job_stop_for(sd_bus_message *m, Job *job, sd_bus_error *error) {
        int r;

        assert(m);
        assert(job);

        r = job_stop(job, PLAN_END_INTERRUPTED, "a user asked for it");
        if (r == -ESRCH)
                return is_over(job, error);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "Job %" PRIu64 " cannot end now, since its bill needs its records, which "
                                "could not be read: %s. Try again.",
                                job->row.id, ledger_error_words(r));
        return sd_bus_reply_method_return(m, NULL);
}

static int method_stop(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        r = access_job(job, m, method_stop, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return job_stop_for(m, job, error);
}

static int method_freeze(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        r = access_job(job, m, method_freeze, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = job_freeze(job);
        if (r == -ESRCH)
                return is_over(job, error);
        if (r == -EOPNOTSUPP)
                return sd_bus_error_setf(error, BUS_ERROR(CannotFreeze),
                                "Job %" PRIu64 " cannot be frozen: %s. The job can still be stopped.",
                                job->row.id,
                                job->row.purpose == LAUNCH_TRAIN
                                                ? "to go on, it would need a directory that its user "
                                                  "sent along, and actord cannot open that directory a "
                                                  "second time"
                                                : "it does not train, so it would begin anew");
        return r < 0 ? r : sd_bus_reply_method_return(m, NULL);
}

static int method_thaw(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        r = access_job(job, m, method_thaw, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = job_thaw(job);
        if (r == -ESRCH)
                return is_over(job, error);
        return r < 0 ? r : sd_bus_reply_method_return(m, NULL);
}

static int method_get_settings(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const SettingRow *row;
        int r, owns;

        owns = r = access_owns(job, m, error);
        if (r < 0)
                return r;
        r = reply_list(m, "(sssb)", &reply);
        if (r < 0)
                return r;
        for (Setting i = 0; (row = setting_row(i)); i++) {
                char value[SETTING_TEXT_MAX];

                if (owns)
                        (void) setting_print(&job->settings, i, value);
                else
                        audience_print(&job->settings, i, value);
                r = sd_bus_message_append(reply, "(sssb)", row->section, row->key, value,
                                (int) settings_present(&job->settings, i));
                if (r < 0)
                        return r;
        }
        for (uint32_t i = 0; owns && i < job->settings.n_options && i < OPTIONS_MAX; i++) {
                r = sd_bus_message_append(reply, "(sssb)", "Environment", job->settings.options[i].key,
                                job->settings.options[i].value, 1);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

/* A job's text may contain secrets of its owner, so access_job() checks the caller. */
static int method_get_text(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        r = access_job(job, m, method_get_text, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return sd_bus_reply_method_return(m, "s", job->row.text);
}

static int not_read(sd_bus_error *error, int r) {
        return sd_bus_error_set_errnof(
                        error, r, "The ledger's rounds could not be read: %s.", g_strerror(-r));
}

/* Reads the arguments of GetRounds and GetSeries, and the rows for their replies. 0: the job's records are
 * being read, and the handler will be called again. */
static int rounds_read(Job *job, sd_bus_message *m, sd_bus_message_handler_t handler, LedgerRound **ret,
                size_t *ret_n, sd_bus_error *error) {
        uint64_t after;
        uint32_t most;
        int r;

        r = sd_bus_message_read(m, "tu", &after, &most);
        if (r < 0)
                return r;
        r = reply_trimmed(&job->row, error);
        if (r < 0)
                return r;
        if (ledger_n_pending(job->context->ledger) > 0)
                (void) commit_now(job->context);
        r = records_wanted(job, m, handler, error);
        if (r <= 0)
                return r;
        r = ledger_rounds(job->context->ledger, job->row.id, after, MIN(most, ROUNDS_MOST), ret, ret_n);
        return r < 0 ? not_read(error, r) : 1;
}

static int method_get_rounds(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_free_ LedgerRound *rounds = NULL;
        size_t n = 0;
        int r;

        r = rounds_read(job, m, method_get_rounds, &rounds, &n, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        r = reply_list(m, "(ttudddd)", &reply);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                const Statistics *s = &rounds[i].statistics;

                r = sd_bus_message_append(reply, "(ttudddd)", rounds[i].round, s->n_env_steps,
                                rounds[i].n_actors, s->return_mean, s->return_round,
                                (double) rounds[i].emulated_nsec / 1e9,
                                progress_at(&job->progress, rounds[i].round).cost_full);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

/* GetSeries(): rounds as rows of numbers, with a name for each column. So programs that read columns by name
 * go on working when columns are added. The columns are counts, then all statistics of the learner and of
 * evaluations, then the totals at the round's end. */
/* X(name, field of LedgerRound) */
#define COUNTS(X)                            \
        X(round, round)                      \
        X(actors, n_actors)                  \
        X(env_steps, statistics.n_env_steps) \
        X(episodes, statistics.n_episodes)   \
        X(policy_version, statistics.policy_version)

static const char *const series_fixed_names[] = {
#define X(name, ...) #name,
        COUNTS(X) LEARNED_STATISTICS(X) ACCRUALS(X)
#undef X
};

enum {
        SERIES_COLUMNS_FIXED = G_N_ELEMENTS(series_fixed_names),
        SERIES_COLUMNS_MAX = SERIES_COLUMNS_FIXED + 2 * ACTORD_METRICS_MAX,
};

static_assert(ROUNDS_MOST * (SERIES_COLUMNS_MAX * sizeof(double) + 8) <= REPLY_BYTES_MAX, "an answer fits");

typedef struct SeriesNames {
        const char *names[SERIES_COLUMNS_MAX];
        char metrics[2][ACTORD_METRICS_MAX][32 + ACTORD_METRIC_BYTES];
        size_t n;
} SeriesNames;

/* Columns for the metrics of episodes come last. Their names begin with metric_ or evaluation_metric_, as no
 * other column's does, so an environment cannot use another column's name. */
static void series_name(const Progress *progress, SeriesNames *ret) {
        memcpy(ret->names, series_fixed_names, sizeof(series_fixed_names));
        ret->n = SERIES_COLUMNS_FIXED;
        for (int evaluation = 0; evaluation < 2; evaluation++)
                for (uint32_t i = 0; i < progress->n_metrics; i++) {
                        char *name = ret->metrics[evaluation][i];

                        (void) g_snprintf(name, sizeof(ret->metrics[evaluation][i]), "%smetric_%s",
                                        evaluation ? "evaluation_" : "", progress->metric_names[i]);
                        ret->names[ret->n++] = name;
                }
}

/* ret: a number for each column. NaN: not measured. */
static void series_row(const LedgerRound *round, const Accrual *accrual, uint32_t n_metrics, double *ret) {
        Statistics statistics = round->statistics;
        size_t at = 0;

#define X(name, field) ret[at++] = (double) round->field;
        COUNTS(X)
#undef X
#define X(name, unit) ret[at++] = round->statistics.name;
        LEARNED_STATISTICS(X)
#undef X
#define X(name) ret[at++] = accrual->name;
        ACCRUALS(X)
#undef X
        assert(at == SERIES_COLUMNS_FIXED);
        for (int evaluation = 0; evaluation < 2; evaluation++)
                for (uint32_t i = 0; i < n_metrics; i++)
                        ret[at++] = statistics_metrics(&statistics, evaluation)[i];
}

#undef COUNTS

static int method_get_series(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_free_ LedgerRound *rounds = NULL;
        double row[SERIES_COLUMNS_MAX];
        SeriesNames columns;
        size_t n = 0;
        int r;

        r = rounds_read(job, m, method_get_series, &rounds, &n, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        series_name(&job->progress, &columns);
        r = reply_table(m, columns.names, columns.n, &reply);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                const Accrual accrual = progress_at(&job->progress, rounds[i].round);

                series_row(&rounds[i], &accrual, job->progress.n_metrics, row);
                r = sd_bus_message_append_array(reply, 'd', row, columns.n * sizeof(*row));
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

static int method_get_faults(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        const Progress *p = &job->progress;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint64_t n, first;
        uint32_t most;
        int r;

        r = sd_bus_message_read(m, "u", &most);
        if (r < 0)
                return r;
        r = reply_trimmed(&job->row, error);
        if (r < 0)
                return r;
        r = records_wanted(job, m, method_get_faults, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        n = MIN(MIN(p->n_faults, PROGRESS_FAULTS_KEPT), most);
        first = p->n_faults - n;

        r = reply_list(m, "(tttuss)", &reply);
        if (r < 0)
                return r;
        for (uint64_t i = first; i < p->n_faults; i++) {
                const ProgressFault *f = p->faults + i % PROGRESS_FAULTS_KEPT;
                char sentence[320];

                r = sd_bus_message_append(reply, "(tttuss)", f->life, f->seq, f->round, f->actor,
                                fault_to_string(f->fault),
                                fault_sentence_of(f->actor, f->fault, f->detail, sentence));
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

static int method_open_checkpoint(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_close_ int fd = -EBADF;
        LedgerCheckpoint checkpoint = {};
        bool none;
        int r;

        r = access_job(job, m, method_open_checkpoint, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        r = ledger_checkpoint_newest(job->context->ledger, job->row.id, &checkpoint);
        free(checkpoint.scheduler);
        none = r == -ENOENT;
        if (r >= 0)
                r = fd = job_checkpoint_open(job->context->jobs_fd, &checkpoint);
        if (r < 0 && job->state == JOB_ENDED && !job_directory_exists(job->context->jobs_fd, job->row.id))
                return sd_bus_error_setf(error, BUS_ERROR(NoCheckpoint),
                                "The files of job %" PRIu64
                                " have been removed, its checkpoints among them; its settings and its "
                                "bill remain.",
                                job->row.id);
        if (r < 0 && !none)
                return sd_bus_error_setf(error, BUS_ERROR(NoCheckpoint),
                                "The newest checkpoint of job %" PRIu64 " cannot be opened: %s.",
                                job->row.id, ledger_error_words(r));
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(NoCheckpoint),
                                "This job has no checkpoint: the first is written when IntervalSec= of "
                                "[Checkpoint] has passed, or when the job ends by itself.");
        return sd_bus_reply_method_return(m, "h", fd);
}

/* SD_BUS_VTABLE_ flags of a property, by when the property changes. */
#define PROPERTY_NEVER SD_BUS_VTABLE_PROPERTY_CONST
#define PROPERTY_STATE SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define PROPERTY_ROUND SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define ANYBODY        SD_BUS_VTABLE_UNPRIVILEGED /* a method that is not for all users checks its caller */

const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
#define X(type, name, member, changes) \
        SD_BUS_PROPERTY(#name, #type, job_property_get_##name, 0, PROPERTY_##changes),
        JOB_PROPERTIES(X)
#undef X
                        SD_BUS_METHOD_WITH_ARGS(
                                        "Stop", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_stop, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("Freeze", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_freeze, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("Thaw", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_thaw, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetSettings", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sssb)", settings),
                        method_get_settings, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS(
                        "GetText", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method_get_text, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetBill", SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("s", currency, "s", price_sheet, "d", paper, "d", full, "a(sdsdb)",
                                        lines),
                        method_get_bill, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetBillUnder", SD_BUS_ARGS("s", price_sheet),
                        SD_BUS_RESULT("s", currency, "s", price_sheet, "d", paper, "d", full, "d",
                                        learner_second, "d", actor_second, "t", emulated_nsec, "a(sdsdb)",
                                        lines),
                        method_get_bill_under, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetBeside", SD_BUS_ARGS("s", price_sheet, "s", fleet),
                        SD_BUS_RESULT("s", currency, "a(sssdddss)", ways), method_get_beside, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetEstimates", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(suddds)", estimates),
                        method_get_estimates, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetFleets", SD_BUS_ARGS("s", price_sheet),
                        SD_BUS_RESULT("d", serverless, "a(sssddddd)", fleets), method_get_fleets, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetSchedulerBill", SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("s", job, "s", environment, "t", episodes, "t", wall_nsec, "s",
                                        currency, "s", price_sheet, "d", paper, "d", full),
                        method_get_scheduler_bill, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetRounds", SD_BUS_ARGS("t", after, "u", most),
                        SD_BUS_RESULT("a(ttudddd)", rounds), method_get_rounds, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetSeries", SD_BUS_ARGS("t", after, "u", most),
                        SD_BUS_RESULT("as", names, "aad", rows), method_get_series, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetDecisions", SD_BUS_ARGS("t", after, "u", most),
                        SD_BUS_RESULT("as", names, "aad", rows), method_get_decisions, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("CheckDecisions", SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("t", n_checked, "t", round, "u", recorded, "u", computed),
                        method_check_decisions, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetFaults", SD_BUS_ARGS("u", most), SD_BUS_RESULT("a(tttuss)", faults),
                        method_get_faults, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("OpenCheckpoint", SD_BUS_NO_ARGS, SD_BUS_RESULT("h", file),
                        method_open_checkpoint, ANYBODY),
        SD_BUS_VTABLE_END,
};

static void emit_changes(Job *job) {
        sd_bus *bus = job->context->bus;

        if (job->changes & JOB_CHANGE_STATE)
                (void) sd_bus_emit_properties_changed_strv(
                                bus, job->path, BUS_INTERFACE_JOB, (char **) job_state_properties);
        if (job->changes & JOB_CHANGE_ROUND)
                (void) sd_bus_emit_properties_changed_strv(
                                bus, job->path, BUS_INTERFACE_JOB, (char **) job_round_properties);
        if (job->changes & JOB_CHANGE_REMOVED)
                (void) sd_bus_emit_signal(bus, BUS_PATH, BUS_INTERFACE_MANAGER, "JobRemoved", "tos",
                                job->row.id, job->path, job->row.result);
        job->changes = 0;
        job->changes_timer = sd_event_source_disable_unref(job->changes_timer);
}

static int on_changes(sd_event_source *source, uint64_t usec, void *userdata) {
        emit_changes(userdata);
        return 0;
}

void job_say_changes(Job *job) {
        assert(job);

        /* A job that is not in the list yet sends no signals. */
        if (!job->context->bus || !jobs_find(&job->context->jobs, job->row.id))
                return;
        if (job->changes & JOB_CHANGE_NOW) {
                emit_changes(job);
                return;
        }
        if (job->changes == 0 || job->changes_timer)
                return;
        if (sd_event_add_time_relative(job->context->event, &job->changes_timer, CLOCK_BOOTTIME,
                            CHANGES_INTERVAL_USEC, CHANGES_INTERVAL_USEC / 10, on_changes, job) >= 0)
                (void) sd_event_source_set_description(job->changes_timer, "properties-changed");
}
