/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records. What a record says was read here, from meters and clocks; the learner's statistics are the only words of a worker in it.
 * Emulated time is computed once, here; everyone above adds. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/clock.h"
#include "lib/saturate.h"

static void report_append(Invoker *i, Record *record) {
        if (record->round == 0)
                record->round = i->number;
        /* A full spool pauses the job: nobody would know what it costs. */
        while (spool_append(&i->spool, record) < 0 && !i->stop) {
                uint64_t begun_nsec = clock_boottime();

                (void) invoker_wait_outside(i, NULL, UINT64_MAX);
                i->ourselves.waited_nsec += clock_boottime() - begun_nsec;
        }
}

/* What an actor slept it held its memory for; its share of a CPU makes that no longer. */
static uint64_t invocation_nsec(
                const Invoker *i, uint64_t cpu_nsec, uint64_t slept_nsec, uint64_t n_steps, bool cold) {
        return saturating_add(clock_invocation_nsec(i->settings, cpu_nsec, n_steps, cold), slept_nsec);
}

void report_started(Invoker *i) {
        Record record = {
                .kind = RECORD_STARTED,
                .actor = ACTOR_NONE,
                .level = i->level,
                .limits_missing = i->missing,
                .metered = {
                        .start_nsec = i->started_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = storm_take_control(i) + i->spare_nsec,
                },
        };

        i->spare_nsec = 0;
        report_append(i, &record);
}

void report_worker(Invoker *i, Worker *worker, uint32_t index, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail) {
        bool learner = index == ACTOR_LEARNER;
        Record record = {
                .kind = RECORD_WORKER,
                .actor = index,
                .wasted = fault != FAULT_NONE,
                .fault = fault,
                .detail = detail,
                .metered = {
                        .start_nsec = worker->born_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&worker->meter),
                        .memory_reserved_bytes = learner ? i->settings->learner_memory_max_bytes
                                                         : i->settings->memory_max_bytes,
                        /* An actor's start-up is in its first invocation (ColdStartSec=). */
                        .emulated_nsec = learner ? clock_update_nsec(i->settings, cpu_nsec, 0) : 0,
                },
        };

        report_append(i, &record);
}

void report_rollout(Invoker *i, uint32_t actor, uint32_t fault, int32_t detail, bool wasted) {
        Seat *seat = &i->round->seats[actor];
        Record record = {
                .kind = RECORD_ROLLOUT,
                .round = i->round->number,
                .actor = actor,
                .ordinal = seat->ordinal,
                .attempt = seat->attempts.n,
                .cold = seat->cold,
                .wasted = wasted,
                .fault = fault,
                .detail = detail,
        };

        seat->metered.n_steps = (uint64_t) i->page->segment.envs * i->page->segment.steps;
        seat->metered.memory_reserved_bytes = i->settings->memory_max_bytes;
        seat->metered.emulated_nsec = invocation_nsec(
                        i, seat->metered.cpu_nsec, seat->slept_nsec, seat->metered.n_steps, seat->cold);
        record.metered = seat->metered;
        report_append(i, &record);

        /* A model knows first attempts only: what a scheduler sees must not depend on accidents. */
        if (wasted && i->settings->clock != CLOCK_MODEL)
                seat->emulated_nsec += seat->metered.emulated_nsec;
}

void report_fault(Invoker *i, uint32_t actor, uint32_t attempt, uint32_t fault, int32_t detail) {
        bool evaluates = actor >= i->n_actors && actor != ACTOR_NONE;
        Record record = {
                .kind = RECORD_FAULT,
                .round = evaluates  ? i->evaluation.round
                         : i->round ? i->round->number
                                    : 0,
                .actor = actor,
                .attempt = attempt,
                .fault = fault,
                .detail = detail,
                .end = i->phase == PHASE_ENDING ? i->end : PLAN_END_NOT,
        };

        record.metered.start_nsec = record.metered.end_nsec = clock_boottime();
        report_append(i, &record);
}

