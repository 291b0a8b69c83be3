/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/jobs.h"

#include <assert.h>
#include "daemon/job.h"

Job *jobs_find(const Jobs *jobs, uint64_t id) {
        assert(jobs);

        for (guint first = 0, n = jobs->all->len; n > 0;) {
                guint half = n / 2;
                Job *job = jobs->all->pdata[first + half];

                if (job->row.id == id)
                        return job;
                if (job->row.id < id)
                        first += half + 1;
                n = job->row.id < id ? n - half - 1 : half;
        }
        return NULL;
}

void jobs_add(Jobs *jobs, Job *job) {
        guint at;

        assert(jobs);
        assert(job);

        at = jobs->all->len;
        /* The job is nearly always the newest one. A job whose end was not announced before a restart is
         * older. */
        while (at > 0 && ((const Job *) jobs->all->pdata[at - 1])->row.id > job->row.id)
                at--;
        g_ptr_array_insert(jobs->all, (gint) at, job);
        if (job->state == JOB_QUEUED)
                jobs->n_queued++;
        else if (job_active(job))
                jobs->n_running++;
}

static void wake(Jobs *jobs) {
        /* actorctl recover completes a ledger without a daemon, and has no event loop. */
        if (jobs->work_source)
                (void) sd_event_source_set_enabled(jobs->work_source, SD_EVENT_ONESHOT);
}

void jobs_schedule(Jobs *jobs) {
        assert(jobs);

        jobs->schedule_wanted = true;
        wake(jobs);
}

static void queue(Job *job) {
        if (!job->work.data) {
                job->work.data = job;
                g_queue_push_tail_link(&job->context->jobs.work, &job->work);
        }
        wake(&job->context->jobs);
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

Job *jobs_next_work(Jobs *jobs) {
        GList *link = g_queue_pop_head_link(&jobs->work);

        return link ? g_steal_pointer(&link->data) : NULL;
}

void job_forget_work(Job *job) {
        assert(job);

        if (job->work.data)
                g_queue_unlink(&job->context->jobs.work, &job->work);
        job->work.data = NULL;
}
