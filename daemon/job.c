/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data of a job: its row, its settings, and the sums of its records. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include "daemon/descriptors.h"
#include "daemon/job-checkpoint.h"
#include "daemon/job-schedule.h"
#include "daemon/submission.h"
#include "daemon/summary.h"
#include "include/bus.h"
#include "include/launch.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/settings/settings.h"
#include "lib/string-tables.h"

#define RECORDS_AT_ONCE 65536u
#define ALIVE_USEC      30000000u /* even a slow disk reads that many records in this time */

DEFINE_CLEANUP(Job *, job_free)

/* Parses the texts of a row, which an earlier version of actord may have written. If only the scheduler's
 * data are refused, the sheet is set all the same. */
static int parse_texts(const LedgerJob *row, JobSettings *ret_settings, PriceSheet **ret_sheet,
                char **ret_message) {
        g_autofree char *lines = g_strdup(row->overrides ? row->overrides : "");
        g_autoptr(GArray) overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride));
        int r;

        overrides_parse(lines, overrides);
        r = settings_parse_stored(row->text, row->file_name,
                        (const SettingOverride *) (void *) overrides->data, overrides->len, ret_settings,
                        ret_message);
        if (r < 0)
                return r;
        r = price_sheet_parse_stored(row->sheet, ret_settings->price_sheet, ret_sheet, ret_message);
        if (r < 0 || row->purpose != LAUNCH_TRAIN)
                return r;
        return scheduler_check(ret_settings, row->scheduler_data, row->n_scheduler_data, ret_message);
}

