/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A list reads rows of one index, the newest first. So its cost depends on how many rows it reads, and not
 * on the size of the ledger. */
#include "daemon/listing.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "daemon/access.h"
#include "daemon/audience.h"
#include "daemon/job.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define PAGE_MOST 1000u /* rows of a reply */
#define SCAN_MOST 2000u /* rows that one call looks at, wanted or not */

/* Adds figures that the row of a running job lacks. The strings still belong to the job. */
static void fill_in(const Job *job, LedgerListed *row) {
        const Progress *progress = &job->progress;
        Bill bill;

        bill_make(&progress->usage, job->sheet, &job->settings, &bill);
        row->round = progress->round;
        row->n_env_steps = progress->statistics.n_env_steps;
        row->return_mean = job->records_error == 0 ? progress->statistics.return_mean : NAN;
        row->cost_full = job->records_error == 0 ? bill.full : NAN;
        row->state = job_state_word(job);
        row->result = job->row.result;
        row->started_usec = job->row.started_usec;
        row->ended_usec = job->row.ended_usec;
        row->environment = job->settings.environment;
        row->description = job->settings.description;
        row->currency = price_sheet_currency(job->sheet);
}

/* A row of ListJobs. All rows are collected before the reply is written, since it begins with the oldest. */
typedef struct Listed {
        uint64_t id;
        uint32_t uid;
        char *state, *result, *environment, *description;
} Listed;

static void listed_clear(void *p) {
        Listed *row = p;

        g_free(row->state);
        g_free(row->result);
        g_free(row->environment);
        g_free(row->description);
}

typedef struct Remembered {
        const Manager *manager;
        GArray *rows; /* Listed rows, the newest first */
        guint n_live, n_ended;
} Remembered;

/* Keeps a row if its job has not ended, or is one of the newest KeepJobs= ended ones. */
static int remember(const LedgerListed *listed, void *userdata) {
        Remembered *all = userdata;
        const Job *job = jobs_find(&all->manager->context.jobs, listed->id);
        LedgerListed row = *listed;

        if (job)
                fill_in(job, &row);
        if (job || all->n_ended < all->manager->context.config.keep_jobs) {
                g_array_append_val(all->rows, ((Listed){
                                                              .id = row.id,
                                                              .uid = row.uid,
                                                              .state = g_strdup(row.state),
                                                              .result = g_strdup(row.result),
                                                              .environment = g_strdup(row.environment ?: ""),
                                                              .description = g_strdup(row.description ?: ""),
                                              }));
                all->n_live += job != NULL;
                all->n_ended += !job;
        }
        return all->n_ended >= all->manager->context.config.keep_jobs &&
               all->n_live >= all->manager->context.jobs.all->len;
}

