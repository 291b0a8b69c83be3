/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The books of a life are closed. When its invoker is gone the spawner says what the life's cgroup
 * counted, and removes that. If the invoker went without its last record, what it did not tell becomes
 * one of ours. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>
#include "daemon/lost.h"
#include "lib/cleanup.h"

static uint64_t newest_seq(const Job *job) {
        uint64_t read = job->link ? plan_link_position(job->link) : 0, kept = 0;

        (void) ledger_last_seq(job->manager->ledger, job->row.id, job->row.life, &kept);
        return read > kept ? read : kept;
}

static bool ended_by_itself(const Job *job) {
        return job->progress.life == job->row.life && job->progress.ended;
}

/* It is offered to the ledger as any record that was read. */
static void hold_lost(Job *job, const LaunchAnswer *over) {
        bool known = job->progress.life == job->row.life;
        LifeBooks books = {
                .life = job->row.life,
                .seq = newest_seq(job),
                .round = job->progress.round,
                .metered = over && over->error >= 0 && job->answer.metering != INVOKER_CGROUP_NONE,
                .began_nsec = job->answer.cpu_nsec,
                .over_nsec = over ? over->cpu_nsec : 0,
                .claimed_nsec = known ? job->progress.life_cpu_nsec : 0,
        };

        lost_make(&books, &job->settings, &job->held);
        job->has_held = true;
}

static void conclude(Job *job, const LaunchAnswer *over) {
        job->settled = true;
        if (!ended_by_itself(job) && !(job->progress.life == job->row.life && job->progress.lost))
                hold_lost(job, over);
}

static void on_settled(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        LaunchAnswer over = *answer;

        (void) close_fd(pid_fd);
        job->launch = launch_call_free(job->launch);
        job->settling = false;
        if (over.error < 0 && over.error != -ENOENT)
                job_say_leftover(job, *over.message ? over.message : "its cgroup could not be read");
        conclude(job, &over);
        job_life_check(job);
}

static void fill_launch(const Job *job, Launch *launch) {
        *launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .purpose = LAUNCH_SETTLE,
                .job = job->row.id,
                .life = job->row.life,
                .manager = job->manager->launch_manager,
                .exit_with_daemon = job->manager->mode == DAEMON_RUN,
                .owner = job->answer.owner,
        };
}

bool job_settle(Job *job) {
        LaunchRequest request = {};
        int r;

        assert(job);

        if (job->settled)
                return true;
        if (job->settling)
                return false;
        /* Nothing was started, or nothing is there that counts. */
        if (job->launch || job->answer.abi != LAUNCH_ABI || job->answer.error < 0 ||
                        job->answer.metering == INVOKER_CGROUP_NONE) {
                conclude(job, NULL);
                return true;
        }

        fill_launch(job, &request.launch);
        r = launch_call(job->manager->event, job->manager->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL,
                        &request, on_settled, job, &job->launch);
        if (r < 0) {
                job_say_leftover(job, "the spawner could not be asked to read and remove its cgroup");
                conclude(job, NULL);
                return true;
        }
        job->settling = true;
        return false;
}
