/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One function for each property of a job: it takes the job, and returns a value of the type in the
 * property's row. Without a function for each row, this file does not compile. */
#include "daemon/job-properties.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "daemon/audience.h"
#include "daemon/job-distribution.h"
#include "daemon/job.h"
#include "include/sandbox.h"
#include "lib/hex.h"
#include "lib/limits.h"
#include "lib/settings/print.h"
#include "lib/string-tables.h"

#define WAITING_MAX 512u

/* Room for the text of a value that the job does not store as a text, until it is in the D-Bus message. */
typedef struct Scratch {
        char text[MAX(SETTING_TEXT_MAX, WAITING_MAX)];
        char **words;
} Scratch;

typedef uint64_t Value_t;
typedef uint32_t Value_u;
typedef bool Value_b;
typedef double Value_d;
typedef const char *Value_s;
typedef char **Value_as;
typedef struct Value_ad {
        const double *numbers;
        size_t n;
} Value_ad;

#define X(type, name, member, changes) typedef Value_##type Value_of_##name;
JOB_PROPERTIES(X)
#undef X

#define VALUE(name) static Value_of_##name value_of_##name(const Job *job, Scratch *scratch)
#define VALUE_IS(name, expression)   \
        VALUE(name) {                \
                return (expression); \
        }

static bool is_of_space(int error) {
        return error == ENOSPC || error == EDQUOT;
}

static void say_wait(char ret[WAITING_MAX], const char *who, int error, const char *where) {
        if (is_of_space(error))
                (void) snprintf(ret, WAITING_MAX, "%s for space in %s (%s)", who, where,
                                ledger_error_words(-error));
        else if (error == ENOMEM)
                (void) snprintf(ret, WAITING_MAX, "%s for memory (%s%s)", who, ledger_error_words(-error),
                                limit_advice(error));
        else
                (void) snprintf(ret, WAITING_MAX, "%s until %s can be written (%s%s)", who, where,
                                ledger_error_words(-error), limit_advice(error));
}

/* Says who must thaw the job. In run mode this is the caller, since only the caller can reach the daemon. */
static void say_frozen(const Job *job, char ret[WAITING_MAX]) {
        if (job->context->mode == DAEMON_RUN)
                (void) snprintf(ret, WAITING_MAX, "it is frozen: the key f lets it go on");
        else
                (void) snprintf(ret, WAITING_MAX, "it is frozen: `actorctl thaw %" PRIu64 "` lets it go on",
                                job->row.id);
}

static bool is_freezing(const Job *job) {
        return job->row.frozen_usec > 0 && job->row.end_wanted == PLAN_END_NOT && job_active(job);
}

/* Why the job waits, such as "12 records and the job's end wait for space in /var/lib/actord (No space left
 * on device)". Empty: it does not wait, or only for a place (MaxJobs=). Returns ret. */
static const char *waiting(const Job *job, char ret[WAITING_MAX]) {
        const JobContext *context = job->context;
        char who[64];
        size_t n;

        ret[0] = '\0';
        if (job->state == JOB_QUEUED && job->row.frozen_usec > 0) {
                say_frozen(job, ret);
                return ret;
        }
        if (job->state == JOB_QUEUED) {
                QuotaNeed need = job_need(job);

                hold_words(&job->hold, &need, ret, WAITING_MAX);
        }
        if (!job_active(job))
                return ret;
        if (job->waits_checkpoint > 0) {
                g_autofree char *where = g_strdup_printf(
                                "%s/jobs/%" PRIu64 "/state", context->state_directory, job->row.id);

                say_wait(ret, "its last checkpoint waits", job->waits_checkpoint, where);
                return ret;
        }
        if (job->was_kept && job_learner_ends(job)) {
                (void) snprintf(ret, WAITING_MAX, "its learner has not finished what it has begun");
                return ret;
        }
        if (job->backoff && !job->search && job->row.fault && job->n_delays + job->progress.n_lacking > 0) {
                (void) snprintf(ret, WAITING_MAX, "it waits to start again: %s", job->row.fault);
                return ret;
        }
        n = ledger_n_pending_of(context->ledger, job->row.id) + (job->has_held ? 1 : 0);
        n += job->link ? plan_link_unread(job->link) : 0;
        if (!context->ledger_blocked || (n == 0 && !job->end.noted))
                return ret;
        if (n == 0)
                (void) snprintf(who, sizeof(who), "the job's end waits");
        else
                (void) snprintf(who, sizeof(who), "%zu record%s%s wait", n, n == 1 ? "" : "s",
                                job->end.noted ? " and the job's end" : "");
        say_wait(ret, who, context->ledger_blocked, context->state_directory);
        return ret;
}

