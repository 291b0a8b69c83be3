/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settles a life of a job (one start of its processes): makes sure that all CPU time of its cgroup is in a
 * record, for every kind of end.
 *
 * When the invoker is gone, the daemon asks the spawner what the cgroup has counted, and asks again if the
 * spawner, the daemon or the answer is lost. If the invoker died without its last record, the daemon writes
 * one of kind *lost* for the CPU time that is in no record. The next life begins only when that record is
 * committed, and counts from there. The cgroup is removed only when the job's end is committed. So each step
 * can be repeated. A life that has neither kind of last record is not settled: the next daemon finds it in
 * the ledger, and asks the spawner.
 *
 * The spawner's answer is kept in a small file beside the job's socket. The file lasts as long as the
 * cgroup, until the machine restarts; in run mode it lasts longer. */
#include "daemon/job-records.h"
#include "daemon/job-settle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "daemon/bill/lost.h"
#include "daemon/sources.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

/* If the spawner gives no answer about a cgroup, the daemon asks again, for about 51 s in all. Each question
 * may take LAUNCH_ANSWER_MSEC(0) more. */
enum { TRIES_MAX = 8 };
#define RETRY_FIRST_USEC (100ull * 1000)

static void answer_name(const Job *job, char ret[32]) {
        (void) snprintf(ret, 32, "%" PRIu64 ".launch", job->row.id);
}

void job_answer_keep(const Job *job) {
        _cleanup_close_ int fd = -EBADF;
        char name[32], aside[40];

        assert(job);

        answer_name(job, name);
        (void) snprintf(aside, sizeof(aside), "%s.new", name);
        fd = openat(job->context->sockets_fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd >= 0 && write_full(fd, &job->answer, sizeof(job->answer)) >= 0)
                (void) renameat(job->context->sockets_fd, aside, job->context->sockets_fd, name);
}

void job_answer_find(Job *job) {
        _cleanup_close_ int fd = -EBADF;
        LaunchAnswer answer;
        char name[32];

        assert(job);

        answer_name(job, name);
        fd = openat(job->context->sockets_fd, name, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read_full(fd, &answer, sizeof(answer)) >= 0 && answer.abi == LAUNCH_ABI)
                job->answer = answer;
}

void job_answer_forget(Job *job) {
        char name[32];

        assert(job);

        job->answer = (LaunchAnswer){};
        answer_name(job, name);
        (void) unlinkat(job->context->sockets_fd, name, 0);
}

static uint64_t newest_seq(const Job *job) {
        uint64_t read = job->link ? plan_link_position(job->link) : 0, kept = 0;

        (void) ledger_last_seq(job->context->ledger, job->row.id, job->row.life, &kept);
        return read > kept ? read : kept;
}

static bool has_last_record(const Job *job) {
        return job->progress.life == job->row.life && (job->progress.ended || job->progress.lost);
}

/* Makes the record of the lost usage. It is offered to the ledger like a record from the spool. */
static void hold_lost(Job *job) {
        bool known = job->progress.life == job->row.life;
        LifeUsage life = {
                .life = job->row.life,
                .seq = newest_seq(job),
                .round = job->progress.round,
                .metered = job->settling.error == 0,
                .began_nsec = job->answer.cpu_nsec,
                .over_nsec = job->settling.nsec,
                .claimed_nsec = known ? job->progress.life_cpu_nsec : 0,
                .error = job->life_error_number,
        };

        assert(!job->has_held);
        lost_make(&life, &job->settings, &job->held);
        job->has_held = true;
}

/* Whether the life has nothing to bill: its launch failed before the cgroup existed, or before a process ran
 * in it. */
static bool was_none(const Job *job) {
        return job->launch_failed &&
               (job->settling.error == -ENOENT ||
                               (job->settling.error == 0 && job->settling.nsec <= job->answer.cpu_nsec));
}

static void conclude(Job *job) {
        job->settling.closed = true;
        if (!has_last_record(job) && !was_none(job))
                hold_lost(job);
}

void job_settle_blindly(Job *job) {
        assert(job);

        if (job->settling.closed || job->has_held || job->row.life == 0)
                return;
        job->settling.error = -ENODATA;
        conclude(job);
        (void) job_offer_held(job);
}

