/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes records. Their numbers come from meters and clocks, except the learner's statistics and the costs
 * of nodes. The emulated time of an invocation or update is computed here; the daemon and its clients just
 * add it up. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "invoker/learner.h"
#include "invoker/pool.h"
#include "invoker/report.h"
#include "lib/boottime.h"
#include "lib/clock.h"
#include "lib/saturate.h"
#include "lib/slot.h"
#include "lib/statistics.h"

static void report_append(Reporter *reporter, Record *record) {
        int r;

        if (record->round == 0)
                record->round = reporter->progress->number;
        r = spool_append(&reporter->spool, record);
        assert(r >= 0); /* spool_reserve() made room for the records of any event */
        (void) r;
}

/* The emulated time of an invocation. An actor holds its memory while it sleeps, so its sleep is added. A
 * smaller share of a CPU does not lengthen sleep. */
static uint64_t invocation_nsec(const Reporter *reporter, uint64_t cpu_nsec, uint64_t slept_nsec,
                uint64_t n_steps, bool cold) {
        return saturating_add(clock_invocation_nsec(reporter->place->settings, cpu_nsec, n_steps, cold),
                        slept_nsec);
}

void report_started(Reporter *reporter) {
        Record record = {
                .kind = RECORD_STARTED,
                .actor = ACTOR_NONE,
                .level = reporter->place->level,
                .limits_missing = reporter->place->missing,
                .metered = {
                        .start_nsec = reporter->started_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = storm_take_control(reporter) + reporter->spare_nsec,
                },
        };

        reporter->spare_nsec = 0;
        report_append(reporter, &record);
}

void report_metrics(Reporter *reporter) {
        const ActordEnvSpec *spec = &reporter->place->page->spec;

        for (uint32_t i = 0; i < spec->n_metrics; i++) {
                Record record = { .kind = RECORD_METRIC, .actor = ACTOR_NONE, .ordinal = i };

                memcpy(record.sha256, spec->metrics[i], sizeof(spec->metrics[i]));
                report_append(reporter, &record);
        }
}

/* Adds the name of a missing package. An actor wrote the name into its page, so the name is checked. An
 * actor on a node has its page there, so the name stays unknown. */
static void add_missing_package(Record *record, const Worker *worker) {
        char name[PACKAGE_NAME_BYTES] = "";

        if (record->fault != FAULT_LOAD || record->detail != ENOPKG || worker->node > 0)
                return;
        memcpy(name, worker->page->spec.name, sizeof(name));
        if (package_name_possible(name))
                memcpy(record->sha256, name, strlen(name));
}

void report_worker(Reporter *reporter, Worker *worker, uint32_t index, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail) {
        const JobSettings *settings = reporter->place->settings;
        bool learner = index == ACTOR_LEARNER;
        uint64_t reserved_bytes = learner ? settings->learner_memory_max_bytes : settings->memory_max_bytes;
        Record record = {
                .kind = RECORD_WORKER,
                .actor = index,
                .wasted = fault != FAULT_NONE,
                .fault = fault,
                .detail = detail,
                .node = worker->node,
                .metered = {
                        .start_nsec = worker->born_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&worker->meter),
                        .memory_reserved_bytes = reserved_bytes,
                        /* An actor's start-up is part of its first invocation (ColdStartSec=). */
                        .emulated_nsec = learner ? clock_update_nsec(settings, cpu_nsec, 0) : 0,
                },
        };

        add_missing_package(&record, worker);
        report_append(reporter, &record);
}

