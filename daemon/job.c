/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job as data: its row, its settings, what its records say. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/descriptors.h"
#include "daemon/submission.h"
#include "daemon/summary.h"
#include "include/bus.h"
#include "include/launch.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/settings.h"
#include "lib/words.h"

static const char *const job_states[_JOB_STATE_MAX] = {
#define X(name, word) [JOB_##name] = word,
        JOB_STATES(X)
#undef X
};

const char *job_state_to_string(JobState state) {
        return (int) state >= 0 && state < _JOB_STATE_MAX ? job_states[state] : NULL;
}

DEFINE_CLEANUP(Job *, job_free)

static int parse_row(const LedgerJob *row, JobSettings *ret_settings, PriceSheet **ret_sheet) {
        g_autofree char *lines = g_strdup(row->overrides ? row->overrides : "");
        g_autoptr(GArray) overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride));
        g_autofree char *message = NULL;
        int r;

        overrides_parse(lines, overrides);
        r = settings_parse(row->text, row->file_name, (const SettingOverride *) (void *) overrides->data,
                        overrides->len, NULL, ret_settings, &message);
        if (r >= 0)
                r = price_sheet_parse(row->sheet, ret_settings->price_sheet, ret_sheet, &message);
        if (r >= 0 && row->purpose == LAUNCH_TRAIN) {
                /* It was checked by the program of that day. */
                r = scheduler_check(ret_settings, row->scheduler_data, row->n_scheduler_data, &message);
                if (r < 0)
                        *ret_sheet = price_sheet_free(*ret_sheet);
        }
        if (r < 0)
                log_line(LOG_WARNING, "Job %" PRIu64 " of the ledger cannot be read any more: %s", row->id,
                                message ? message : g_strerror(-r));
        return r;
}

static JobState row_state(const LedgerJob *row) {
        if (g_strcmp0(row->state, "queued") == 0)
                return JOB_QUEUED;
        return g_strcmp0(row->state, "ended") == 0 ? JOB_ENDED : JOB_RUNNING;
}