void report_pool(Invoker *i, Container *c) {
        Record record = {
                .kind = RECORD_POOL,
                .actor = container_number(i, c),
                .metered = {
                        .start_nsec = c->parked_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = pool_take(c),
                        .memory_peak_bytes = meter_peak(&c->worker.meter),
                        .memory_reserved_bytes = i->settings->memory_max_bytes,
                        .emulated_nsec = i->emulated_nsec - c->parked_emulated_nsec,
                },
        };

        c->parked_nsec = record.metered.end_nsec;
        c->parked_emulated_nsec = i->emulated_nsec;
        report_append(i, &record);
}

void report_idle(Invoker *i) {
        for (uint32_t k = 0; k < containers_all(i); k++)
                if (i->containers[k].state == CONTAINER_PARKED)
                        report_pool(i, &i->containers[k]);
}

void report_evaluation(Invoker *i, Container *c, const Answer *answer, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail) {
        uint64_t n_steps = answer ? answer->n_steps : 0;
        Record record = {
                .kind = RECORD_EVALUATION,
                .round = i->evaluation.round,
                /* Evaluations have numbers of their own, above the actors that train. */
                .actor = evaluate_actor(i, c),
                .ordinal = c->episode,
                .attempt = c->plays.n,
                .cold = c->fresh,
                .wasted = !answer,
                .fault = fault,
                .detail = detail,
                .metered = {
                        .start_nsec = c->worker.ordered_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&c->worker.meter),
                        .memory_reserved_bytes = i->settings->memory_max_bytes,
                        .emulated_nsec = invocation_nsec(i, cpu_nsec, c->worker.slept.nsec, n_steps, c->fresh),
                        .n_steps = n_steps,
                },
                .statistics = i->evaluation.statistics,
        };

        record.statistics.evaluation_mean = answer ? answer->episode_return : NAN;
        report_append(i, &record);
}

/* Of one learner: several share the rows out. Returns its emulated time. */
static uint64_t report_update(Invoker *i, uint32_t k) {
        const SegmentLayout *l = &i->page->segment;
        Worker *learner = learner_at(i, k);
        uint64_t cpu_nsec = meter_take(&learner->meter) + i->fused_nsec;
        uint64_t slowest_nsec = i->learner_slowest_nsec[k];
        uint64_t *credit_nsec = &i->learner_credit_nsec[k];
        Record record = {
                .kind = RECORD_UPDATE,
                .round = i->round->number,
                .actor = ACTOR_LEARNER,
                .ordinal = i->round->number - 1,
                .metered = {
                        .start_nsec = i->update_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = cpu_nsec,
                        .memory_peak_bytes = meter_peak(&learner->meter),
                        .memory_reserved_bytes = i->settings->learner_memory_max_bytes,
                },
        };

        i->fused_nsec = 0;
        /* The learner's word, within what it was seen to use: over all updates, since a single reading may lag by a tick. */
        *credit_nsec += cpu_nsec;
        if (slowest_nsec > *credit_nsec || slowest_nsec == 0)
                slowest_nsec = *credit_nsec;
        *credit_nsec -= slowest_nsec;
        record.metered.emulated_nsec = clock_update_nsec(i->settings, slowest_nsec,
                        (uint64_t) i->round->n_rollouts * l->envs * l->steps / i->n_learners);
        report_append(i, &record);
        return record.metered.emulated_nsec;
}