void report_rollout(Reporter *reporter, uint32_t actor, uint32_t fault, int32_t detail, bool wasted) {
        Seat *seat = &reporter->progress->round->seats[actor];
        bool model = reporter->place->settings->clock == CLOCK_MODEL;
        /* Under Clock=model the repetition of a failed attempt is as warm as the attempt was, although its
         * container starts anew. This start is billed here. */
        bool cold = seat->cold || (model && fault != FAULT_NONE);
        Record record = {
                .kind = RECORD_ROLLOUT,
                .round = reporter->progress->round->number,
                .actor = actor,
                .ordinal = seat->ordinal,
                .attempt = seat->attempts.n,
                .cold = cold,
                .wasted = wasted,
                .fault = fault,
                .detail = detail,
                .node = seat->node,
        };

        seat->metered.n_steps = (uint64_t) reporter->place->page->segment.envs *
                                reporter->place->page->segment.steps;
        seat->metered.memory_reserved_bytes = reporter->place->settings->memory_max_bytes;
        seat->metered.emulated_nsec = invocation_nsec(
                        reporter, seat->metered.cpu_nsec, seat->slept_nsec, seat->metered.n_steps, cold);
        record.metered = seat->metered;
        report_append(reporter, &record);

        /* Clock=model counts only the attempt that is accepted: a scheduler's input must not depend on
         * accidents. */
        if (wasted && !model)
                seat->emulated_nsec += seat->metered.emulated_nsec;
}

/* The round for which a container works. For an evaluating container this is the round that it measures, for
 * other containers the present round. 0: there is none yet. */
static uint64_t round_of(const Reporter *reporter, uint32_t actor) {
        if (actor >= reporter->place->n_actors && actor != ACTOR_NONE)
                return reporter->progress->evaluation.round;
        return reporter->progress->round ? reporter->progress->round->number : 0;
}

void report_fault(Reporter *reporter, uint32_t actor, uint32_t attempt, uint32_t fault, int32_t detail) {
        const Progress *progress = reporter->progress;
        Record record = {
                .kind = RECORD_FAULT,
                .round = round_of(reporter, actor),
                .actor = actor,
                .attempt = attempt,
                .fault = fault,
                .detail = detail,
                .end = progress->phase == PHASE_ENDING ? progress->ending.end : PLAN_END_NOT,
        };

        record.metered.start_nsec = record.metered.end_nsec = clock_boottime();
        report_append(reporter, &record);
}

void report_pool(Reporter *reporter, Container *c, uint64_t cpu_nsec) {
        Record record = {
                .kind = RECORD_POOL,
                .actor = container_number(reporter->place, c),
                .node = c->worker.node,
                .metered = {
                        .start_nsec = c->parked_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&c->worker.meter),
                        .memory_reserved_bytes = reporter->place->settings->memory_max_bytes,
                        .emulated_nsec = reporter->progress->emulated_nsec - c->parked_emulated_nsec,
                },
        };

        c->parked_nsec = record.metered.end_nsec;
        c->parked_emulated_nsec = reporter->progress->emulated_nsec;
        report_append(reporter, &record);
}

void report_evaluation(Reporter *reporter, Container *c, const Answer *answer, uint64_t cpu_nsec,
                uint32_t fault, int32_t detail) {
        uint64_t n_steps = answer ? answer->n_steps : 0;
        Record record = {
                .kind = RECORD_EVALUATION,
                .round = reporter->progress->evaluation.round,
                /* Containers that evaluate are numbered after the actors that train. */
                .actor = container_plays_as(reporter->place, c),
                .ordinal = c->episode,
                .attempt = c->plays.n,
                .cold = c->fresh,
                .wasted = !answer,
                .fault = fault,
                .detail = detail,
                .node = c->worker.node,
                .metered = {
                        .start_nsec = c->worker.ordered_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&c->worker.meter),
                        .memory_reserved_bytes = reporter->place->settings->memory_max_bytes,
                        .emulated_nsec = invocation_nsec(
                                        reporter, cpu_nsec, c->worker.slept.nsec, n_steps, c->fresh),
                        .n_steps = n_steps,
                },
                .statistics = reporter->progress->evaluation.statistics,
        };

        record.statistics.evaluation_mean = answer ? answer->episode_return : NAN;
        for (uint32_t i = 0; i < ACTORD_METRICS_MAX; i++)
                statistics_metrics(&record.statistics, true)[i] =
                                answer && i < reporter->place->page->spec.n_metrics ? answer->metrics[i]
                                                                                    : NAN;
        report_append(reporter, &record);
}

