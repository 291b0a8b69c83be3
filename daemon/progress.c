/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a job's progress from its records. Nothing here waits or logs, and no number from an untrusted
 * process decides how much memory is allocated. */
#include "daemon/progress.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "include/plan.h"
#include "include/sandbox.h"
#include "lib/limits.h"
#include "lib/saturate.h"
#include "lib/slot.h"
#include "lib/statistics.h"
#include "lib/string-tables.h"

void progress_init(Progress *progress) {
        assert(progress);

        *progress = (Progress){
                .statistics = { .return_mean = NAN, .return_round = NAN },
                .evaluation_mean = NAN,
                .evaluation_sd = NAN,
                .curve_stride = 1,
        };
        for (uint32_t i = 0; i < ACTORD_METRICS_MAX; i++)
                progress->metrics[i] = progress->evaluation_metrics[i] = NAN;
}

void progress_done(Progress *progress) {
        assert(progress);

        free(progress->curve);
        progress_init(progress);
}

static Accrual accrued(const Progress *p, const PriceSheet *sheet, const JobSettings *settings) {
        const Usage *u = &p->usage;
        const Account *startup = &u->accounts[CHARGE_INITIALISATION];
        Bill bill;

        bill_make(u, sheet, settings, &bill);
        return (Accrual){
                .wall_s = (double) u->wall_nsec / 1e9,
                .emulated_s = (double) u->emulated_nsec / 1e9,
                .learner_s = (double) p->learner_emulated_nsec / 1e9,
                .startup_s = ((double) startup->billed_nsec[SHARE_ACTOR] +
                                             (double) startup->billed_nsec[SHARE_LEARNER]) /
                             1e9,
                .cpu_actors_s = (double) usage_cpu_nsec(u, CPU_USE_ACTORS) / 1e9,
                .cpu_learner_s = (double) usage_cpu_nsec(u, CPU_USE_LEARNER) / 1e9,
                .cpu_control_s = (double) usage_cpu_nsec(u, CPU_USE_CONTROL) / 1e9,
                .cpu_startup_s = (double) usage_cpu_nsec(u, CPU_USE_STARTUP) / 1e9,
                .cost_paper = bill.paper,
                .cost_full = bill.full,
                .cost_evaluation = bill.evaluation,
        };
}

static void add_curve(Progress *p, const PriceSheet *sheet, const JobSettings *settings) {
        if (!p->curve)
                p->curve = calloc(PROGRESS_CURVE_MAX, sizeof(ProgressPoint));
        if (!p->curve)
                return; /* a job goes on without its curve if there is no memory */

        /* A new life of the job starts at the round of its checkpoint, and the repeated rounds replace the
         * earlier ones. */
        while (p->n_curve > 0 && p->curve[p->n_curve - 1].round >= p->round)
                p->n_curve--;
        if (p->round % p->curve_stride != 0)
                return;

        if (p->n_curve == PROGRESS_CURVE_MAX) {
                size_t n = 0;

                p->curve_stride *= 2;
                for (size_t i = 0; i < p->n_curve; i++)
                        if (p->curve[i].round % p->curve_stride == 0)
                                p->curve[n++] = p->curve[i];
                p->n_curve = n;
                if (p->round % p->curve_stride != 0)
                        return;
        }
        p->curve[p->n_curve++] = (ProgressPoint){ p->round, accrued(p, sheet, settings) };
}

static void round_clear(Progress *p) {
        p->n_rollouts = p->rollouts_nsec = p->slowest_nsec = p->update_nsec = 0;
}

/* Fills in the facts of a round that a scheduler may know, from the round's records alone. An evaluation
 * changes none of them but the budget that is left. */
static void add_facts(
                Progress *p, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        uint64_t cost = p->usage.round_start_nano, budget = settings->budget.nano;
        uint64_t left = budget > cost ? budget - cost : 0;
        double before = p->training_cost;
        Bill bill;

        bill_make(&p->usage, sheet, settings, &bill);
        p->training_cost = bill.training;
        p->facts = (RoundFacts){
                .n_actors = record->decision.n_actors,
                .learner_nsec = p->update_nsec,
                .actor_mean_nsec = p->n_rollouts > 0 ? p->rollouts_nsec / p->n_rollouts : 0,
                .actor_slowest_nsec = p->slowest_nsec,
                .round_nsec = record->emulated_round_nsec,
                .cost_nano = saturate_double(ceil((bill.training - before) * 1e9)),
                .budget_left_nano = settings_present(settings, SETTING_Job_Budget) ? left : UINT64_MAX,
        };
        round_clear(p);
}

static void add_rollout(Progress *p, const Record *record) {
        if (record->wasted)
                return;
        p->n_rollouts++;
        p->rollouts_nsec += record->metered.emulated_nsec;
        if (record->metered.emulated_nsec > p->slowest_nsec)
                p->slowest_nsec = record->metered.emulated_nsec;
}