int method_list_jobs(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Listed));
        Remembered all = { .manager = manager, .rows = rows };
        int r;

        g_array_set_clear_func(rows, listed_clear);
        r = ledger_list(manager->context.ledger, 0, remember, &all);
        if (r < 0)
                return sd_bus_error_set_errnof(
                                error, r, "The ledger's jobs could not be read: %s.", g_strerror(-r));

        r = reply_list(m, "(tusssso)", &reply);
        if (r < 0)
                return r;
        for (guint i = rows->len; i-- > 0;) {
                const Listed *row = &g_array_index(rows, Listed, i);
                char path[64], environment[SETTING_TEXT_MAX];

                (void) snprintf(path, sizeof(path), BUS_PATH_JOB_PREFIX "/%" PRIu64, row->id);
                r = sd_bus_message_append(reply, "(tusssso)", row->id, row->uid, row->state, row->result,
                                audience_name(row->environment, environment), row->description, path);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

/* Which rows the caller wants. environment and tag belong to the message. */
typedef struct Filter {
        uint32_t states; /* a bit for each (state_bit()); 0: all states */
        const char *environment, *tag;
        uint64_t since_usec, until_usec; /* range of the submission times */
        uint64_t ended_since_usec;
        uint32_t uid;
        bool has_uid;
} Filter;

/* The bit of a state's word; 0: there is no such state. */
static uint32_t state_bit(const char *word) {
        static_assert(_JOB_STATE_MAX < 31, "a bit for each state, and one for frozen jobs");

        if (g_str_equal(word, JOB_FROZEN_WORD))
                return UINT32_C(1) << _JOB_STATE_MAX;
        for (JobState state = 0; state < _JOB_STATE_MAX; state++)
                if (g_str_equal(word, job_state_to_string(state)))
                        return UINT32_C(1) << state;
        return 0;
}

/* Keeps a bit and no text for each state: a caller may send millions of them. */
static int read_states(sd_bus_message *m, Filter *filter, sd_bus_error *error) {
        const char *word;
        int r;

        filter->states = 0;
        r = sd_bus_message_enter_container(m, 'v', "as");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, 'a', "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "s", &word)) > 0) {
                uint32_t bit = state_bit(word);

                if (bit == 0)
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "`%s` is not a state of a job: queued, frozen, starting, running, "
                                        "ending, ended.",
                                        word);
                filter->states |= bit;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* A value of another type is the caller's mistake, too, so the caller gets a sentence about it. */
static int read_value(sd_bus_message *m, const char *key, const char *type, void *ret, sd_bus_error *error) {
        int r = sd_bus_message_read(m, "v", type, ret);

        if (r == -ENXIO)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The value of `%s` is of another type than `%s`.", key, type);
        return r;
}

static int read_wish(sd_bus_message *m, Filter *filter, sd_bus_error *error) {
        const char *key;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        if (g_str_equal(key, "states")) {
                r = read_states(m, filter, error);
                return r == -ENXIO ? sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                                     "The value of `states` is of another type than `as`.")
                                   : r;
        }
        if (g_str_equal(key, "user")) {
                filter->has_uid = true;
                return read_value(m, key, "u", &filter->uid, error);
        }
        if (g_str_equal(key, "environment"))
                return read_value(m, key, "s", &filter->environment, error);
        if (g_str_equal(key, "tag"))
                return read_value(m, key, "s", &filter->tag, error);
        if (g_str_equal(key, "since"))
                return read_value(m, key, "t", &filter->since_usec, error);
        if (g_str_equal(key, "until"))
                return read_value(m, key, "t", &filter->until_usec, error);
        if (g_str_equal(key, "ended-since"))
                return read_value(m, key, "t", &filter->ended_since_usec, error);
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                        "Jobs cannot be chosen by `%s`: it must be states, user, environment, tag, since, "
                        "until or ended-since.",
                        key);
}

static int filter_read(sd_bus_message *m, Filter *filter, sd_bus_error *error) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_wish(m, filter, error);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static bool wants(const Filter *filter, const LedgerListed *row) {
        char wanted[SETTING_TEXT_MAX], has[SETTING_TEXT_MAX];

        if (filter->states && !(filter->states & state_bit(row->state)))
                return false;
        if (filter->has_uid && filter->uid != row->uid)
                return false;
        if (filter->environment && !g_str_equal(audience_name(filter->environment, wanted),
                                                   audience_name(row->environment ?: "", has)))
                return false;
        if (filter->tag && g_strcmp0(filter->tag, row->tag) != 0)
                return false;
        if (row->ended_usec > 0 && row->ended_usec < filter->ended_since_usec)
                return false;
        return row->submitted_usec >= filter->since_usec &&
               (filter->until_usec == 0 || row->submitted_usec < filter->until_usec);
}

typedef struct Page {
        const Manager *manager;
        const Filter *filter;
        sd_bus_message *reply;
        uint32_t most, n_rows, n_seen;
        uint64_t last; /* the job of the row that was looked at last */
} Page;

