/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs that have not ended, and the list of those that there is something new of. An event source of a
 * job leaves a fact here and returns; manager-work.c takes the facts from the list. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

typedef struct Job Job;

typedef struct Jobs {
        /* Also those whose end the ledger does not have yet; by rising number. */
        GPtrArray *all;
        uint32_t n_queued, n_running;
        GQueue work;          /* of Job: those with news */
        bool schedule_wanted; /* the queue is to be looked at */
        sd_event_source *work_source;
} Jobs;

/* Each job, by rising number. The body may neither add nor remove one. */
#define JOBS_FOREACH(job, jobs)                                    \
        for (Job * job, **job##_at = (Job **) (jobs)->all->pdata,  \
                        **job##_end = job##_at + (jobs)->all->len; \
                        job##_at < job##_end && (job = *job##_at); job##_at++)

/* Changes of a job that go to the bus: soon, or, with NOW, before anything else happens. */
typedef enum JobChange {
        JOB_CHANGE_STATE = 1,
        JOB_CHANGE_ROUND = 2,
        JOB_CHANGE_REMOVED = 4,
        JOB_CHANGE_NOW = 8,
} JobChange;

/* Facts that became known about a job, for job_step(). */
typedef enum JobNews {
        JOB_NEWS_LIFE = 1,   /* its life may be over, or something that its end waits for has happened */
        JOB_NEWS_COMMIT = 2, /* all that was queued for the ledger is durable */
} JobNews;

/* A job that has not ended; see ended_find() for the others. NULL: there is none of this number. */
Job *jobs_find(const Jobs *jobs, uint64_t id);
void jobs_add(Jobs *jobs, Job *job);

/* To be called when a job has left the queue or has ended: the next one is picked soon. */
void jobs_schedule(Jobs *jobs);
/* The next job with news, taken from the list; NULL: there is none. */
Job *jobs_next_work(Jobs *jobs);

/* Notes that properties of the job have changed, for the bus. */
void job_changed(Job *job, unsigned changes);
/* Notes news for job_step(), which is called soon. */
void job_news(Job *job, unsigned news);
static inline void job_look(Job *job) {
        job_news(job, JOB_NEWS_LIFE);
}
/* Takes the job out of the list of those with news. */
void job_forget_work(Job *job);
