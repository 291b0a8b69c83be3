/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/disk.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/files.h"
#include "daemon/job.h"
#include "daemon/users.h"

static uint64_t bytes_of(const JobContext *context, uint64_t job) {
        g_autofree char *number = g_strdup_printf("%" PRIu64, job);

        return job_files_bytes(context->jobs_fd, number);
}

void disk_count(JobContext *context, uint64_t job) {
        assert(context);

        /* If the ledger cannot be written now, the next change of the files updates the number. */
        (void) ledger_job_disk(context->ledger, job, bytes_of(context, job));
}

/* Logs once for each job that checkpoints were removed for the quota, although this occurs again and
 * again. */
static void say_pruned(Job *job, uint64_t limit) {
        LogEntry entry;

        if (job->disk_said)
                return;
        job->disk_said = true;
        job_log_begin(&entry, job, MESSAGE_FILES_REMOVED);
        log_field(&entry, "ACTORD_REASON=%s", "MaxDiskPerUser= is reached");
        log_send(&entry, LOG_NOTICE,
                        "Job %" PRIu64 " keeps only its newest checkpoint, of round %" PRIu64 ": with "
                        "the others the files of user %u would take more than MaxDiskPerUser=%" PRIu64 "K.",
                        job->row.id, job->durable_round, job->row.uid, limit >> 10);
}

void disk_prune(Job *job) {
        JobContext *context;
        uint64_t limit = 0, others = 0, bytes, left;
        Quota quota;

        assert(job);

        context = job->context;
        job_checkpoints_prune(
                        context->jobs_fd, job->row.id, job->durable_round, job->settings.checkpoint_keep);
        bytes = bytes_of(context, job->row.id);
        /* Right after a restart the quota is not known yet, and is checked only at the next checkpoint. */
        if (users_quota(context->users, job->row.uid, &quota))
                limit = quota.disk_bytes;
        if (limit > 0 && ledger_disk(context->ledger, job->row.uid, job->row.id, &others) >= 0 &&
                        !quota_disk_has_room(limit, others, bytes)) {
                job_checkpoints_prune(context->jobs_fd, job->row.id, job->durable_round, 1);
                left = bytes_of(context, job->row.id);
                if (left < bytes)
                        say_pruned(job, limit);
                bytes = left;
        }
        (void) ledger_job_disk(context->ledger, job->row.id, bytes);
}