static int parse_row(const LedgerJob *row, JobSettings *ret_settings, PriceSheet **ret_sheet) {
        g_autofree char *message = NULL;
        int r;

        r = parse_texts(row, ret_settings, ret_sheet, &message);
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

int job_new(JobContext *context, LedgerJob *row, Job **ret) {
        _cleanup_(job_freep) Job *job = NULL;
        int r;

        assert(context);
        assert(row && row->text && row->sheet);
        assert(ret);

        job = malloc(sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = (Job){
                .context = context, .pid_fd = -EBADF, .stderr_fd = -EBADF, .directories = DIRECTORIES_NONE
        };
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

int job_of_row(JobContext *context, uint64_t id, Job **ret) {
        __attribute__((cleanup(ledger_job_done))) LedgerJob row = {};
        int r;

        assert(context);

        r = ledger_job_get(context->ledger, id, &row);
        if (r < 0)
                return r;
        r = job_new(context, &row, ret);
        return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

int job_row_end(JobContext *context, LedgerJob *row) {
        _cleanup_free_ char *state = strdup("ended"), *result = strdup(plan_end_to_string(PLAN_END_FAILED));

        assert(context);
        assert(row);

        if (g_strcmp0(row->state, "ended") == 0)
                return 0;
        if (!state || !result)
                return -ENOMEM;
        free(row->state);
        free(row->result);
        row->state = TAKE_PTR(state);
        row->result = TAKE_PTR(result);
        return ledger_job_update(context->ledger, row);
}

bool job_learner_ends(const Job *job) {
        assert(job);

        return job->row.end_wanted != PLAN_END_NOT && !job->end.noted && job->link && !job->link_over &&
               plan_link_learner_works(job->link);
}

void job_life_clear(Job *job) {
        assert(job);

        job->search = checkpoint_search_free(job->search);
        job->launch = launch_call_free(job->launch);
        job->trade.policy = trade_policy_free(job->trade.policy);
        job->trade.call = launch_call_free(job->trade.call);
        job->trade = (struct JobTrade){};
        job->link = plan_link_free(job->link);
        job->pid_source = sd_event_source_disable_unref(job->pid_source);
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->runtime_timer = sd_event_source_disable_unref(job->runtime_timer);
        job->watch = sd_event_source_disable_unref(job->watch);
        job->watch_asked_usec = job->watch_slowest_usec = job->silent_usec = 0;
        job->backoff = sd_event_source_disable_unref(job->backoff);
        job->pid_fd = close_fd(job->pid_fd);
        g_clear_pointer(&job->life_error, g_free);
        job->life_error_number = 0;
        job->waits_checkpoint = 0;
        job->link_over = job->exited = job->adopting = job->kill_tried = job->was_kept = job->has_held =
                        false;
        job->life_hopeless = job->disbelieved = false;
        job->settling = (struct JobSettling){ .retry = sd_event_source_disable_unref(job->settling.retry) };
        job->clearing = job->launch_failed = job->files_counted = false;
        scheduler_cache_done(&job->scheduler_cache);
        job->plan = (Plan){};
        job->back_reason = NULL;
        job->acknowledged = 0;
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;

        assert(job->n_long_calls == 0);
        job_forget_work(job);
        job_life_clear(job);
        (void) sd_event_source_disable_unref(job->changes_timer);
        (void) close_fd(job->stderr_fd);
        directories_drop(&job->directories);
        progress_done(&job->progress);
        job->sheet = price_sheet_free(job->sheet);
        g_free(job->path);
        g_free(job->end.sentence);
        ledger_job_done(&job->row);
        free(job);
        return NULL;
}

/* Reads a job's records in two passes. The first finds the records of work that a later life repeated
 * ("waste"). The second passes on each record. Records that a running job adds meanwhile are left out. */
struct JobReplay {
        Job *job;
        uint64_t life;
        void (*add)(const Record *record, void *userdata);
        void *userdata;
        bool decides;
        LedgerPosition decided; /* the scheduler has decided on all records up to here */
        WasteMap waste;
        bool mapped;       /* `waste` is complete: the first pass over the records has filled it */
        LedgerPosition at; /* the record that was read last */
        LedgerPosition last;
        unsigned n; /* records read so far in this portion */
};

static bool is_after(const Record *record, const LedgerPosition *position) {
        return record->life > position->life ||
               (record->life == position->life && record->seq > position->seq);
}

static int replay_record(const Record *record, void *userdata) {
        JobReplay *replay = userdata;
        Record copy = *record;

        if (replay->mapped && is_after(record, &replay->last))
                return 1;
        replay->at = (LedgerPosition){ record->life, record->seq };
        replay->n++;
        if (!replay->mapped)
                return waste_map_add(&replay->waste, record);
        if (waste_map_is_waste(&replay->waste, replay->life, record))
                copy.wasted = 1;
        replay->add(&copy, replay->userdata);
        return 0;
}

static void add_progress(const Record *record, void *userdata) {
        const JobReplay *replay = userdata;
        Job *job = replay->job;

        progress_add(&job->progress, job->sheet, &job->settings, record);
        if (replay->decides && record->kind == RECORD_ROUND && !record->wasted &&
                        is_after(record, &replay->decided))
                job_decide(job, record);
}

JobReplay *job_replay_for(Job *job, void (*add)(const Record *record, void *userdata), void *userdata) {
        JobReplay *replay = g_new(JobReplay, 1);

        assert(job);
        assert(add);

        *replay = (JobReplay){ .job = job, .life = job->row.life, .add = add, .userdata = userdata };
        return replay;
}

JobReplay *job_replay_new(Job *job) {
        JobReplay *replay = job_replay_for(job, add_progress, NULL);

        replay->userdata = replay;
        progress_done(&job->progress);
        if (job->state != JOB_ENDED) {
                replay->decides = true;
                job_schedule_restore(job, &replay->decided);
        }
        return replay;
}

JobReplay *job_replay_free(JobReplay *replay) {
        if (!replay)
                return NULL;

        waste_map_done(&replay->waste);
        g_free(replay);
        return NULL;
}

int job_replay_some(JobReplay *replay, unsigned most) {
        int r;

        assert(replay);
        assert(most > 0);

        replay->n = 0;
        r = ledger_records_some(replay->job->context->ledger, replay->job->row.id, &replay->at, most,
                        replay_record, replay);
        if (r < 0)
                return r;
        if (replay->n >= most)
                return 1;
        if (replay->mapped)
                return 0;
        replay->mapped = true;
        replay->last = replay->at;
        replay->at = (LedgerPosition){};
        return 1;
}

/* A long job has millions of records, which take longer than the service's watchdog or its limit of a start
 * allows. */
static void say_alive(void) {
        (void) sd_notifyf(false, "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=%u", ALIVE_USEC);
}

int job_load_progress(Job *job, bool anew) {
        JobReplay *replay;
        int r;

        assert(job);

        if (job->progress_loaded && !anew)
                return 0;
        job->progress_loaded = job->records_loaded = true;
        job->records_error = 0;
        job->uncounted = job->state != JOB_ENDED;
        if (job->row.life == 0)
                return 0;

        replay = job_replay_new(job);
        do {
                r = job_replay_some(replay, RECORDS_AT_ONCE);
                if (r > 0)
                        say_alive();
        } while (r > 0);
        (void) job_replay_free(replay);
        if (r < 0) {
                /* Sums of some of the records would be taken for the job's bill. */
                progress_done(&job->progress);
                job->progress_loaded = job->records_loaded = false;
                job->records_error = -r;
                log_line(LOG_ERR, "The records of job %" PRIu64 " could not be read from the ledger: %s",
                                job->row.id, ledger_error_words(r));
        }
        return r;
}

int job_load_summary(Job *job) {
        assert(job);

        if (job->progress_loaded || job->state != JOB_ENDED || !job->row.summary)
                return job_load_progress(job, false);
        if (summary_read(job->row.summary, &job->progress) >= 0) {
                job->progress_loaded = true;
                job->records_error = 0;
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

void job_take_records(Job *job, Job *reader) {
        Progress progress;

        assert(job);
        assert(reader && reader != job);

        if (job->records_loaded)
                return;
        progress = job->progress;
        job->progress = reader->progress;
        reader->progress = progress;
        job->progress_loaded = job->records_loaded = true;
        job->records_error = 0;
}