static int append_row(sd_bus_message *reply, const LedgerListed *row) {
        char path[64], environment[SETTING_TEXT_MAX];

        (void) snprintf(path, sizeof(path), BUS_PATH_JOB_PREFIX "/%" PRIu64, row->id);
        return sd_bus_message_append(reply, "(tussssstttttddso)", row->id, row->uid, row->state, row->result,
                        audience_name(row->environment ?: "", environment), row->description ?: "",
                        row->tag ?: "", row->submitted_usec, row->started_usec, row->ended_usec, row->round,
                        row->n_env_steps, row->return_mean, row->cost_full, row->currency ?: "", path);
}

/* Adds a row to the page if the filter takes it. 1: the page is full, or this call has looked at enough
 * rows. */
static int add_to_page(const LedgerListed *listed, void *userdata) {
        Page *page = userdata;
        Job *job;
        LedgerListed row = *listed;
        int r;

        if (page->n_rows >= page->most || page->n_seen >= SCAN_MOST)
                return 1;
        page->n_seen++;
        page->last = row.id;
        job = jobs_find(&page->manager->context.jobs, row.id);
        if (job) {
                /* After a restart the records of a job that went back to the queue are read when they are
                 * first needed. */
                (void) job_load_progress(job, false);
                fill_in(job, &row);
        }
        if (!wants(page->filter, &row))
                return 0;
        r = append_row(page->reply, &row);
        if (r < 0)
                return r;
        page->n_rows++;
        return 0;
}

static int append_page(Page *page, uint64_t after) {
        int more, r;

        r = sd_bus_message_open_container(page->reply, 'a', "(tussssstttttddso)");
        if (r < 0)
                return r;
        more = ledger_list(page->manager->context.ledger, after, add_to_page, page);
        if (more < 0)
                return more;
        r = sd_bus_message_close_container(page->reply);
        if (r < 0)
                return r;
        return sd_bus_message_append(page->reply, "t", more > 0 ? page->last : UINT64_C(0));
}

int method_list_jobs_filtered(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Filter filter = {};
        Page page = { .manager = manager, .filter = &filter };
        uint64_t after;
        int r;

        r = filter_read(m, &filter, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(m, "tu", &after, &page.most);
        if (r < 0)
                return r;
        if (page.most == 0 || page.most > PAGE_MOST)
                page.most = PAGE_MOST;

        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        page.reply = reply;
        r = append_page(&page, after);
        if (r < 0)
                return sd_bus_error_set_errnof(
                                error, r, "The ledger's jobs could not be read: %s.", g_strerror(-r));
        r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 1;
}

typedef struct Totals {
        sd_bus_message *reply;
        size_t bytes; /* no fewer than the reply has */
} Totals;

/* -EMSGSIZE: the reply would be too long for a bus. A user may have jobs with many tags. */
static int append_total(const LedgerTotal *t, void *userdata) {
        Totals *totals = userdata;
        int r;

        totals->bytes += 128 + strlen(t->month) + strlen(t->tag) + strlen(t->currency) +
                         strlen(t->sheet_name);
        if (totals->bytes > REPLY_BYTES_MAX)
                return -EMSGSIZE;
        r = sd_bus_message_append(totals->reply, "(ussssddttt)", t->uid, t->month, t->tag, t->currency,
                        t->sheet_name, (double) t->full_nano / 1e9, (double) t->paper_nano / 1e9, t->n_jobs,
                        t->n_env_steps, t->cpu_nsec);
        return r < 0 ? r : 0;
}

/* GetTotals: the totals of the caller's own jobs; root gets those of all users. */
int method_get_totals(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Totals totals = {};
        uint32_t uid;
        int r;

        r = access_uid(&manager->access, m, &uid, error);
        if (r < 0)
                return r;
        r = reply_list(m, "(ussssddttt)", &reply);
        if (r < 0)
                return r;
        totals.reply = reply;
        r = ledger_totals_foreach(
                        manager->context.ledger, uid == 0 ? UINT32_MAX : uid, append_total, &totals);
        if (r == -EMSGSIZE)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "The totals have too many rows for one answer (jobs with many tags): read "
                                "the jobs with ListJobsFiltered().");
        return r < 0 ? r : reply_send(reply);
}