static void take_evaluation(Progress *p, const Record *record) {
        Statistics statistics = record->statistics;

        p->evaluation_mean = statistics.evaluation_mean;
        p->evaluation_sd = statistics.evaluation_sd;
        memcpy(p->evaluation_metrics, statistics_metrics(&statistics, true), sizeof(p->evaluation_metrics));
}

/* Whether the job has reached a StopReturn=. The invoker tests the same at the end of the round
 * (invoker/finish.c), on the same numbers. Comparisons with NaN are false. */
static bool reaches_target(const JobSettings *settings, const Statistics *statistics) {
        return (settings_present(settings, SETTING_Job_StopReturn) &&
                               statistics->return_mean >= settings->stop_return) ||
               (settings_present(settings, SETTING_Evaluation_StopReturn) &&
                               statistics->evaluation_mean >= settings->evaluation_stop_return);
}

static void add_round(
                Progress *p, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        /* The record is from an earlier life, after that life's last checkpoint, so its work has been
         * repeated. */
        if (record->wasted)
                return;

        p->statistics = record->statistics;
        p->round = record->round;
        p->n_actors = record->decision.n_actors;
        /* The episodes were added up in the order of their arrival. The round's record has the sum in the
         * order of their numbers, which is rounded in the same way in every run. */
        if (isfinite(record->statistics.evaluation_mean))
                take_evaluation(p, record);
        for (uint32_t i = 0; i < p->n_metrics; i++)
                if (isfinite(statistics_metrics(&p->statistics, false)[i]))
                        p->metrics[i] = statistics_metrics(&p->statistics, false)[i];

        if (!p->target_reached && reaches_target(settings, &record->statistics)) {
                p->target_reached = true;
                p->target_steps = record->statistics.n_env_steps;
                p->target_wall_nsec = p->usage.wall_nsec;
        }

        add_curve(p, sheet, settings);
}

/* Adds an episode's metrics to the means of its evaluation. */
static void add_evaluation_metrics(Progress *p, const Record *record) {
        Statistics statistics = record->statistics;

        for (uint32_t i = 0; i < p->n_metrics; i++) {
                double x = statistics_metrics(&statistics, true)[i], *mean = &p->evaluation_metrics[i];

                if (!isfinite(x))
                        continue;
                if (p->n_evaluation_metrics[i]++ == 0)
                        *mean = 0;
                *mean += (x - *mean) / (double) p->n_evaluation_metrics[i];
        }
}

static void add_evaluation(Progress *p, const Record *record) {
        double x = record->statistics.evaluation_mean, before;

        if (record->wasted || !isfinite(x))
                return;

        if (record->life != p->evaluation_life || record->round != p->evaluation_round) {
                p->evaluation_life = record->life;
                p->evaluation_round = record->round;
                p->n_evaluations = 0;
                p->evaluation_squares = 0;
                for (uint32_t i = 0; i < ACTORD_METRICS_MAX; i++) {
                        p->n_evaluation_metrics[i] = 0;
                        p->evaluation_metrics[i] = NAN;
                }
        }
        p->evaluation_sd = NAN;
        before = p->n_evaluations == 0 ? 0 : p->evaluation_mean;
        p->n_evaluations++;
        p->evaluation_mean = before + (x - before) / (double) p->n_evaluations;
        p->evaluation_squares += (x - before) * (x - p->evaluation_mean);
        add_evaluation_metrics(p, record);
}

/* Adds the result of an evaluation that ended after the record of its round. */
static void add_evaluated(Progress *p, const Record *record) {
        if (record->wasted)
                return;

        take_evaluation(p, record);
        if (p->round == record->round)
                statistics_copy_evaluation(&record->statistics, &p->statistics);
}

static void add_scope(Progress *p, const Record *record) {
        p->scope_cpu_nsec = saturating_add(p->scope_cpu_nsec, record->scope_cpu_nsec);
        if (record->scope_cpu_nsec == 0)
                p->scope_unknown = true;
}

bool progress_lacked(const Progress *p) {
        int error = 0;

        assert(p);

        if (p->closed_life == 0 || p->closed_life == p->life)
                return false;
        if (p->lost)
                return limit_is_of_host(p->lost_error);
        if (!p->ended || p->end != PLAN_END_FAILED || p->end_actor != UINT32_MAX)
                return false;
        if (p->end_fault == FAULT_INTERNAL || p->end_fault == FAULT_CHECKPOINT)
                error = p->end_detail;
        else if (p->end_fault == FAULT_EXITED)
                error = limit_exit_error(p->end_detail);
        return limit_is_of_host(error);
}

static void count_lack(Progress *p) {
        if (p->life > p->checkpoint_life && progress_lacked(p))
                p->n_lacking++;
}