int job_new(Manager *manager, LedgerJob *row, Job **ret) {
        _cleanup_(job_freep) Job *job = NULL;
        int r;

        assert(manager);
        assert(row && row->text && row->sheet);
        assert(ret);

        job = malloc(sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = (Job){ .manager = manager, .pid_fd = -EBADF, .stderr_fd = -EBADF, .directory_fd = -EBADF };
        progress_init(&job->progress);

        r = parse_row(row, &job->settings, &job->sheet);
        if (r < 0)
                return r;
        job->path = g_strdup_printf(BUS_PATH_JOB_PREFIX "/%" PRIu64, row->id);
        job->row = *row;
        scheduler_init(&job->scheduler, job_scheduler_kind(job));
        *row = (LedgerJob){};
        job->state = row_state(&job->row);

        *ret = TAKE_PTR(job);
        return 0;
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;

        job_life_clear(job);
        job->check = decisions_check_free(job->check);
        (void) sd_event_source_disable_unref(job->changes_timer);
        (void) close_fd(job->stderr_fd);
        directory_fd_drop(job->directory_fd);
        progress_done(&job->progress);
        job->sheet = price_sheet_free(job->sheet);
        g_free(job->path);
        g_free(job->end.sentence);
        ledger_job_done(&job->row);
        free(job);
        return NULL;
}

static void count(Manager *manager, JobState state, int by) {
        if (state == JOB_QUEUED)
                manager->n_queued += by;
        else if (state != JOB_ENDED)
                manager->n_running += by;
}

void job_set_state(Job *job, JobState state) {
        static const char *const rows[_JOB_STATE_MAX] = {
                [JOB_QUEUED] = "queued",
                [JOB_STARTING] = "running",
                [JOB_RUNNING] = "running",
                [JOB_ENDING] = "running",
                [JOB_ENDED] = "ended",
        };

        assert(job);
        assert((int) state >= 0 && state < _JOB_STATE_MAX);

        if (job->state == state)
                return;
        count(job->manager, job->state, -1);
        count(job->manager, state, +1);
        job->state = state;

        free(job->row.state);
        job->row.state = strdup(rows[state]);
        job_changed(job, JOB_CHANGE_STATE);
        /* The end is said by who has written it down. */
        if (state != JOB_ENDED)
                job_emit_now(job);
        manager_emit_counts(job->manager);
}

void job_set_fault(Job *job, const char *sentence) {
        assert(job);

        free(job->row.fault);
        job->row.fault = sentence ? strdup(sentence) : NULL;
        job_changed(job, JOB_CHANGE_STATE);
}

int job_save(Job *job) {
        int r;

        assert(job);

        /* The end has all of the row, and comes after what may still wait here. */
        if (job->end.noted)
                return 0;
        r = ledger_job_update(job->manager->ledger, &job->row);
        job->unsaved = r < 0;
        if (r < 0)
                manager_ledger_blocked(job->manager, r);
        return r;
}

typedef struct Replay {
        Job *job;
        bool decides;
        LedgerPosition decided; /* the scheduler knows what lies before it */
        WasteMap waste;
} Replay;

static int replay_map(const Record *record, void *userdata) {
        Replay *replay = userdata;

        return waste_map_add(&replay->waste, record);
}

static bool is_after(const Record *record, const LedgerPosition *position) {
        return record->life > position->life ||
               (record->life == position->life && record->seq > position->seq);
}

static int replay_add(const Record *record, void *userdata) {
        Replay *replay = userdata;
        Record copy = *record;

        if (waste_map_is_waste(&replay->waste, replay->job->row.life, record))
                copy.wasted = 1;
        progress_add(&replay->job->progress, replay->job->sheet, &replay->job->settings, &copy);
        if (replay->decides && record->kind == RECORD_ROUND && !copy.wasted &&
                        is_after(record, &replay->decided))
                job_decide(replay->job, record);
        return 0;
}

int job_load_progress(Job *job, bool anew) {
        Replay replay = { .job = job };
        int r;

        assert(job);

        if (job->progress_loaded && !anew)
                return 0;
        job->progress_loaded = job->records_loaded = true;
        if (job->row.life == 0)
                return 0;

        progress_done(&job->progress);
        if (job->state != JOB_ENDED) {
                replay.decides = true;
                job_schedule_restore(job, &replay.decided);
        }
        r = ledger_records_foreach(job->manager->ledger, job->row.id, replay_map, &replay);
        if (r >= 0)
                r = ledger_records_foreach(job->manager->ledger, job->row.id, replay_add, &replay);
        waste_map_done(&replay.waste);
        if (r < 0)
                log_line(LOG_ERR, "The records of job %" PRIu64 " could not be read from the ledger: %s",
                                job->row.id, g_strerror(-r));
        return r;
}

int job_load_summary(Job *job) {
        assert(job);

        if (job->progress_loaded || job->state != JOB_ENDED || !job->row.summary)
                return job_load_progress(job, false);
        if (summary_read(job->row.summary, &job->progress) >= 0) {
                job->progress_loaded = true;
                return 0;
        }
        log_line(LOG_WARNING,
                        "The summary of job %" PRIu64 " cannot be read; its records are added up anew.",
                        job->row.id);
        progress_done(&job->progress);
        return job_load_progress(job, false);
}

int job_load_records(Job *job) {
        assert(job);

        return job_load_progress(job, !job->records_loaded);
}

void job_log_begin(LogEntry *entry, const Job *job, Message message) {
        assert(entry);
        assert(job);

        log_begin(entry, message);
        log_field(entry, "ACTORD_JOB=%" PRIu64, job->row.id);
        log_field(entry, "ACTORD_USER=%u", job->row.uid);
        log_field(entry, "ACTORD_LIFE=%" PRIu64, job->row.life);
        log_field(entry, "ACTORD_ROUND=%" PRIu64, job->progress.round);
        log_field(entry, "ACTORD_ENVIRONMENT=%s", job->settings.environment);
}

char **job_limits_missing(const Job *job) {
        g_autoptr(GPtrArray) words = g_ptr_array_new();

        assert(job);

        for (uint32_t i = 0; i < _LIMIT_MAX; i++)
                if (job->progress.limits_missing >> i & 1)
                        g_ptr_array_add(words, g_strdup(limit_to_string(i)));
        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_steal(words, NULL);
}