/* Records the update of one learner; several learners divide the rows. Returns its emulated time. */
static uint64_t report_update(Reporter *reporter, Learners *learners, uint32_t k) {
        const SegmentLayout *l = &reporter->place->page->segment;
        Worker *learner = &learners->workers[k];
        /* If the learner also acts, its meter was read just before, to divide its use among the actors. */
        uint64_t used_nsec = place_fuses(reporter->place) ? 0 : meter_take(&learner->meter);
        uint64_t cpu_nsec = used_nsec + learners->acting_nsec;
        uint64_t slowest_nsec = learners->slowest_nsec[k];
        uint64_t *credit_nsec = &learners->credit_nsec[k];
        Record record = {
                .kind = RECORD_UPDATE,
                .round = reporter->progress->round->number,
                .actor = ACTOR_LEARNER,
                .ordinal = reporter->progress->round->number - 1,
                .metered = {
                        .start_nsec = reporter->progress->update_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&learner->meter),
                        .memory_reserved_bytes = reporter->place->settings->learner_memory_max_bytes,
                },
        };

        learners->acting_nsec = 0;
        /* The learner's claim counts only up to the CPU time that the kernel has counted. The two are
         * compared over all updates, since a single reading may lag by a tick. */
        *credit_nsec += cpu_nsec;
        if (slowest_nsec > *credit_nsec || slowest_nsec == 0)
                slowest_nsec = *credit_nsec;
        *credit_nsec -= slowest_nsec;
        record.metered.emulated_nsec = clock_update_nsec(reporter->place->settings, slowest_nsec,
                        (uint64_t) reporter->progress->round->n_rollouts * l->envs * l->steps /
                                        reporter->place->n_learners);
        report_append(reporter, &record);
        return record.metered.emulated_nsec;
}

uint64_t report_learned(Reporter *reporter, Learners *learners) {
        uint64_t update_nsec = 0;

        for (uint32_t a = 0; a < reporter->place->n_actors; a++)
                if (reporter->progress->round->seats[a].state == SEAT_TAKEN)
                        report_rollout(reporter, a, FAULT_NONE, 0, false);
        for (uint32_t k = reporter->place->n_learners; k-- > 0;) {
                uint64_t nsec = report_update(reporter, learners, k);

                update_nsec = nsec > update_nsec ? nsec : update_nsec;
        }
        return update_nsec;
}

void report_round(Reporter *reporter, uint32_t end) {
        Record record = {
                .kind = RECORD_ROUND,
                .round = reporter->progress->round->number,
                .actor = reporter->progress->taken,
                .end = end,
                .decision = {
                        .id = reporter->progress->decision.id,
                        .n_actors = reporter->progress->decision.n_actors,
                        /* ACTOR_NONE + 1 is 0, which means all actors. */
                        .taken = reporter->progress->taken + 1,
                },
                .emulated_round_nsec = reporter->progress->emulated_round_nsec,
                .use.waited_nsec = reporter->progress->waited_nsec,
                .statistics = reporter->progress->statistics,
        };

        record.metered.start_nsec = reporter->progress->round_nsec;
        record.metered.end_nsec = clock_boottime();
        record.metered.cpu_nsec = storm_take_control(reporter);
        report_append(reporter, &record);
}

void report_evaluated(Reporter *reporter, const Statistics *statistics) {
        Record record = {
                .kind = RECORD_EVALUATED,
                .round = reporter->progress->evaluation.round,
                .actor = ACTOR_NONE,
                .ordinal = reporter->progress->evaluation.closed_seq,
                .metered = { .start_nsec = reporter->progress->evaluation.started_nsec,
                                .end_nsec = clock_boottime() },
                .statistics = *statistics,
        };

        report_append(reporter, &record);
}

