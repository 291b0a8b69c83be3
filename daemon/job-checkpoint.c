/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses the checkpoint that a life of a job (a start of its processes) begins with. This is the newest
 * checkpoint in the ledger whose file still has the bytes that were written. If there is none, it is the
 * file that came with the job, or no file at all.
 *
 * The rows of damaged checkpoints are removed before the life's first record. From then on the ledger counts
 * the work of earlier lives after the chosen checkpoint as waste, since it is repeated. A daemon that
 * restarts during this life takes the scheduler's state from the same row. */
#include "daemon/job-checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include "daemon/files.h"
#include "daemon/sources.h"
#include "daemon/verify.h"
#include "include/bus.h"
#include "lib/cleanup.h"

/* The limit of the whole search for an undamaged checkpoint. Each reading also has a limit of its own
 * (VERIFY_TIMEOUT_USEC), and may wait for the readings of other jobs. */
#define SEARCH_TIMEOUT_USEC (24ull * 3600 * 1000 * 1000)

/* How the file is damaged. NULL: the error says nothing about the file, such as a lack of memory or
 * descriptors, and another try may succeed. */
static const char *damage_word(int r) {
        switch (-r) {
        case ENOENT: return "is missing";
        case EUCLEAN: return "is damaged: its bytes are not those that were written";
        case ELOOP: return "is damaged: a link lies in its place";
        case EIO: return "cannot be read: the disk answers with an error";
        }
        return NULL;
}

/* Logs a damaged or missing checkpoint. A job has a row for each checkpoint but only the newest Keep= files,
 * so a missing older file is not damage: it was removed. */
static void say_damaged(Job *job, const LedgerCheckpoint *checkpoint, int r, unsigned n_before) {
        LogEntry entry;

        if (n_before >= job->settings.checkpoint_keep)
                return;
        job_log_begin(&entry, job, MESSAGE_CHECKPOINT_DAMAGED);
        log_send(&entry, LOG_ERR,
                        "The checkpoint of round %" PRIu64 " of job %" PRIu64
                        " %s; actord tries the one before it.",
                        checkpoint->round, job->row.id, damage_word(r));
}

static void say_taken(Job *job, uint64_t round) {
        g_autofree char *sentence = NULL;
        LogEntry entry;

        if (round > 0)
                sentence = g_strdup_printf(
                                "its newest checkpoint is missing or damaged; the job goes on from that of "
                                "round %" PRIu64,
                                round);
        else
                sentence = g_strdup("all of its checkpoints are missing or damaged; the job begins anew");
        job_set_fault(job, sentence);
        job_log_begin(&entry, job, MESSAGE_CHECKPOINT_DAMAGED);
        log_send(&entry, LOG_ERR, "Job %" PRIu64 ": %s.", job->row.id, sentence);
}

struct CheckpointSearch {
        CheckpointChosen chosen;
        LedgerPosition at; /* the checkpoint that is being checked */
        uint64_t round;
        unsigned n_damaged; /* checkpoints that were found damaged */
        int fd;
        Verify *verify;
};

CheckpointSearch *checkpoint_search_free(CheckpointSearch *search) {
        if (!search)
                return NULL;

        (void) verify_free(search->verify);
        (void) close_fd(search->fd);
        g_free(search);
        return NULL;
}

/* Ends the search. r: 0: the checkpoint that was checked last is whole; -ENOENT: none is whole; or another
 * negative errno. */
static void conclude(Job *job, int r) {
        CheckpointSearch *search = job->search;
        CheckpointChosen chosen = search->chosen;
        LedgerPosition position = {};
        uint64_t round = 0;
        int fd = r;

        if (r >= 0) {
                position = search->at;
                round = search->round;
                fd = TAKE_FD(search->fd);
        }
        if ((r >= 0 || r == -ENOENT) && search->n_damaged > 0) {
                r = ledger_checkpoints_forget(job->context->ledger, job->row.id, &position);
                if (r >= 0)
                        say_taken(job, round);
                else {
                        (void) close_fd(fd);
                        fd = r;
                }
        }
        job->search = checkpoint_search_free(search);
        job->backoff = sd_event_source_disable_unref(job->backoff);
        if (fd == -ENOENT)
                fd = job_file_open(job->context->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT);
        chosen(job, fd, round);
}

/* Whether the search goes on with an older checkpoint, since this one is damaged. If not, ends the
 * search. */
static bool goes_on(Job *job, int r) {
        CheckpointSearch *search = job->search;
        LedgerCheckpoint checkpoint = { .round = search->round };

        if (r >= 0 || !damage_word(r)) {
                conclude(job, r);
                return false;
        }
        search->fd = close_fd(search->fd);
        say_damaged(job, &checkpoint, r, search->n_damaged++);
        return true;
}

static void look_on(Job *job);

static void on_verified(int result, void *userdata) {
        Job *job = userdata;

        job->search->verify = verify_free(job->search->verify);
        if (goes_on(job, result))
                look_on(job);
}

/* Verifies the next older checkpoint. 1: on_verified() is called later; 0: the file is whole; negative: it
 * is not, or could not be verified. *ret_found: whether there is such a checkpoint. */
static int look_at_next(Job *job, bool *ret_found) {
        CheckpointSearch *search = job->search;
        LedgerCheckpoint checkpoint = {};
        int r;

        r = ledger_checkpoint_before(job->context->ledger, job->row.id, &search->at, &checkpoint);
        *ret_found = r >= 0;
        if (r < 0)
                return r;
        free(checkpoint.scheduler);
        search->at = (LedgerPosition){ checkpoint.life, checkpoint.seq };
        search->round = checkpoint.round;
        search->fd = job_checkpoint_open(job->context->jobs_fd, &checkpoint);
        if (search->fd < 0)
                return search->fd;
        return verify_file(job->context->verifier, search->fd, checkpoint.sha256, on_verified, job,
                        &search->verify);
}

static void look_on(Job *job) {
        bool found;
        int r;

        do {
                r = look_at_next(job, &found);
                if (r > 0)
                        return;
                if (!found) {
                        conclude(job, r);
                        return;
                }
        } while (goes_on(job, r));
}

static int on_too_late(sd_event_source *source, uint64_t usec, void *userdata) {
        conclude(userdata, -ETIMEDOUT);
        return 0;
}

void job_checkpoint_choose(Job *job, CheckpointChosen chosen) {
        int r;

        assert(job);
        assert(!job->search && !job->backoff);

        if (job->row.life == 0) {
                chosen(job, job_file_open(job->context->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT), 0);
                return;
        }
        job->search = g_new(CheckpointSearch, 1);
        *job->search = (CheckpointSearch){ .chosen = chosen, .at = { INT64_MAX, INT64_MAX }, .fd = -EBADF };
        /* During the search, job->backoff is set, as between two lives: the job waits for its next life. */
        r = deadline_start(job->context->event, &job->backoff, "checkpoint-search", SEARCH_TIMEOUT_USEC,
                        on_too_late, job);
        if (r < 0)
                conclude(job, r);
        else
                look_on(job);
}