/* clang-format off */
VALUE_IS(Id, job->row.id)
VALUE_IS(UserId, job->row.uid)
VALUE_IS(Description, job->settings.description)
VALUE_IS(Algorithm, choice_algorithm_to_string(job->settings.algorithm))
VALUE_IS(Distribution, choice_distribution_to_string(job_distribution(job, NULL, NULL)))
VALUE_IS(Seed, job->settings.seed)
VALUE_IS(ActorsMax, settings_actors_max(&job->settings))
VALUE_IS(StopSteps, job->settings.stop_steps)
VALUE_IS(PriceSheet, job->settings.price_sheet)
VALUE_IS(Currency, price_sheet_currency(job->sheet))
VALUE_IS(SubmittedUSec, job->row.submitted_usec)
VALUE_IS(State, job_state_word(job))
VALUE_IS(Result, job->row.result)
VALUE_IS(Fault, job->row.fault)
VALUE_IS(StartedUSec, job->row.started_usec)
VALUE_IS(EndedUSec, job->row.ended_usec)
VALUE_IS(Life, job->row.life)
VALUE_IS(Preempted, job->row.n_preempted)
VALUE_IS(FrozenUSec, job->row.frozen_usec)
VALUE_IS(Unit, job->answer.unit)
VALUE_IS(ControlGroup, job->answer.control_group)
VALUE_IS(CPUWeight, job->trade.state.weight)
VALUE_IS(Round, job->progress.round)
VALUE_IS(EnvSteps, job->progress.statistics.n_env_steps)
VALUE_IS(Episodes, job->progress.statistics.n_episodes)
VALUE_IS(Actors, job->progress.n_actors)
VALUE_IS(ReturnMean, job->progress.statistics.return_mean)
VALUE_IS(ReturnRound, job->progress.statistics.return_round)
VALUE_IS(TargetReached, job->progress.target_reached)
VALUE_IS(TargetEnvSteps, job->progress.target_steps)
VALUE_IS(TargetWallNSec, job->progress.target_wall_nsec)
VALUE_IS(WallNSec, job->progress.usage.wall_nsec)
VALUE_IS(EmulatedNSec, job->progress.usage.emulated_nsec)
VALUE_IS(CPUActorsNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_ACTORS))
VALUE_IS(CPULearnerNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_LEARNER))
VALUE_IS(CPUControlNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_CONTROL))
VALUE_IS(CPUStartupNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_STARTUP))
VALUE_IS(CPULostNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_LOST))
VALUE_IS(CPUNodesNSec, usage_cpu_nsec(&job->progress.usage, CPU_USE_NODES))
VALUE_IS(NodesUp, job->progress.nodes.n_up)
VALUE_IS(NodesMax, job->progress.nodes.n_max)
VALUE_IS(NodesLost, job->progress.nodes.n_lost)
VALUE_IS(NodesNSec, job->progress.nodes.allocated_nsec)
VALUE_IS(NodesIdleNSec, job->progress.nodes.use.idle_nsec)
VALUE_IS(NodesWaitedNSec, job->progress.nodes.use.waited_nsec)
VALUE_IS(NodesSentBytes, job->progress.nodes.use.sent_bytes)
VALUE_IS(NodesReceivedBytes, job->progress.nodes.use.received_bytes)
VALUE_IS(CPUScopeNSec, progress_scope_cpu_nsec(&job->progress))
VALUE_IS(LivesUnmetered, job->progress.n_lives_unmetered)
VALUE_IS(InvocationsTotal, job->progress.usage.n_invocations)
VALUE_IS(InvocationsCold, job->progress.usage.n_cold)
VALUE_IS(InvocationsWarm, job->progress.usage.n_warm)
VALUE_IS(InvocationsRetried, job->progress.usage.n_retried)
VALUE_IS(EvaluationDeviation, progress_evaluation_deviation(&job->progress))
VALUE_IS(EvaluationEpisodes, job->progress.n_evaluations)
/* clang-format on */

VALUE(RecordsFault) {
        if (job->records_error > 0)
                (void) snprintf(scratch->text, sizeof(scratch->text),
                                "its records cannot be read from the ledger (%s%s), so its figures are "
                                "unknown; actord tries again at each call",
                                ledger_error_words(-job->records_error), limit_advice(job->records_error));
        return scratch->text;
}

VALUE(DistributionReason) {
        const char *why;

        (void) job_distribution(job, NULL, &why);
        return why;
}

VALUE(Waiting) {
        (void) waiting(job, scratch->text);
        if (!scratch->text[0] && is_freezing(job))
                (void) snprintf(scratch->text, WAITING_MAX,
                                "it is being frozen: it ends the round in flight and writes a checkpoint");
        return scratch->text;
}

VALUE(Environment) {
        audience_print(&job->settings, SETTING_Job_Environment, scratch->text);
        return scratch->text;
}

