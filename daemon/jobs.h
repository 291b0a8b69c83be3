/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs that have not ended, and the list of jobs with news. An event source notes a fact of a job and
 * returns. manager-work.c takes the jobs with news from the list. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

typedef struct Job Job;

typedef struct Jobs {
        /* all jobs whose end was not announced yet, in the order of their numbers */
        GPtrArray *all;
        uint32_t n_queued, n_running;
        GQueue work;          /* of Job: those with news */
        bool schedule_wanted; /* a job of the queue may be able to start */
        sd_event_source *work_source;
} Jobs;

/* Loops over all jobs, in the order of their numbers. The body may neither add nor remove a job. */
#define JOBS_FOREACH(job, jobs)                                    \
        for (Job * job, **job##_at = (Job **) (jobs)->all->pdata,  \
                        **job##_end = job##_at + (jobs)->all->len; \
                        job##_at < job##_end && (job = *job##_at); job##_at++)

/* What has changed in a job, for the bus. The daemon announces changes about 0.1 s later or, with
 * JOB_CHANGE_NOW, in its next turn of work. */
typedef enum JobChange {
        JOB_CHANGE_STATE = 1,
        JOB_CHANGE_ROUND = 2,
        JOB_CHANGE_REMOVED = 4,
        JOB_CHANGE_NOW = 8,
} JobChange;

/* New facts about a job, for job_step(). */
typedef enum JobNews {
        JOB_NEWS_LIFE = 1,   /* its life may be over, or a step that its end waits for is done */
        JOB_NEWS_COMMIT = 2, /* everything that was queued for the ledger is durable */
} JobNews;

/* The job of this number if it has not ended; ended_find() finds the others. NULL: there is none. */
Job *jobs_find(const Jobs *jobs, uint64_t id);
void jobs_add(Jobs *jobs, Job *job);

/* Call this when a job has entered or left the queue, runs, or has ended. Soon the daemon chooses the next
 * job, and checks whether jobs trade CPU weight. */
void jobs_schedule(Jobs *jobs);
/* Takes the next job with news from the list; NULL: there is none. */
Job *jobs_next_work(Jobs *jobs);

/* Notes that properties of the job have changed, for the bus. */
void job_changed(Job *job, unsigned changes);
/* Notes news for job_step(), which is called soon. */
void job_news(Job *job, unsigned news);
static inline void job_look(Job *job) {
        job_news(job, JOB_NEWS_LIFE);
}
/* Takes the job out of the list of jobs with news. */
void job_forget_work(Job *job);
