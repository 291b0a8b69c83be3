/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a life begins with: the newest checkpoint that the ledger knows and whose file is what was
 * written; else the one before it, and so on; else the file that came with the job; else nothing. The
 * rows of those that were passed over are gone before the life's first record: then what earlier lives
 * did behind the one that is taken is waste, and a daemon that restarts in this life takes the
 * scheduler's state from the same row. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include "daemon/files.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* What will be so at the next try, too. A lack of memory or descriptors says nothing about the file. */
static const char *damage_word(int r) {
        switch (-r) {
        case ENOENT: return "is missing";
        case EUCLEAN: return "is damaged: its bytes are not those that were written";
        case ELOOP: return "is damaged: a link lies in its place";
        case EIO: return "cannot be read: the disk answers with an error";
        }
        return NULL;
}

/* A job can have a row for each of its rounds, and keeps Keep= files: older ones are missing because they
 * were removed. */
static void say_damaged(Job *job, const LedgerCheckpoint *checkpoint, int r, unsigned n_before) {
        LogEntry entry;

        if (n_before >= job->settings.checkpoint_keep)
                return;
        job_log_begin(&entry, job, MESSAGE_CHECKPOINT_DAMAGED);
        log_send(&entry, LOG_ERR,
                        "The checkpoint of round %" PRIu64 " of job %" PRIu64
                        " %s; the one before it is tried.",
                        checkpoint->round, job->row.id, damage_word(r));
}

static void say_taken(Job *job, uint64_t round) {
        g_autofree char *sentence = NULL;
        LogEntry entry;

        if (round > 0)
                sentence = g_strdup_printf(
                                "its newest checkpoint is missing or damaged; the job goes on from that of round %" PRIu64,
                                round);
        else
                sentence = g_strdup("all of its checkpoints are missing or damaged; the job begins anew");
        job_set_fault(job, sentence);
        job_log_begin(&entry, job, MESSAGE_CHECKPOINT_DAMAGED);
        log_send(&entry, LOG_ERR, "Job %" PRIu64 ": %s.", job->row.id, sentence);
}

/* The newest one that is whole. -ENOENT: there is none; *ret_n_damaged: how many were passed over. */
static int find_whole(Job *job, LedgerPosition *ret, uint64_t *ret_round, unsigned *ret_n_damaged) {
        LedgerPosition at = { INT64_MAX, INT64_MAX };

        for (*ret_n_damaged = 0;; (*ret_n_damaged)++) {
                LedgerCheckpoint checkpoint = {};
                int r;

                r = ledger_checkpoint_before(job->manager->ledger, job->row.id, &at, &checkpoint);
                if (r < 0)
                        return r;
                free(checkpoint.scheduler);
                at = (LedgerPosition){ checkpoint.life, checkpoint.seq };
                r = job_checkpoint_open(job->manager->jobs_fd, &checkpoint, true);
                if (r >= 0) {
                        *ret = at;
                        *ret_round = checkpoint.round;
                }
                if (r >= 0 || !damage_word(r))
                        return r;
                say_damaged(job, &checkpoint, r, *ret_n_damaged);
        }
}

int job_checkpoint_choose(Job *job, uint64_t *ret_round) {
        LedgerPosition position = {};
        unsigned n_damaged = 0;
        uint64_t round = 0;
        int r, fd = -ENOENT;

        assert(job);
        assert(ret_round);

        if (job->row.life > 1)
                fd = find_whole(job, &position, &round, &n_damaged);
        if (fd < 0 && fd != -ENOENT)
                return fd;
        if (n_damaged > 0) {
                r = ledger_checkpoints_forget(job->manager->ledger, job->row.id, &position);
                if (r < 0) {
                        (void) close_fd(fd);
                        return r;
                }
                say_taken(job, round);
        }

        *ret_round = round;
        return fd >= 0 ? fd : job_file_open(job->manager->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT);
}