void report_checkpoint(Reporter *reporter, Worker *learner, const Answer *answer) {
        Record record = {
                .kind = RECORD_CHECKPOINT,
                .actor = ACTOR_LEARNER,
                .fault = FAULT_NONE,
                .statistics = reporter->progress->statistics,
                .metered = {
                        .start_nsec = learner->ordered_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = meter_take(&learner->meter),
                        .memory_peak_bytes = meter_peak(&learner->meter),
                        .memory_reserved_bytes = reporter->place->settings->learner_memory_max_bytes,
                },
        };

        memcpy(record.sha256, answer->file_sha256, sizeof(record.sha256));
        report_append(reporter, &record);
}

void report_node(Reporter *reporter, const NodeNews *news) {
        Record record = {
                .kind = RECORD_NODE,
                .actor = ACTOR_NONE,
                .ordinal = news->number,
                .detail = (int32_t) news->kind,
        };

        record.metered.start_nsec = record.metered.end_nsec = clock_boottime();
        if (news->kind == CLUSTER_COST || news->kind == CLUSTER_LOST || news->kind == CLUSTER_GONE) {
                record.metered.emulated_nsec = news->rest.allocated_nsec;
                record.use = news->rest.use;
                record.use.billing_milli = saturate_double(news->cost.billing * 1000);
                record.metered.memory_reserved_bytes = news->cost.memory_bytes;
                record.n_cpus = news->cost.n_cpus;
        }
        memcpy(record.sha256, news->words, sizeof(record.sha256));
        record.sha256[sizeof(record.sha256) - 1] = 0;
        report_append(reporter, &record);
}

/* With ActorScope=each a life has many scopes, and only the slice around them counts all of them. A slice
 * outlives the scopes of a life and goes on counting, so the use of earlier lives must be known. It is all
 * that the slice has counted and this life's first scope has not, since that scope began at 0. */
void report_watch_slice(Reporter *reporter) {
        const Placement *place = reporter->place;
        uint64_t own_nsec, all_nsec;

        if (place->invoked->launch.scope_each == 0 || place->cgroup.fd < 0)
                return;
        reporter->earlier_nsec = UINT64_MAX;
        if (meter_count(place->cgroup.fd, &own_nsec) >= 0 && meter_count(INVOKER_FD_SLICE, &all_nsec) >= 0)
                reporter->earlier_nsec = all_nsec > own_nsec ? all_nsec - own_nsec : 0;
}

/* The CPU time that the kernel has counted for all processes of this life; 0: not known. */
static uint64_t life_nsec(const Reporter *reporter) {
        const Placement *place = reporter->place;
        bool slice = place->invoked->launch.scope_each > 0;
        uint64_t nsec;

        if (place->cgroup.fd < 0 || meter_count(slice ? INVOKER_FD_SLICE : place->cgroup.fd, &nsec) < 0)
                return 0;
        return nsec > reporter->earlier_nsec ? nsec - reporter->earlier_nsec : 0;
}

/* Writes the last record. It has all resource use that no other record has, so that the records add up to
 * the count of the cgroup. */
void report_ended(Reporter *reporter, uint64_t spare_nsec) {
        Record record = {
                .kind = RECORD_ENDED,
                .actor = reporter->progress->ending.actor,
                .fault = reporter->progress->ending.fault,
                .detail = reporter->progress->ending.detail,
                .level = reporter->place->level,
                .limits_missing = reporter->place->missing,
                .end = reporter->progress->ending.end,
                .decision = reporter->progress->decision,
                .statistics = reporter->progress->statistics,
        };

        record.metered.cpu_nsec = reporter->spare_nsec + spare_nsec;
        reporter->spare_nsec = 0;

        record.metered.start_nsec = record.metered.end_nsec = clock_boottime();
        /* The digest of a policy is recorded only if a file has that policy: otherwise there would be
         * nothing to compare the digest with. */
        if (reporter->place->invoked->launch.purpose != LAUNCH_TRAIN ||
                        (reporter->progress->checkpoints.exists &&
                                        reporter->progress->checkpoints.round == reporter->progress->number))
                memcpy(record.sha256, reporter->progress->policy_sha256, sizeof(record.sha256));

        record.metered.cpu_nsec += storm_take_control(reporter);
        record.scope_cpu_nsec = life_nsec(reporter);
        report_append(reporter, &record);
}