/* Adds the usage of a killed life. A scheduler does not see this usage, since its decisions must not depend
 * on accidents. The budget includes the usage, since the money was spent. */
static void add_lost(
                Progress *p, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Usage alone = {};
        Bill bill;

        p->lost = true;
        p->lost_error = record->fault == FAULT_INTERNAL ? record->detail : 0;
        count_lack(p);
        add_scope(p, record);
        if (record->scope_cpu_nsec == 0)
                p->n_lives_unmetered++;
        usage_add(&alone, sheet, settings, record);
        bill_make(&alone, sheet, settings, &bill);
        p->training_cost += bill.training;
}

static void add_ended(Progress *p, const Record *record) {
        p->ended = true;
        p->end = record->end;
        p->end_fault = record->fault;
        p->end_detail = record->detail;
        p->end_actor = record->actor;
        count_lack(p);
        add_scope(p, record);
        for (size_t i = 0; i < sizeof(record->sha256); i++)
                if (record->sha256[i] != 0)
                        p->has_policy = true;
        memcpy(p->policy_sha256, record->sha256, sizeof(p->policy_sha256));
}

/* Adds the name of an environment's metric. Each life of the job reports all names. An invalid name and all
 * names after it are left out. */
static void add_metric(Progress *p, const Record *record) {
        uint64_t i = record->ordinal;

        if (i == 0)
                p->n_metrics = 0;
        if (i != p->n_metrics || i >= ACTORD_METRICS_MAX ||
                        !metric_name_possible((const char *) record->sha256))
                return;
        memcpy(p->metric_names[i], record->sha256, sizeof(p->metric_names[i]));
        p->n_metrics++;
}

static void add_worker(Progress *p, const Record *record) {
        const char *name = (const char *) record->sha256;

        static_assert(sizeof(record->sha256) == sizeof(p->missing_package), "a name fits");
        if (record->fault == FAULT_LOAD && record->detail == ENOPKG && package_name_possible(name))
                memcpy(p->missing_package, name, sizeof(p->missing_package));
}

void progress_add(Progress *p, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        assert(p);
        assert(sheet);
        assert(settings);
        assert(record);

        if (record->life != p->life) {
                p->life = record->life;
                p->started = p->ended = p->lost = p->has_policy = false;
                p->life_cpu_nsec = 0;
                node_list_clear(&p->nodes);
                round_clear(p);
        }
        /* The records are compared with the job's cgroup, which does not count actors on nodes. */
        if (record->node == 0)
                p->life_cpu_nsec = saturating_add(p->life_cpu_nsec, record->metered.cpu_nsec);
        usage_add(&p->usage, sheet, settings, record);
        distribution_measure(&p->distribution, settings, record);
        estimates_add(&p->estimates, sheet, settings, record);

        switch (record->kind) {
        case RECORD_STARTED:
                p->started = true;
                p->level = record->level;
                p->limits_missing = record->limits_missing;
                break;
        case RECORD_ROLLOUT: add_rollout(p, record); break;
        case RECORD_UPDATE:
                p->learner_emulated_nsec += record->metered.emulated_nsec;
                if (!record->wasted)
                        p->update_nsec = record->metered.emulated_nsec;
                break;
        case RECORD_ROUND:
                p->closed_life = record->life;
                add_facts(p, sheet, settings, record);
                add_round(p, sheet, settings, record);
                break;
        case RECORD_EVALUATION: add_evaluation(p, record); break;
        case RECORD_EVALUATED: add_evaluated(p, record); break;
        case RECORD_FAULT:
                p->faults[p->n_faults++ % PROGRESS_FAULTS_KEPT] = (ProgressFault){
                        .life = record->life,
                        .seq = record->seq,
                        .round = record->round,
                        .actor = record->actor,
                        .fault = record->fault,
                        .detail = record->detail,
                };
                break;
        case RECORD_ENDED: add_ended(p, record); break;
        case RECORD_METRIC: add_metric(p, record); break;
        case RECORD_NODE: node_list_add(&p->nodes, record); break;
        case RECORD_LOST: add_lost(p, sheet, settings, record); break;
        case RECORD_WORKER: add_worker(p, record); break;
        case RECORD_POOL: break;
        case RECORD_CHECKPOINT:
                /* A damaged checkpoint does not count as progress: if all checkpoints of a job's lives are
                 * damaged, the job must end. */
                if (record->fault == FAULT_NONE && !record->wasted) {
                        p->checkpoint_life = record->life;
                        p->n_lacking = 0;
                }
                break;
        }
}

