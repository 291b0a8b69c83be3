/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ended jobs in memory, in the order of their last use. The one that was used longest ago is freed
 * first. */
#include "daemon/ended.h"

#include <assert.h>
#include "daemon/job.h"

/* Frees the jobs that were used longest ago. It keeps those whose records or decisions a call is reading,
 * and the first one in the list, which the caller is about to use. */
static void trim(Manager *manager) {
        GList *link = manager->ended.tail;

        while (link && link != manager->ended.head && manager->ended.length > ENDED_KEPT) {
                GList *before = link->prev;
                Job *job = link->data;

                if (job->n_long_calls == 0) {
                        g_queue_delete_link(&manager->ended, link);
                        (void) job_free(job);
                }
                link = before;
        }
}

void ended_keep(Manager *manager, Job *job) {
        assert(manager);
        assert(job && job->state == JOB_ENDED);

        g_queue_push_head(&manager->ended, job);
        trim(manager);
}

static Job *kept(Manager *manager, uint64_t id) {
        for (GList *link = manager->ended.head; link; link = link->next) {
                Job *job = link->data;

                if (job->row.id != id)
                        continue;
                g_queue_unlink(&manager->ended, link);
                g_queue_push_head_link(&manager->ended, link);
                return job;
        }
        return NULL;
}

/* Makes a job from its ledger row, if the job has ended. NULL: the job has not ended (it is being made, or
 * this daemon only shows records), or the row cannot be read. */
static Job *read_row(Manager *manager, uint64_t id) {
        Job *job;

        if (job_of_row(&manager->context, id, &job) < 0)
                return NULL;
        if (job->state != JOB_ENDED)
                return job_free(job);
        ended_keep(manager, job);
        return job;
}

Job *ended_find(Manager *manager, uint64_t id) {
        Job *job;

        assert(manager);

        job = jobs_find(&manager->context.jobs, id);
        if (!job)
                job = kept(manager, id);
        return job ? job : read_row(manager, id);
}

bool ended_forget(Manager *manager, uint64_t id) {
        assert(manager);

        for (GList *link = manager->ended.head; link; link = link->next) {
                Job *job = link->data;

                if (job->row.id != id)
                        continue;
                if (job->n_long_calls > 0)
                        return false;
                g_queue_delete_link(&manager->ended, link);
                (void) job_free(job);
                return true;
        }
        return true;
}

void ended_done(Manager *manager) {
        Job *job;

        assert(manager);

        while ((job = g_queue_pop_head(&manager->ended)))
                (void) job_free(job);
}
