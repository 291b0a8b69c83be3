/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nothing of the trade is stored. A daemon that is started again reads each job's weight from the kernel,
 * and the bids go on from there. A weight changes when a job does its work, never what it learns: no number
 * of this file reaches an invoker. */
#include "daemon/trading.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>
#include "daemon/job.h"
#include "daemon/sources.h"
#include "daemon/trade.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

/* How many questions to the spawner in a row may fail before a job trades no more. */
enum { TRADING_FAILURES = 5 };

static bool may_trade(const Job *job) {
        return job->settings.shares.kind != SHARES_KIND_EQUAL && job->row.purpose == LAUNCH_TRAIN &&
               (job->state == JOB_STARTING || job->state == JOB_RUNNING) && !job->trade.off;
}

/* Whether the job trades in this turn: it runs, and its weight is known. */
static bool trades(const Job *job) {
        return may_trade(job) && job->state == JOB_RUNNING && job->trade.policy && job->trade.weight > 0;
}

static unsigned count_traders(const Manager *manager) {
        unsigned n = 0;

        JOBS_FOREACH (job, &manager->context.jobs)
                n += may_trade(job);
        return n;
}

static void turn_off(Job *job, const char *reason) {
        LogEntry entry;

        job->trade.off = true;
        job_log_begin(&entry, job, MESSAGE_WEIGHT_NOT_SET);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " does not trade CPU weight: %s.", job->row.id, reason);
}

/* The next turn asks again, a few times. */
static void note_failure(Job *job, const char *reason) {
        if (++job->trade.n_failed >= TRADING_FAILURES)
                turn_off(job, reason);
}

static void say_weight(const Job *job, uint32_t before) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_WEIGHT_SET);
        log_field(&entry, "ACTORD_WEIGHT=%" PRIu32, job->trade.weight);
        log_field(&entry, "ACTORD_WEIGHT_BEFORE=%" PRIu32, before);
        log_field(&entry, "ACTORD_BID=%" PRIu32, job->trade.bid);
        log_send(&entry, LOG_DEBUG, "Job %" PRIu64 " has CPU weight %" PRIu32 ".", job->row.id,
                        job->trade.weight);
}

static void on_weighed(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        uint32_t before = job->trade.weight;

        (void) close_fd(pid_fd);
        if (answer->error == -EOPNOTSUPP)
                turn_off(job, "this host has no cpu controller for its cgroup, and all jobs are equal");
        else if (answer->error < 0)
                note_failure(job, answer->message);
        else {
                job->trade.weight = answer->cpu_weight;
                job->trade.n_failed = 0;
        }
        job->trade.call = launch_call_free(job->trade.call);
        if (job->trade.weight == before)
                return;
        job_changed(job, JOB_CHANGE_STATE);
        if (before > 0)
                say_weight(job, before);
}

/* weight 0: only reads it. A question in flight is not repeated: the next turn asks with newer figures. */
static void weigh(Job *job, uint32_t weight) {
        JobContext *context = job->context;
        LaunchRequest request = {};

        if (job->trade.call || job->answer.abi != LAUNCH_ABI)
                return;
        if (job->answer.metering == INVOKER_CGROUP_NONE) {
                turn_off(job, "it has no cgroup of its own");
                return;
        }
        request.launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .purpose = LAUNCH_WEIGH,
                .job = job->row.id,
                .life = job->row.life,
                .manager = context->launch_manager,
                .exit_with_daemon = context->mode == DAEMON_RUN,
                .owner = job->answer.owner,
                .cpu_weight = weight,
        };
        if (launch_call(context->event, context->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL, &request,
                            on_weighed, job, &job->trade.call) < 0)
                note_failure(job, "the spawner cannot be asked for its weight");
}

/* The file was checked at the submission, but may have been removed or replaced since. */
static void find_policy(Job *job) {
        g_auto(GStrv) directories = trade_directories(job->context->mode == DAEMON_SYSTEM);
        g_autofree char *reason = NULL;

        if (trade_policy_find(directories, job->settings.shares.name, &job->trade.policy, &reason) < 0) {
                turn_off(job, reason);
                weigh(job, SHARES_WEIGHT_DEFAULT);
        }
}

/* The time until which training should have ended, in seconds from the job's beginning, without the time in
 * which it waited for its turn; 0: it has none. */
static double deadline_of(const JobSettings *s) {
        uint64_t usec = settings_present(s, SETTING_Scaling_Deadline) ? s->deadline_usec : UINT64_MAX;

        if (settings_present(s, SETTING_Job_RuntimeMaxSec))
                usec = MIN(usec, s->runtime_max_usec);
        return usec == UINT64_MAX ? 0 : (double) usec / 1e6;
}