Accrual progress_at(const Progress *progress, uint64_t round) {
        ProgressPoint before = {};

        assert(progress);

        for (size_t i = 0; i < progress->n_curve && before.round < round; i++) {
                ProgressPoint at = progress->curve[i];

                if (at.round > round) {
                        double share = (double) (round - before.round) / (double) (at.round - before.round);

#define X(name) before.accrual.name += share * (at.accrual.name - before.accrual.name);
                        ACCRUALS(X)
#undef X
                        break;
                }
                before = at;
        }
        return before.accrual;
}

uint64_t progress_scope_cpu_nsec(const Progress *progress) {
        assert(progress);

        return (progress->ended || progress->lost) && !progress->scope_unknown ? progress->scope_cpu_nsec
                                                                               : 0;
}

double progress_evaluation_deviation(const Progress *progress) {
        assert(progress);

        if (progress->n_evaluations < 2)
                return NAN;
        if (isfinite(progress->evaluation_sd))
                return progress->evaluation_sd;
        return sqrt(progress->evaluation_squares / (double) (progress->n_evaluations - 1));
}

/* Whether an environment caused the fault. Such a fault is an actor's even if no actor is named, since the
 * learner has no environment. */
static bool is_actors_fault(uint32_t fault) {
        return fault == FAULT_LOAD || fault == FAULT_SPEC || fault == FAULT_ENVIRONMENT ||
               fault == FAULT_OBSERVATION || fault == FAULT_ACTION || fault == FAULT_REWARD ||
               fault == FAULT_LENGTHS || fault == FAULT_ACTIVE || fault == FAULT_CHANGED;
}

/* The end of a sentence that says what a learner's exit status means; "": the status has no meaning of its
 * own. */
static const char *describe_exit(int status, char ret[256]) {
        int error = limit_exit_error(status);

        if (status == EXIT_LOADER)
                return ": it could not load a library, which its own message names: install it, or "
                       "raise the limit of memory (RLIMIT_AS: ulimit -v)";
        if (error == 0)
                return "";
        (void) snprintf(ret, 256, ": %s%s", strerrordesc_np(error), limit_advice(error));
        return ret;
}

char *fault_sentence_of(uint32_t actor, uint32_t fault, int32_t detail, char ret[320]) {
        const char *who = is_actors_fault(fault) ? "an actor" : "the learner";
        char what[256], why[256] = "";

        assert(ret);

        (void) fault_describe(fault, detail, what);
        if (actor == UINT32_MAX && fault == FAULT_INTERNAL)
                (void) snprintf(ret, 320, "the job %s", what); /* an error of its invoker or of a learner */
        else if (actor == UINT32_MAX && fault == FAULT_EXITED)
                (void) snprintf(ret, 320, "%s %.60s%.200s", who, what, describe_exit(detail, why));
        else if (actor == UINT32_MAX && fault == FAULT_TIMEOUT)
                (void) snprintf(ret, 320, "%s did not answer within [Learner] TimeoutSec= (%d s)", who,
                                detail);
        else if (actor == UINT32_MAX)
                (void) snprintf(ret, 320, "%s %s", who, what);
        else
                (void) snprintf(ret, 320, "actor %u %s", actor, what);
        return ret;
}

char *progress_end_sentence(const Progress *progress, char ret[320]) {
        size_t n;

        assert(progress);
        assert(ret);

        (void) fault_sentence_of(progress->end_actor, progress->end_fault, progress->end_detail, ret);
        n = strlen(ret);
        if (progress->end_fault == FAULT_LOAD && progress->end_detail == ENOPKG &&
                        progress->missing_package[0])
                (void) snprintf(ret + n, 320 - n, ": %.*s", (int) PACKAGE_NAME_BYTES,
                                progress->missing_package);
        return ret;
}

void waste_map_done(WasteMap *map) {
        assert(map);

        free(map->checkpoint_rounds);
        *map = (WasteMap){};
}

int waste_map_add(WasteMap *map, const Record *record) {
        uint64_t *grown;

        assert(map);
        assert(record);

        if (record->life == 0 || record->life > WASTE_LIVES_MAX)
                return -ERANGE;

        if (record->life > map->n_lives) {
                grown = reallocarray(map->checkpoint_rounds, record->life, sizeof(uint64_t));
                if (!grown)
                        return -ENOMEM;
                for (uint64_t i = map->n_lives; i < record->life; i++)
                        grown[i] = i > 0 ? grown[i - 1] : 0;
                map->checkpoint_rounds = grown;
                map->n_lives = record->life;
        }
        if (record->kind == RECORD_CHECKPOINT && record->fault == FAULT_NONE && !record->wasted)
                map->checkpoint_rounds[record->life - 1] = record->round;
        return 0;
}

bool waste_map_is_waste(const WasteMap *map, uint64_t current_life, const Record *record) {
        assert(map);
        assert(record);

        return record->life > 0 && record->life < current_life && record->life <= map->n_lives &&
               record->round > map->checkpoint_rounds[record->life - 1];
}
