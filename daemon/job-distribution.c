/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses which processes act and learn for a job (its distribution). Under [Distribution] Policy=auto
 * its first rounds are measured, and the choice (daemon/distribution.c) is stored in the job's row. If
 * the present life has another distribution, it ends with a checkpoint, and the next life goes on from
 * there. While a job is measured, the invoker may begin only one round at a time (a lease of one round),
 * so it does not matter when the daemon looks. */
#include "daemon/job-distribution.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/users.h"
#include "include/launch.h"
#include "lib/cpu-count.h"
#include "lib/environments.h"
#include "lib/fragment.h"
#include "lib/settings/print.h"

/* Whether a distribution has been chosen already. A name that this version does not know does not count. */
static bool is_chosen(const Job *job) {
        return job->row.distribution && choice_distribution_from_string(job->row.distribution) >= 0;
}

static bool would_measure(const Job *job, const char **ret_why) {
        *ret_why = NULL;
        return job->row.purpose == LAUNCH_TRAIN && distribution_measures(&job->settings, ret_why);
}

uint32_t job_distribution(const Job *job, uint32_t *ret_n_learners, const char **ret_why) {
        const char *why, *unmeasured;
        uint32_t choice, n_learners;

        assert(job);

        n_learners = job->settings.n_learners;
        if (is_chosen(job) && job->row.life >= job->row.distribution_life) {
                choice = (uint32_t) choice_distribution_from_string(job->row.distribution);
                n_learners = (uint32_t) job->row.n_learners;
                why = job->row.distribution_reason;
        } else {
                choice = distribution_choose(&job->settings, &why);
                if (!would_measure(job, &unmeasured) && unmeasured)
                        why = unmeasured;
        }
        if (ret_n_learners)
                *ret_n_learners = n_learners;
        if (ret_why)
                *ret_why = why;
        return choice;
}

/* A choice counts from the moment at which it is made, although the present life goes on without it. */
QuotaNeed job_need(const Job *job) {
        uint32_t n_learners;

        assert(job);

        (void) job_distribution(job, &n_learners, NULL);
        if (is_chosen(job))
                n_learners = MAX(n_learners, (uint32_t) job->row.n_learners);
        return quota_need(&job->settings, n_learners, job->row.purpose == LAUNCH_TRAIN);
}

QuotaUsage jobs_usage(const Jobs *jobs, uint32_t uid, const Job *except) {
        QuotaUsage usage = {};

        assert(jobs);

        JOBS_FOREACH (job, jobs) {
                if (job == except || job->row.uid != uid || job->state == JOB_ENDED)
                        continue;
                usage.jobs++;
                if (job_active(job)) {
                        QuotaNeed need = job_need(job);

                        quota_add(&usage, &need);
                }
        }
        return usage;
}

/* How many learners the choice may give the job. The other running jobs of its user hold their memory
 * already, and the job does not wait for room when it changes over. */
static uint32_t learners_max(const Job *job) {
        uint32_t most = price_sheet_learners_max(job->sheet, &job->settings);
        QuotaUsage others = jobs_usage(&job->context->jobs, job->row.uid, job);
        QuotaNeed need = job_need(job);
        Quota quota;

        if (!users_quota(job->context->users, job->row.uid, &quota))
                return 1;
        return MIN(most, quota_learners_max(&quota, others.memory_bytes, &need, &job->settings));
}

/* Whether the job's next life can begin: not if the daemon has lost a directory that the submitter passed
 * (daemon/descriptors.h). */
static bool can_restart(const Job *job) {
        return job_lost_directory(job) == _DIRECTORY_KIND_MAX;
}

bool job_measures(const Job *job) {
        const char *why;

        assert(job);

        return would_measure(job, &why) && !is_chosen(job) && can_restart(job);
}

bool job_moves(const Job *job) {
        assert(job);

        /* Only a choice that is in the ledger counts. Another choice could be lost, and the next life would
         * have the same distribution as this life. */
        return is_chosen(job) && job->row.life < job->row.distribution_life && !job->unsaved;
}

static void say_choice(const Job *job, const DistributionChoice *choice) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_DISTRIBUTION_CHOSEN);
        log_field(&entry, "ACTORD_DISTRIBUTION=%s", job->row.distribution);
        log_field(&entry, "ACTORD_LEARNERS=%" PRIu32, choice->n_learners);
        log_field(&entry, "ACTORD_REASON=%s", choice->why);
        log_field(&entry, "ACTORD_ROUND_NSEC=%.0f", choice->now_nsec);
        log_field(&entry, "ACTORD_EXPECTED_ROUND_NSEC=%.0f", choice->then_nsec);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " %s %s, since %s.", job->row.id,
                        choice->changes ? "changes over to" : "stays with", job->row.distribution,
                        choice->why);
}

void job_distribute(Job *job) {
        const DistributionFacts *facts = &job->progress.distribution.facts;
        DistributionChoice choice;

        assert(job);

        if (!job_measures(job) || !distribution_measured(facts, &job->settings))
                return;
        distribution_decide(
                        &(DistributionInput){
                                        .settings = &job->settings,
                                        .facts = facts,
                                        .distribution = job_distribution(job, NULL, NULL),
                                        .n_env_steps = job->progress.statistics.n_env_steps,
                                        .n_cpus = cpu_count(1),
                                        .n_learners_max = learners_max(job),
                        },
                        &choice);
        free(job->row.distribution);
        free(job->row.distribution_reason);
        job->row.distribution = strdup(choice_distribution_to_string(choice.distribution));
        job->row.distribution_reason = strdup(choice.why);
        job->row.n_learners = choice.n_learners;
        job->row.distribution_life = job->row.life + (choice.changes && job->link ? 1 : 0);
        say_choice(job, &choice);
        (void) job_save(job);
        job_changed(job, JOB_CHANGE_STATE);
}
