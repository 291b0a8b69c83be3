/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs that have not ended, found by number, and the list of what is to be done soon. Any file leaves
 * a fact here and returns; manager-work.c takes the facts from the list, in an event source of its own,
 * and decides what follows. It knows nothing of what a job does. */
#include <assert.h>
#include "daemon/job.h"

Job *manager_job(const Manager *manager, uint64_t id) {
        assert(manager);

        for (guint first = 0, n = manager->jobs->len; n > 0;) {
                guint half = n / 2;
                Job *job = manager->jobs->pdata[first + half];

                if (job->row.id == id)
                        return job;
                if (job->row.id < id)
                        first += half + 1;
                n = job->row.id < id ? n - half - 1 : half;
        }
        return NULL;
}

int manager_add(Manager *manager, Job *job) {
        guint at;

        assert(manager);
        assert(job);

        at = manager->jobs->len;

        /* Nearly always the newest: only an end that was not announced before a restart is older. */
        while (at > 0 && ((const Job *) manager->jobs->pdata[at - 1])->row.id > job->row.id)
                at--;
        g_ptr_array_insert(manager->jobs, (gint) at, job);
        if (job->state == JOB_QUEUED)
                manager->n_queued++;
        else if (job_active(job))
                manager->n_running++;
        return 0;
}

static void wake(Manager *manager) {
        /* actorctl recover completes a ledger without a daemon, and has no event loop. */
        if (manager->work_source)
                (void) sd_event_source_set_enabled(manager->work_source, SD_EVENT_ONESHOT);
}

void manager_schedule(Manager *manager) {
        assert(manager);

        manager->schedule_wanted = true;
        wake(manager);
}

static void queue(Job *job) {
        if (!job->work.data) {
                job->work.data = job;
                g_queue_push_tail_link(&job->manager->work, &job->work);
        }
        wake(job->manager);
}

void job_changed(Job *job, unsigned changes) {
        assert(job);

        job->changes |= changes;
        queue(job);
}

void job_news(Job *job, unsigned news) {
        assert(job);

        job->news |= news;
        queue(job);
}

Job *manager_next_work(Manager *manager) {
        GList *link = g_queue_pop_head_link(&manager->work);

        return link ? g_steal_pointer(&link->data) : NULL;
}

void job_forget_work(Job *job) {
        assert(job);

        if (job->work.data)
                g_queue_unlink(&job->manager->work, &job->work);
        job->work.data = NULL;
}
