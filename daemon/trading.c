/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nothing of the trade is stored. A daemon that is started again reads each job's weight from the kernel,
 * and begins with it as the job's bid. A weight changes how fast a job works, never what it learns: no
 * number of this file reaches an invoker. */
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

/* Whether the job's invoker may still run. Without it, the weight is not written any more: the cgroup is
 * read or removed next. */
static bool has_process(const Job *job) {
        return !job->exited && !job->end.noted;
}

/* Whether the job's weight can be traded. Not in `actorctl run`: there the job is the only one of its
 * daemon. */
static bool has_shares(const Job *job) {
        return job->settings.shares.kind != SHARES_KIND_EQUAL && job->row.purpose == LAUNCH_TRAIN &&
               job->context->mode != DAEMON_RUN;
}

static TradeState state_of(const Job *job) {
        TradeState state = job->trade.state;

        state.trains = has_shares(job);
        state.running = (job->state == JOB_STARTING || job->state == JOB_RUNNING) && has_process(job);
        state.ending = job->state == JOB_ENDING && has_process(job);
        return state;
}

static bool may_trade(const Job *job) {
        TradeState state = state_of(job);

        return trade_may(&state);
}

static bool is_left(const Job *job) {
        TradeState state = state_of(job);

        return trade_is_left(&state);
}

/* Whether the next turn of the trade must look at the job even if no other job trades. */
static bool needs_turn(const Job *job) {
        TradeState state = state_of(job);

        return job->trade.call || trade_is_unequal(&state) || trade_is_left(&state);
}

static unsigned count_traders(const Manager *manager) {
        unsigned n = 0;

        JOBS_FOREACH (job, &manager->context.jobs)
                n += may_trade(job);
        return n;
}

static void turn_off(Job *job, const char *reason) {
        LogEntry entry;

        if (job->trade.state.off)
                return;
        job->trade.state.off = true;
        job_log_begin(&entry, job, MESSAGE_WEIGHT_NOT_SET);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " does not trade CPU weight: %s.", job->row.id, reason);
}

/* Notes the spawner's answer. After an error the next turn asks again, a few times. */
static void note(Job *job, int error, uint32_t weight, const char *reason) {
        if (trade_note(&job->trade.state, error, weight))
                turn_off(job, error == -EOPNOTSUPP
                                                ? "this host has no cpu controller for its cgroup, and all "
                                                  "jobs are equal"
                                                : reason);
}

static void say_weight(const Job *job, uint32_t before) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_WEIGHT_SET);
        log_field(&entry, "ACTORD_WEIGHT=%" PRIu32, job->trade.state.weight);
        log_field(&entry, "ACTORD_WEIGHT_BEFORE=%" PRIu32, before);
        log_field(&entry, "ACTORD_BID=%" PRIu32, job->trade.bid);
        log_send(&entry, LOG_DEBUG, "Job %" PRIu64 " has CPU weight %" PRIu32 ".", job->row.id,
                        job->trade.state.weight);
}

static void on_weighed(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        uint32_t before = job->trade.state.weight;

        (void) close_fd(pid_fd);
        note(job, answer->error, answer->cpu_weight, answer->message);
        job->trade.call = launch_call_free(job->trade.call);
        if (job->trade.state.weight != before) {
                job_changed(job, JOB_CHANGE_STATE);
                if (before > 0)
                        say_weight(job, before);
        }
        /* The end of the job may have waited for this answer (job-settle.c). */
        if (!has_process(job))
                job_look(job);
}

/* Asks the spawner to write the job's weight. weight 0: asks it only to read the weight. While an earlier
 * question is not answered, nothing is asked: the next turn asks with newer figures. */
static void weigh(Job *job, uint32_t weight) {
        JobContext *context = job->context;
        LaunchRequest request = {};
        int r;

        if (job->trade.call)
                return;
        if (job->answer.abi != LAUNCH_ABI) {
                turn_off(job, "its cgroup is not known");
                return;
        }
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
        r = launch_call(context->event, context->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL, &request,
                        on_weighed, job, &job->trade.call);
        if (r < 0)
                note(job, r, 0, "the spawner cannot be asked for its weight");
}

/* Reads the job's policy. Its file was checked when the job was submitted, but may have been removed or
 * replaced since. */
static void find_policy(Job *job) {
        g_auto(GStrv) directories = trade_directories(job->context->mode == DAEMON_SYSTEM);
        g_autofree char *reason = NULL;

        if (trade_policy_find(directories, job->settings.shares.name, &job->trade.policy, &reason) < 0)
                turn_off(job, reason);
}

/* The time within which training should end, in seconds from the job's start, without the time that the job
 * spent back in the queue; 0: no limit. */
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

/* How many CPUs the job could keep busy: its actors during rollouts, or its learners during updates,
 * whichever are more. */
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
                .user = job->row.uid,
                .weight = job->trade.state.weight,
        };

        trader.job.got = trade_speed(&job->trade.speed, (double) clock_boottime() / 1e9, done, elapsed);
        trader.job.weight = job->trade.bid;
        if (deadline > 0) {
                trader.job.time_left = 1 - elapsed / deadline;
                trader.job.needed = elapsed < deadline ? (1 - done) / (deadline - elapsed) : INFINITY;
        }
        return trader;
}

/* Reads what a turn needs to know of a job: its weight, its policy unless no other job trades, and its first
 * bid. Returns whether the job can trade in this turn. */
static bool prepare(Job *job, bool alone) {
        if (!may_trade(job) || job->state != JOB_RUNNING)
                return false;
        /* The weight is read before the policy: a job whose policy cannot be read gets the default weight
         * back. */
        if (job->trade.state.weight == 0) {
                weigh(job, 0);
                return false;
        }
        if (!alone && !job->trade.policy)
                find_policy(job);
        if (job->trade.state.off)
                return false;
        if (job->trade.bid == 0) {
                job->trade.bid = CLAMP(job->trade.state.weight, SHARES_WEIGHT_MIN, SHARES_WEIGHT_MAX);
                job->trade.last = TRADE_NO_ACTION;
        }
        return true;
}

static void reset_left(Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs) {
                if (!is_left(job) || job->trade.call)
                        continue;
                job->trade.state.n_resets++;
                weigh(job, SHARES_WEIGHT_DEFAULT);
        }
}

static void take_turn(Manager *manager) {
        g_autoptr(GArray) traders = g_array_new(FALSE, TRUE, sizeof(Trader));
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();
        g_autofree uint32_t *weights = NULL;
        long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
        double cores = n_cpus > 0 ? (double) n_cpus : 1;
        bool alone = count_traders(manager) < 2;

        JOBS_FOREACH (job, &manager->context.jobs) {
                Trader trader;

                if (!prepare(job, alone))
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
                if (job->trade.state.stale || job->trade.state.weight != weights[i])
                        weigh(job, weights[i]);
        }
        reset_left(manager);
}

static bool needs_turns(const Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs)
                if (needs_turn(job))
                        return true;
        return count_traders(manager) >= 2;
}

static int on_turn(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->trade_timer = sd_event_source_disable_unref(manager->trade_timer);
        if (!manager->stopping)
                take_turn(manager);
        trading_arm(manager);
        return 0;
}

void trading_arm(Manager *manager) {
        assert(manager);

        if (!manager->trade_timer && !manager->stopping && needs_turns(manager))
                (void) timer_start(manager->context.event, &manager->trade_timer, "trading", TRADE_TURN_USEC,
                                on_turn, manager);
}