void report_learned(Invoker *i) {
        uint64_t update_nsec = 0;

        for (uint32_t a = 0; a < i->round->n_actors && i->fused; a++)
                fused_meter(i, a);
        for (uint32_t a = 0; a < i->n_actors; a++)
                if (i->round->seats[a].state == SEAT_TAKEN)
                        report_rollout(i, a, FAULT_NONE, 0, false);
        for (uint32_t k = i->n_learners; k-- > 0;) {
                uint64_t nsec = report_update(i, k);

                update_nsec = nsec > update_nsec ? nsec : update_nsec;
        }
        /* An evaluation does not lengthen a round: a fleet would play it beside the next one. */
        if (i->overlaps)
                overlap_learned(i, update_nsec);
        else
                i->emulated_round_nsec = clock_round_nsec(round_slowest_nsec(i->round), update_nsec);
        i->emulated_nsec = saturating_add(i->emulated_nsec, i->emulated_round_nsec);
}

void report_round(Invoker *i, uint32_t end) {
        Record record = {
                .kind = RECORD_ROUND,
                .round = i->round->number,
                .actor = i->overlaps ? i->taken : ACTOR_NONE,
                .end = end,
                .decision = {
                        .id = i->decision.id,
                        .n_actors = i->decision.n_actors,
                        .taken = i->overlaps ? i->taken + 1 : 0,
                },
                .emulated_round_nsec = i->emulated_round_nsec,
                .statistics = i->statistics,
        };

        record.metered.start_nsec = i->round_nsec;
        record.metered.end_nsec = clock_boottime();
        record.metered.cpu_nsec = storm_take_control(i);
        report_append(i, &record);
}

void report_evaluated(Invoker *i, double mean, double sd) {
        Record record = {
                .kind = RECORD_EVALUATED,
                .round = i->evaluation.round,
                .actor = ACTOR_NONE,
                .ordinal = i->evaluation.closed_seq,
                .metered = { .start_nsec = i->evaluation.started_nsec, .end_nsec = clock_boottime() },
                .statistics = i->evaluation.statistics,
        };

        record.statistics.evaluation_mean = mean;
        record.statistics.evaluation_sd = sd;
        report_append(i, &record);
}

void report_checkpoint(Invoker *i, const Answer *answer) {
        Record record = {
                .kind = RECORD_CHECKPOINT,
                .actor = ACTOR_LEARNER,
                .fault = FAULT_NONE,
                .statistics = i->statistics,
                .metered = {
                        .start_nsec = i->learner.ordered_nsec,
                        .end_nsec = clock_boottime(),
                        .cpu_nsec = meter_take(&i->learner.meter),
                        .memory_peak_bytes = meter_peak(&i->learner.meter),
                        .memory_reserved_bytes = i->settings->learner_memory_max_bytes,
                },
        };

        memcpy(record.sha256, answer->sha256, sizeof(record.sha256));
        report_append(i, &record);
}

/* The last one: what is left over anywhere, so that the books balance. */
void report_ended(Invoker *i) {
        Meter scope;
        Record record = {
                .kind = RECORD_ENDED,
                .actor = i->end_actor,
                .fault = i->end_fault,
                .detail = i->end_detail,
                .level = i->level,
                .limits_missing = i->missing,
                .end = i->end,
                .decision = i->decision,
                .statistics = i->statistics,
        };

        record.metered.cpu_nsec = i->spare_nsec;
        i->spare_nsec = 0;
        for (uint32_t k = 0; i->containers && k < containers_all(i); k++)
                record.metered.cpu_nsec += i->containers[k].spare_nsec;

        record.metered.start_nsec = record.metered.end_nsec = clock_boottime();
        /* Of a policy that lies in a file: the digest of any other could not be compared with anything. */
        if (i->invoked->launch.purpose != LAUNCH_TRAIN ||
                        (i->has_checkpoint && i->checkpoint_round == i->number))
                memcpy(record.sha256, i->policy_sha256, sizeof(record.sha256));

        record.metered.cpu_nsec += storm_take_control(i);
        if (i->cgroup.fd >= 0 &&
                        meter_init(i->invoked->launch.scope_each > 0 ? INVOKER_FD_SLICE : i->cgroup.fd,
                                        &scope) >= 0) {
                record.scope_cpu_nsec = meter_take(&scope);
                meter_done(&scope);
        }
        report_append(i, &record);
}