void job_settle_note(Job *job) {
        assert(job);

        if (job->answer.abi != LAUNCH_ABI)
                return;
        job->answer.life = job->row.life + 1;
        job->answer.pid = 0;
        job->answer.cpu_nsec = job->settling.error == 0 ? job->settling.nsec : UINT64_MAX;
        job_answer_keep(job);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->settling.retry = sd_event_source_disable_unref(job->settling.retry);
        job_look(job);
        return 0;
}

/* Notes that a question to the spawner failed. Returns true if the daemon gives up: there is no cgroup,
 * another try would fail in the same way, or it has asked too often. Otherwise the daemon asks again
 * later. */
static bool failed(Job *job, int error, const char *sentence) {
        if (error != -ENOENT && !context_lacks_for_ever(job->context, error) &&
                        job->settling.n_tries++ < TRIES_MAX &&
                        timer_start(job->context->event, &job->settling.retry, "settle-retry",
                                        RETRY_FIRST_USEC << job->settling.n_tries, on_retry, job) >= 0)
                return false;
        if (error != -ENOENT)
                job_say_leftover(job, sentence);
        job->settling.error = error;
        return true;
}

static void on_answered(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        LaunchAnswer over = *answer;

        (void) close_fd(pid_fd);
        job->launch = launch_call_free(job->launch);
        job->settling.asked = false;
        if (over.error < 0)
                job->settling.known = failed(job, over.error,
                                *over.message ? over.message : "its cgroup could not be read");
        else {
                job->settling.known = true;
                job->settling.error = 0;
                job->settling.nsec = over.cpu_nsec;
        }
        job_look(job);
}

/* Asks the spawner to read or to remove the life's cgroup. Returns whether the answer is known. If not,
 * job_look() is called when the answer has come. */
static bool ask(Job *job, uint32_t purpose) {
        JobContext *context = job->context;
        LaunchRequest request = {};
        int r;

        if (job->settling.known || job->settling.asked || job->settling.retry)
                return job->settling.known;
        /* While the spawner sets a CPU weight, systemd may write a file for it, which would be left behind.
         * So the spawner is asked later: trading.c calls job_look() when the weight is set. */
        if (job->trade.call)
                return false;
        job->launch = launch_call_free(job->launch);
        request.launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .purpose = purpose,
                .job = job->row.id,
                .life = job->row.life,
                .manager = context->launch_manager,
                .exit_with_daemon = context->mode == DAEMON_RUN,
                .owner = job->answer.owner,
                .cpu_weight = purpose == LAUNCH_REMOVE && job->settings.shares.kind != SHARES_KIND_EQUAL
                                              ? SHARES_WEIGHT_DEFAULT
                                              : 0,
        };
        r = launch_call(context->event, context->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL, &request,
                        on_answered, job, &job->launch);
        job->settling.asked = r >= 0;
        if (r < 0)
                job->settling.known = failed(job, r == -ENOENT ? -ECONNREFUSED : r,
                                "the spawner could not be asked to read or to remove its cgroup");
        return job->settling.known;
}

static bool has_cgroup(const Job *job) {
        return job->answer.abi == LAUNCH_ABI && job->answer.metering != INVOKER_CGROUP_NONE;
}

/* Whether an earlier daemon has settled this life already. Then the kept answer has the CPU time from which
 * the next life counts. */
static bool is_noted(const Job *job) {
        return has_cgroup(job) && job->answer.life == job->row.life + 1 &&
               job->answer.cpu_nsec != UINT64_MAX;
}

bool job_settle(Job *job) {
        assert(job);

        if (job->settling.closed)
                return true;
        if (!has_cgroup(job) || job->answer.life != job->row.life) {
                job->launch = launch_call_free(job->launch);
                job->settling.known = true;
                job->settling.error = is_noted(job) ? 0 : -ENOENT;
                job->settling.nsec = job->answer.cpu_nsec;
        }
        if (!ask(job, LAUNCH_SETTLE))
                return false;
        conclude(job);
        return true;
}

bool job_clear_away(Job *job) {
        assert(job);

        if (!job->clearing) {
                job->clearing = true;
                job->launch = launch_call_free(job->launch);
                job->settling = (struct JobSettling){ .retry = sd_event_source_disable_unref(
                                                                      job->settling.retry) };
                if (job->answer.abi != LAUNCH_ABI)
                        job_answer_find(job);
        }
        return !has_cgroup(job) || ask(job, LAUNCH_REMOVE);
}
