/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report for people, about jobs or an experiment. A job has its progress, its curves, why the number of
 * actors changed, its cost, and its settings. */
#pragma once

#include "actorctl/experiment/experiment.h"
#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"
#include "actorctl/report/page.h"

typedef struct ReportJob {
        char *name; /* its name in messages: "run r7" */
        JobStatus status;
        JobBill *bill;
        JobRounds rounds;
        GPtrArray *decisions; /* char *: "round 4: ..."; why the number of actors changed */
        char *settings;       /* as a job file */
} ReportJob;

/* Reads all that a report needs. 0; or a negative errno, with a message. */
int report_job_fetch(Connection *connection, const char *path, const char *word, ReportJob **ret);
ReportJob *report_job_free(ReportJob *job);

/* Adds a chapter to the page. */
void report_job(Page *page, const ReportJob *job);
/* Adds the curves of several jobs in one picture, and a table with a line for each job. */
void report_together(Page *page, const GPtrArray *jobs);

/* Adds an experiment: its tables and plots; if it is a sweep, its trials and their picture. */
void report_experiment(Page *page, const Experiment *experiment, const GPtrArray *cells);