VALUE(ScalingPolicy) {
        audience_print(&job->settings, SETTING_Scaling_Policy, scratch->text);
        return scratch->text;
}

/* If the number of actors is fixed, the value is this number. */
VALUE(ActorsMin) {
        return job->settings.scheduler.kind == SCHEDULER_FIXED ? job->settings.n_actors
                                                               : job->settings.n_actors_min;
}

VALUE(SandboxLevel) {
        if (!job->progress.started && job->progress.round == 0)
                return "";
        return sandbox_level_to_string(job->progress.level);
}

VALUE(LimitsNotEnforced) {
        return scratch->words = job_limits_missing(job);
}

VALUE(Shares) {
        (void) setting_print(&job->settings, SETTING_Scaling_Shares, scratch->text);
        return scratch->text;
}

VALUE(PolicySHA256) {
        static_assert(sizeof(scratch->text) > 2 * sizeof(job->row.policy_sha256), "a digest is a text");

        hex_print(job->row.policy_sha256, job->row.has_policy ? sizeof(job->row.policy_sha256) : 0,
                        scratch->text);
        return scratch->text;
}

VALUE(Nodes) {
        return scratch->words = node_list_words(&job->progress.nodes);
}

VALUE(MetricNames) {
        const Progress *p = &job->progress;

        scratch->words = g_new0(char *, p->n_metrics + 1);
        for (uint32_t i = 0; i < p->n_metrics; i++)
                scratch->words[i] = g_strdup(p->metric_names[i]);
        return scratch->words;
}

VALUE(MetricMeans) {
        return (Value_ad){ job->progress.metrics, job->progress.n_metrics };
}

VALUE(EvaluationMetricMeans) {
        return (Value_ad){ job->progress.evaluation_metrics, job->progress.n_metrics };
}

VALUE(NodesCost) {
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        return bill_of_nodes(&bill);
}

VALUE(CostPaper) {
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        return bill.paper;
}

VALUE(CostFull) {
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        return bill.full;
}

VALUE(EvaluationMean) {
        return job->progress.n_evaluations > 0 ? job->progress.evaluation_mean : NAN;
}

/* Numbers of type d are figures from the job's records. Other types have no value for "unknown": see
 * RecordsFault. */
#define KNOWN_d(job, value)  ((job)->records_error == 0 ? (value) : NAN)
#define KNOWN_t(job, value)  (value)
#define KNOWN_u(job, value)  (value)
#define KNOWN_b(job, value)  (value)
#define KNOWN_s(job, value)  (value)
#define KNOWN_as(job, value) (value)
#define KNOWN_ad(job, value) (value)

static int append_t(sd_bus_message *reply, Value_t value) {
        return sd_bus_message_append(reply, "t", value);
}

static int append_u(sd_bus_message *reply, Value_u value) {
        return sd_bus_message_append(reply, "u", value);
}

static int append_b(sd_bus_message *reply, Value_b value) {
        return sd_bus_message_append(reply, "b", (int) value);
}

static int append_d(sd_bus_message *reply, Value_d value) {
        return sd_bus_message_append(reply, "d", value);
}

static int append_s(sd_bus_message *reply, Value_s value) {
        return sd_bus_message_append(reply, "s", value ? value : "");
}

static int append_as(sd_bus_message *reply, Value_as value) {
        return sd_bus_message_append_strv(reply, value);
}

static int append_ad(sd_bus_message *reply, Value_ad value) {
        return sd_bus_message_append_array(reply, 'd', value.numbers, value.n * sizeof(double));
}

#define X(type, name, member, changes)                                                                      \
        int job_property_get_##name(sd_bus *bus, const char *path, const char *interface,                   \
                        const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) { \
                const Job *job = userdata;                                                                  \
                Scratch scratch = {};                                                                       \
                int r = append_##type(reply, KNOWN_##type(job, value_of_##name(job, &scratch)));            \
                                                                                                            \
                g_strfreev(scratch.words);                                                                  \
                return r;                                                                                   \
        }
JOB_PROPERTIES(X)
#undef X

/* Lists the names of the properties that change with the job's state, and of the properties that change in
 * each round. */
#define TAKE_(name)          #name,
#define STATE_OF_STATE(name) TAKE_(name)
#define STATE_OF_ROUND(name)
#define STATE_OF_NEVER(name)
#define ROUND_OF_STATE(name)
#define ROUND_OF_ROUND(name) TAKE_(name)
#define ROUND_OF_NEVER(name)

const char *const job_state_properties[] = {
#define X(type, name, member, changes) STATE_OF_##changes(name)
        JOB_PROPERTIES(X)
#undef X
                        NULL,
};

const char *const job_round_properties[] = {
#define X(type, name, member, changes) ROUND_OF_##changes(name)
        JOB_PROPERTIES(X)
#undef X
                        NULL,
};
