/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's properties as a struct, and its bill. Displays and results are made from these. */
#pragma once

#include <json-glib/json-glib.h>

#include "actorctl/bus.h"
#include "include/job-properties.h"

typedef uint64_t property_t;
typedef uint32_t property_u;
typedef int property_b;
typedef double property_d;
typedef char *property_s;
typedef char **property_as;
typedef struct Numbers {
        double *values;
        size_t n;
} property_ad;

typedef struct JobStatus {
#define X(type, property, member, changes) property_##type member;
        JOB_PROPERTIES(X)
#undef X
} JobStatus;

/* The status of a job before the daemon's first answer. */
JobStatus job_status_empty(void);
void job_status_done(JobStatus *status);
/* Reads properties from an a{sv}. Properties that it lacks keep their values. 0 or a negative errno. */
int job_status_read(JobStatus *status, sd_bus_message *message);
/* Reads all properties from the daemon. 0; or a negative errno, with a message. */
int job_status_fetch(JobStatus *status, Connection *connection, const char *path);
/* Like job_status_fetch(), for a job that a list has just named. 1: done; 0, without a message: the job was
 * removed meanwhile; or a negative errno, with a message. */
int job_status_fetch_listed(JobStatus *status, Connection *connection, const char *path);

typedef struct JobListed {
        char *path;
        bool ended;
} JobListed;

/* The jobs that the daemon remembers, as an array of JobListed. 0; or a negative errno, with a message. */
int jobs_fetch(Connection *connection, GArray **ret);

/* The mean of metric i of the episodes; status->metric_names has its name. means: status->metrics or
 * status->evaluation_metrics. NaN: it was not measured. */
double job_metric(const JobStatus *status, const property_ad *means, size_t i);
/* An object with a number for each metric's name. */
JsonNode *job_metrics_to_json(const JobStatus *status, const property_ad *means);
bool job_has_ended(const JobStatus *status);
/* Every property, under its name in snake_case (a few have another name). */
JsonNode *job_status_to_json(const JobStatus *status);
/* Whether the job failed before its first step because its environment does not load: then the job file is
 * wrong. */
bool job_environment_failed(const JobStatus *status);
/* The exit status for scripts, by the job's end. */
ExitStatus job_exit_status(const JobStatus *status);

typedef struct JobBillLine {
        char *kind, *unit;
        double quantity, amount;
        bool paper;
} JobBillLine;

typedef struct SchedulerBill { /* the cost of training the job's scheduler */
        char *job, *currency;  /* job NULL: the scheduler was not trained */
        uint64_t n_episodes, wall_nsec;
        double paper, full;
} SchedulerBill;

typedef struct JobBill {
        char *currency, *price_sheet;
        double paper, full;
        double learner_second,
                        /* the price of one second by another sheet; NaN: the bill is by the job's own
                         * sheet */
                        actor_second;
        GArray *lines; /* JobBillLines */
        SchedulerBill scheduler;
} JobBill;

/* Asks for the bill of a job. prices: the price sheet to use; NULL: the job's own. 0; or a negative errno,
 * with a message. */
int job_bill_fetch(Connection *connection, const char *path, const char *prices, JobBill **ret);
JobBill *job_bill_free(JobBill *bill);
JsonNode *job_bill_to_json(const JobBill *bill);
/* Prints the lines as a table, then the two totals, and those of the training of the job's scheduler. */
void job_bill_print(const JobBill *bill, const Options *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JobBill, job_bill_free)

/* The object that `run --json` prints. */
JsonNode *job_result_to_json(const JobStatus *status, const JobBill *bill, const char *state_directory);
/* Prints the result as a few lines of text, with the bill. actors_mean: the mean number of actors in a
 * round; NaN: not known. */
void job_result_print(
                const JobStatus *status, const JobBill *bill, double actors_mean, const Options *options);
/* The faults from which a job has recovered: "1 invocation was repeated; actor 0 was killed by signal 9";
 * g_free(). NULL: there were none. */
char *format_recovered(const JobStatus *status);
bool job_has_failed(const JobStatus *status);
/* Prints which usage could not be metered, if any. */
void job_unmetered_print(const JobStatus *status);
/* Prints why a job failed, if it did. */
void job_result_complain(const JobStatus *status);

/* The states of nodes: "2 up, 1 pending (Priority), 0 lost"; NULL: the job never had a node, and waits for
 * none. g_free(). */
char *job_nodes_words(const JobStatus *job);
/* How long the nodes were allocated and idle, how long the job waited for them, how many bytes passed
 * between the hosts, and the cost of all this so far; NULL: the job never had a node. g_free(). */
char *job_nodes_use(const JobStatus *job);

/* Both functions write a text such as "2min 5s" or "12,345" into ret, and return ret. */
char *format_duration(uint64_t nsec, char ret[32]);
char *format_count(uint64_t n, char ret[32]);
/* The scheduler in words: "auto, 3.52 actors a round, from 1 to 8"; g_free(). */
char *format_scheduler(const JobStatus *status, double actors_mean);
/* "476.60 (mean of 100 episodes; deviation 32.10)". */
#define EVALUATION_TEXT_MAX 400 /* a double may have 309 digits before its decimal point */
char *format_evaluation(const JobStatus *status, char ret[EVALUATION_TEXT_MAX]);
/* "0.000123 USD": the smaller the amount, the more decimals, from 2 to 9. NaN is written as 0. */
char *format_money(double amount, const char *currency, char ret[48]);