static double elapsed_of(const Job *job) {
        uint64_t now = (uint64_t) g_get_real_time(), began = job->row.started_usec + job->row.paused_usec;

        return job->row.started_usec > 0 && now > began ? (double) (now - began) / 1e6 : 0;
}

/* Rounds may be longer than a turn, so the speed is a running mean. The first one is that since the job's
 * beginning, which a daemon that was started again knows, too. */
static void measure_speed(Job *job, double done, double elapsed) {
        uint64_t now = clock_boottime() / 1000;
        struct JobTrade *t = &job->trade;

        if (t->looked_usec == 0)
                t->speed = elapsed > 0 ? done / elapsed : 0;
        else if (now > t->looked_usec)
                t->speed = shares_smooth(
                                t->speed, fmax(done - t->done, 0) * 1e6 / (double) (now - t->looked_usec));
        t->looked_usec = now;
        t->done = done;
}

/* CPUs that the job could keep busy: with its actors or, after a round, with its learner. */
static double demand_of(const Job *job, double cores) {
        const JobSettings *s = &job->settings;
        double actors = MIN(job->progress.n_actors, settings_processes(s));
        double learner = (double) s->n_threads * s->n_learners;

        return fmin(fmax(actors, fmax(learner, 1)), cores);
}

static Trader trader_of(Job *job, double cores) {
        double done = fmin((double) job->progress.statistics.n_env_steps / (double) job->settings.stop_steps,
                        1);
        double elapsed = elapsed_of(job), deadline = deadline_of(&job->settings);
        Trader trader = {
                .policy = job->trade.policy,
                .job = { .time_left = 1, .work_left = 1 - done, .demand = demand_of(job, cores) },
                .last = job->trade.last,
        };

        measure_speed(job, done, elapsed);
        trader.job.got = job->trade.speed;
        trader.job.weight = job->trade.bid;
        if (deadline > 0) {
                trader.job.time_left = 1 - elapsed / deadline;
                trader.job.needed = elapsed < deadline ? (1 - done) / (deadline - elapsed) : INFINITY;
        }
        return trader;
}

/* Gets what a turn needs of a job that is new to the trade. */
static void prepare(Job *job) {
        if (!job->trade.policy)
                find_policy(job);
        if (job->trade.off || job->trade.weight > 0) {
                if (job->trade.bid == 0 && job->trade.weight > 0) {
                        job->trade.bid = CLAMP(job->trade.weight, SHARES_WEIGHT_MIN, SHARES_WEIGHT_MAX);
                        job->trade.last = TRADE_NO_ACTION;
                }
                return;
        }
        weigh(job, 0);
}

static void take_turn(Manager *manager) {
        g_autoptr(GArray) traders = g_array_new(FALSE, TRUE, sizeof(Trader));
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();
        g_autofree uint32_t *weights = NULL;
        long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
        double cores = n_cpus > 0 ? (double) n_cpus : 1;

        JOBS_FOREACH (job, &manager->context.jobs) {
                Trader trader;

                if (may_trade(job) && job->state == JOB_RUNNING)
                        prepare(job);
                if (!trades(job))
                        continue;
                trader = trader_of(job, cores);
                g_array_append_val(traders, trader);
                g_ptr_array_add(jobs, job);
        }
        if (traders->len >= 2)
                trade((Trader *) (void *) traders->data, traders->len, cores);
        weights = g_new0(uint32_t, traders->len + 1);
        trade_weights((Trader *) (void *) traders->data, traders->len, weights);
        for (guint i = 0; i < traders->len; i++) {
                const Trader *trader = &g_array_index(traders, Trader, i);
                Job *job = g_ptr_array_index(jobs, i);

                job->trade.bid = trader->job.weight;
                job->trade.last = trader->last;
                if (job->trade.weight != weights[i])
                        weigh(job, weights[i]);
        }
}

/* Whether a job that trades alone has another weight than all jobs that do not trade. */
static bool is_unequal(const Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs)
                if (may_trade(job) && job->trade.weight > 0 && job->trade.weight != SHARES_WEIGHT_DEFAULT)
                        return true;
        return false;
}

static int on_turn(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->trade_timer = sd_event_source_disable_unref(manager->trade_timer);
        take_turn(manager);
        trading_arm(manager);
        return 0;
}

void trading_arm(Manager *manager) {
        assert(manager);

        if (!manager->trade_timer && !manager->stopping &&
                        (count_traders(manager) >= 2 || is_unequal(manager)))
                (void) timer_start(manager->context.event, &manager->trade_timer, "trading", TRADING_USEC,
                                on_turn, manager);
}
