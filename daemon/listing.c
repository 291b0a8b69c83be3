/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A list costs what it shows: rows of one index, newest first, whatever else the ledger holds. */
#include "daemon/listing.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/job.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* What the row of a job that has not ended does not know yet. Strings stay the job's. */
static void fill_in(const Job *job, LedgerListed *row) {
        row->state = job_state_to_string(job->state);
        row->result = job->row.result;
        row->started_usec = job->row.started_usec;
        row->ended_usec = job->row.ended_usec;
        row->environment = job->settings.environment;
        row->description = job->settings.description;
        row->currency = price_sheet_currency(job->sheet);
}

/* A row of ListJobs, kept until its turn comes: the oldest is told first. */
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
        GArray *rows; /* of Listed, newest first */
        guint n_live, n_ended;
} Remembered;

/* All that have not ended, and the newest KeepJobs= ended ones. */
static int remember(const LedgerListed *listed, void *userdata) {
        Remembered *all = userdata;
        const Job *job = manager_job(all->manager, listed->id);
        LedgerListed row = *listed;

        if (job)
                fill_in(job, &row);
        if (job || all->n_ended < all->manager->config.keep_jobs) {
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
        return all->n_ended >= all->manager->config.keep_jobs && all->n_live >= all->manager->jobs->len;
}

int method_list_jobs(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Listed));
        Remembered all = { .manager = manager, .rows = rows };
        int r;

        g_array_set_clear_func(rows, listed_clear);
        r = ledger_list(manager->ledger, 0, remember, &all);
        if (r < 0)
                return sd_bus_error_set_errnof(
                                error, r, "The ledger's jobs could not be read: %s.", g_strerror(-r));

        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(tusssso)");
        for (guint i = rows->len; r >= 0 && i-- > 0;) {
                const Listed *row = &g_array_index(rows, Listed, i);
                char path[64];

                (void) snprintf(path, sizeof(path), BUS_PATH_JOB_PREFIX "/%" PRIu64, row->id);
                r = sd_bus_message_append(reply, "(tusssso)", row->id, row->uid, row->state, row->result,
                                row->environment, row->description, path);
        }
        return reply_rows(reply, r);
}
