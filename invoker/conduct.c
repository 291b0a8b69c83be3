/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conducts the job's orders, answers, retries, rounds and end. Each function reacts to one event. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "invoker/evaluation-rules.h"
#include "invoker/invoker.h"
#include "lib/statistics.h"
#include "lib/boottime.h"
#include "lib/clock.h"
#include "lib/fragment.h"
#include "lib/saturate.h"

static uint32_t containers_needed(const Placement *place, uint32_t n_actors) {
        return n_actors < place->n_containers ? n_actors : place->n_containers;
}

/* If a container fails to start, no invocation loses an attempt, since starts are counted separately. */
static void start_failed(Invoker *invoker, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail) {
        uint32_t number = container_number(&invoker->place, c);

        report_worker(&invoker->reporter, &c->worker, number, cpu_nsec, fault, detail);
        report_fault(&invoker->reporter, number, c->starts.n, fault, detail);
        if (!attempts_fail(&c->starts, invoker->place.settings->n_retries, fault, detail))
                finish_begin(invoker, PLAN_END_FAILED, fault, detail, number);
}

static void start_container(Invoker *invoker, Container *c) {
        int r = pool_fork(&invoker->pool, c);

        if (r < 0)
                finish_begin(invoker, PLAN_END_FAILED, FAULT_INTERNAL, -r, c->index);
}

static void give_rollout(Invoker *invoker, Container *c, uint32_t actor) {
        Seat *seat = &invoker->progress.round->seats[actor];
        Order order = {
                .kind = ORDER_ROLLOUT,
                .attempt = seat->attempts.n,
                .round = invoker->progress.round->number,
                .ordinal = seat->ordinal,
                .policy_version = invoker->progress.policy_version,
                .policy_bank = (uint32_t) invoker->progress.arrival.policy_bank,
                .actor = actor,
                .snapshot_bank = seat->bank,
                .remote = invoker->place.traits.rolls_with == ORDER_SERVE,
        };

        overlap_name_policy(&invoker->progress, &invoker->place, actor, &order);
        /* Everything that the container has used until now belongs to its last invocation. */
        pool_read(&invoker->pool, c);

        round_order(invoker->progress.round, actor, pool_is_cold(&invoker->pool, c, actor));
        seat->node = c->worker.node;
        c->fresh = false;
        c->unread = actor;
        pool_order(&invoker->pool, c, &order);
        seat->metered.start_nsec = c->worker.ordered_nsec;
}

/* Whether actors act: in PHASES_ROLLING and, if rounds overlap, in other phases, too. */
static bool actors_act(const Invoker *invoker) {
        uint32_t phases = invoker->progress.ending.waits ? PHASES_ROLLING
                                                         : invoker->place.traits.acting_phases;

        return phases & 1u << invoker->progress.phase;
}

/* Gives a container its next order, if there is one. */
static void serve(Invoker *invoker, Container *c) {
        uint32_t actor;

        if (!actors_act(invoker) || c->index >= invoker->place.n_containers || place_fuses(&invoker->place))
                return;
        actor = round_waiting(invoker->progress.round, c->index);
        if (actor == ACTOR_NONE)
                return;

        switch ((ContainerState) c->state) {
        case CONTAINER_ABSENT: start_container(invoker, c); break;
        case CONTAINER_READY:
                if (c->doing == ORDER_NONE)
                        give_rollout(invoker, c, actor);
                break;
        case CONTAINER_STARTING:
        case CONTAINER_PARKED:
        case CONTAINER_ENDING: break; /* it gets an order when it has started, thawed or ended */
        }
}

/* Orders a learner to act: it chooses actions for actors that step, or steps all environments itself. */
static void roll_with_learner(Invoker *invoker) {
        const Placement *place = &invoker->place;
        Progress *progress = &invoker->progress;
        uint32_t kind = place->traits.rolls_with;

        if (kind == ORDER_ROLLOUT)
                fused_begin(&invoker->learners, place);
        else if (progress->update_nsec == 0)
                progress->update_nsec = clock_boottime();
        learner_order(&invoker->learners, kind, ACTOR_NONE);
        if (kind == ORDER_ROLLOUT)
                fused_ordered(&invoker->pool, &invoker->learners, progress->round);
}

/* The rollout that the learner takes next; ACTOR_NONE: it must wait for one. */
static uint32_t next_rollout(const Invoker *invoker) {
        return invoker->place.traits.overlaps ? overlap_next(&invoker->progress, &invoker->place)
                                              : round_rolled(invoker->progress.round);
}

/* Gives the learner its next order. A learner that chooses the actors' actions takes rollouts only when no
 * actor needs an action any more. */
static void feed(Invoker *invoker) {
        Progress *progress = &invoker->progress;
        bool rolls = invoker->place.traits.rolls_with != ORDER_NONE && round_rolls(progress->round);
        uint32_t actor;

        if (progress->phase != PHASE_ROLLING)
                return;
        if (learners_busy(&invoker->learners)) {
                if (!rolls)
                        learner_stop_serving(&invoker->learners);
                return;
        }
        if (rolls) {
                roll_with_learner(invoker);
                return;
        }

        actor = next_rollout(invoker);
        if (!round_is_complete(progress->round) && actor == ACTOR_NONE)
                return;
        if (progress->update_nsec == 0)
                progress->update_nsec = clock_boottime();
        if (round_is_complete(progress->round)) {
                progress->phase = PHASE_LEARNING;
                learner_order(&invoker->learners, ORDER_LEARN, ACTOR_NONE);
                return;
        }
        round_take(progress->round, actor);
        learner_order(&invoker->learners, ORDER_TAKE, actor);
}

/* Serves containers for START_NSEC, and the rest after the next event, since the daemon may be waiting. */
static void serve_next(Invoker *invoker) {
        uint64_t until_nsec = clock_boottime() + START_NSEC;

        while (invoker->progress.n_served < invoker->place.n_containers &&
                        invoker->progress.phase == PHASE_ROLLING && clock_boottime() < until_nsec)
                serve(invoker, &invoker->pool.containers[invoker->progress.n_served++]);
}

static void begin_round(Invoker *invoker) {
        const Placement *place = &invoker->place;
        Progress *progress = &invoker->progress;
        uint32_t n_actors = invoker->link.plan.decision.n_actors;

        profile_begin(&invoker->profile);
        progress->decision = invoker->link.plan.decision;
        progress->round_nsec = clock_boottime();
        progress->update_nsec = 0;
        invoker->progress.phase = PHASE_ROLLING;
        round_begin(progress->round, progress->number + 1, n_actors,
                        distribution_rollouts(place->distribution, n_actors));
        if (place->traits.overlaps && overlap_begin(progress, place) < 0) {
                finish_begin(invoker, PLAN_END_FAILED, FAULT_INTERNAL, ESRCH, ACTOR_NONE);
                return;
        }

        pool_imagine(&invoker->pool, containers_needed(place, n_actors));
        cluster_want(invoker, containers_needed(place, n_actors) + place->n_evaluators);
        pool_arrange(&invoker->pool, containers_needed(place, n_actors));
        feed(invoker);
        progress->n_served = 0;
        serve_next(invoker);
}

/* Records the attempt's use as wasted. Its order is given again, with the same snapshots. */
static void attempt_failed(Invoker *invoker, uint32_t actor, uint32_t fault, int32_t detail) {
        uint32_t attempt = invoker->progress.round->seats[actor].attempts.n;

        report_rollout(&invoker->reporter, actor, fault, detail, true);
        report_fault(&invoker->reporter, actor, attempt, fault, detail);
        if (!round_fail(invoker->progress.round, actor, invoker->place.settings->n_retries, fault, detail))
                finish_begin(invoker, PLAN_END_FAILED, fault, detail, actor);
}

static void container_ready(Invoker *invoker, Container *c, const Answer *answer) {
        if (answer->fault != FAULT_NONE) {
                pool_end(c, pool_claim(c, answer), answer->detail);
                return;
        }

        c->state = CONTAINER_READY;
        c->doing = ORDER_NONE;
        c->starts = (Attempts){};
        report_worker(&invoker->reporter, &c->worker, container_number(&invoker->place, c), pool_take(c),
                        FAULT_NONE, 0);
        if (c->index >= invoker->place.n_containers && !invoker->progress.evaluation.goes_on)
                evaluate_rest(invoker, c);
        if (invoker->progress.phase == PHASE_VERIFYING)
                finish_begin(invoker, PLAN_END_FINISHED, FAULT_NONE, 0, ACTOR_NONE);
}

static void rollout_answered(Invoker *invoker, Container *c, const Answer *answer) {
        uint32_t actor = c->worker.order.actor;

        invoker->progress.round->seats[actor].metered.end_nsec = clock_boottime();
        invoker->progress.round->seats[actor].slept_nsec = c->worker.slept.nsec;
        profile_answered(&invoker->profile, SLEEP_ROLLOUT, c->worker.ordered_nsec, &answer->spent);
        if (answer->fault == FAULT_NONE) {
                c->doing = ORDER_NONE;
                round_answer(invoker->progress.round, actor);
                feed(invoker);
                return;
        }
        /* The retry gets a new process, without traces of the failure, when this one has been reaped. */
        pool_end(c, pool_claim(c, answer), answer->detail);
}

void conduct_container_answered(Invoker *invoker, Container *c, const Answer *answer) {
        c->worker.busy = false;
        slept_end(&c->worker.slept, &invoker->reporter.ourselves);
        pool_came_home(&invoker->pool, c, answer);

        switch (c->doing) {
        case ORDER_PROBE:
                if (invoker->progress.phase == PHASE_PROBING)
                        prepare_answered(invoker, c, answer);
                else
                        container_ready(invoker, c, answer);
                break;
        case ORDER_ROLLOUT:
                if (actors_act(invoker))
                        rollout_answered(invoker, c, answer);
                break;
        case ORDER_EVALUATE:
                if (invoker->progress.evaluation.goes_on)
                        evaluate_answered(invoker, c, answer);
                break;
        }
        serve(invoker, c);
}

static void episode_failed(Invoker *invoker, Container *c, uint32_t fault, int32_t detail) {
        if (!evaluate_failed(invoker, c, pool_take(c), fault, detail))
                finish_begin(invoker, PLAN_END_FAILED, fault, detail,
                                container_plays_as(&invoker->place, c));
}

/* The process ended before it had carried out its order, so the order has failed. */
static void order_failed(Invoker *invoker, Container *c, uint32_t fault, int32_t detail) {
        uint32_t actor = c->worker.order.actor, doing = c->doing;

        c->doing = ORDER_NONE;
        if (doing == ORDER_PROBE)
                start_failed(invoker, c, pool_take(c), fault, detail);
        else if (doing == ORDER_EVALUATE && invoker->progress.evaluation.goes_on)
                episode_failed(invoker, c, fault, detail);
        else if (doing == ORDER_ROLLOUT && actors_act(invoker)) {
                invoker->progress.round->seats[actor].metered.end_nsec = clock_boottime();
                invoker->progress.round->seats[actor].slept_nsec = c->worker.slept.nsec;
                attempt_failed(invoker, actor, fault, detail);
        }
}

void conduct_container_ended(Invoker *invoker, Container *c, const Ended *ended) {
        bool ours = c->state == CONTAINER_ENDING, named = ours && c->fault != FAULT_NONE;
        uint32_t fault = named ? c->fault : ended->fault;
        int32_t detail = named ? c->detail : ended->detail;

        /* A relay ends by itself only if it has lost its node. */
        if (!ours && c->worker.node > 0) {
                fault = FAULT_NODE;
                detail = (int32_t) c->worker.node;
        }
        c->state = CONTAINER_ABSENT;
        c->spare_nsec += ended->cpu_nsec;
        pool_read(&invoker->pool, c);

        if (invoker->progress.phase == PHASE_PROBING)
                prepare_ended(invoker, c, ended);
        else if (c->doing != ORDER_NONE)
                order_failed(invoker, c, fault, detail);
        else if (!ours)
                /* The container ended without an order: no invocation is lost, but the end is reported. */
                report_fault(&invoker->reporter, container_number(&invoker->place, c), 0, fault, detail);
        serve(invoker, c);
}

/* An evaluation does not lengthen a round on the emulated clock: the emulated fleet would play it beside the
 * next round. */
static void account_update(Invoker *invoker) {
        Progress *progress = &invoker->progress;
        uint64_t update_nsec;

        if (place_fuses(&invoker->place))
                fused_meter(&invoker->learners, progress->round);
        update_nsec = report_learned(&invoker->reporter, &invoker->learners);
        progress->waited_nsec = cluster_waited(invoker);
        if (invoker->place.traits.overlaps)
                overlap_learned(progress, update_nsec);
        else
                progress->emulated_round_nsec = clock_round_nsec(
                                saturating_add(round_slowest_nsec(progress->round), progress->waited_nsec),
                                update_nsec);
        progress->emulated_nsec = saturating_add(progress->emulated_nsec, progress->emulated_round_nsec);
}

static void learned(Invoker *invoker, const Answer *answer) {
        const Order *order = &invoker->learners.workers[0].order;

        if (answer->fault != FAULT_NONE) {
                invoker->progress.checkpoints.no_last = true; /* the learner's state is not valid */
                finish_begin(invoker, PLAN_END_FAILED, fault_known(answer->fault), answer->detail,
                                ACTOR_LEARNER);
                return;
        }

        /* Containers without an order have slept during the update, so their counters have settled. */
        for (uint32_t k = 0; k < invoker->place.n_containers; k++)
                if (invoker->pool.containers[k].doing != ORDER_ROLLOUT)
                        pool_read(&invoker->pool, &invoker->pool.containers[k]);

        invoker->progress.arrival.policy_bank = order->learns ? order->next_bank : order->policy_bank;
        account_update(invoker);
        round_close(invoker->progress.round);

        invoker->progress.policy_version = answer->policy_version;
        invoker->progress.statistics = answer->statistics;
        invoker->progress.statistics.evaluation_mean = invoker->progress.statistics.evaluation_sd = NAN;
        for (uint32_t i = 0; i < ACTORD_METRICS_MAX; i++)
                statistics_metrics(&invoker->progress.statistics, true)[i] = NAN;

        invoker->progress.open = true;
        evaluate_round(invoker);
}

static void fused_rolled(Invoker *invoker, const Answer *answer) {
        Round *round = invoker->progress.round;
        int32_t detail = 0;

        fused_answered(&invoker->learners, round);
        for (uint32_t a = 0; a < round->n_actors && invoker->progress.phase != PHASE_ENDING; a++) {
                uint32_t fault;

                if (round->seats[a].state != SEAT_ROLLING)
                        continue;
                fault = fused_take(&invoker->learners, round, a, &detail);
                if (fault != FAULT_NONE)
                        attempt_failed(invoker, a, fault, detail);
        }
        if (!answer->learned || invoker->progress.phase == PHASE_ENDING)
                return;
        if (round_is_complete(round)) {
                invoker->progress.update_nsec = fused_learning_nsec(&invoker->learners);
                invoker->progress.phase = PHASE_LEARNING;
                learned(invoker, answer);
        } else /* the learner has learned, but some rollouts failed */
                finish_begin(invoker, PLAN_END_FAILED, FAULT_INTERNAL, EPROTO, ACTOR_LEARNER);
}

static void verdict(Invoker *invoker, uint32_t actor, const Answer *answer) {
        Container *c = &invoker->pool.containers[actor % invoker->place.n_containers];

        if (answer->fault == FAULT_NONE) {
                round_accept(invoker->progress.round, actor);
                return;
        }

        if (c->unread == actor)
                pool_read(&invoker->pool, c);
        attempt_failed(invoker, actor, fault_known(answer->fault), answer->detail);
        if (c->state == CONTAINER_READY && c->doing == ORDER_NONE)
                pool_end(c, FAULT_NONE, 0); /* a new process starts when this one is reaped */
        serve(invoker, c);
}

static void restored(Invoker *invoker, const Answer *answer) {
        uint64_t resumed = invoker->place.invoked->launch.resume_round;

        if (answer->fault != FAULT_NONE) {
                finish_begin(invoker, PLAN_END_FAILED, fault_known(answer->fault), answer->detail,
                                ACTOR_LEARNER);
                return;
        }

        for (uint32_t k = 0; k < invoker->place.n_learners; k++) {
                Worker *learner = &invoker->learners.workers[k];

                report_worker(&invoker->reporter, learner, ACTOR_LEARNER, meter_take(&learner->meter),
                                FAULT_NONE, 0);
        }
        if (prepare_seal_policy(invoker) < 0) {
                finish_begin(invoker, PLAN_END_FAILED, FAULT_INTERNAL, 0, ACTOR_LEARNER);
                return;
        }

        /* This job's own checkpoint must be of the round that the daemon named (0: it is another job's). */
        if (training(invoker) && resumed > 0 && answer->round != resumed) {
                finish_begin(invoker, PLAN_END_FAILED, FAULT_CHECKPOINT, EBADMSG, ACTOR_LEARNER);
                return;
        }
        if (invoker->place.invoked->launch.has_checkpoint) {
                invoker->progress.number = training(invoker) ? resumed : answer->round;
                invoker->progress.checkpoints.exists = training(invoker) && resumed > 0;
                invoker->progress.checkpoints.round = invoker->progress.number;
                for (uint32_t a = 0; a < invoker->place.n_actors; a++)
                        invoker->progress.round->seats[a].ordinal =
                                        invoker->learners.workers[0].page->ordinals[a];
                if (training(invoker) && resumed > 0)
                        pool_resume(&invoker->pool);
        }
        arrival_copy(&invoker->progress.arrival, &invoker->learners.workers[0].page->arrival,
                        invoker->place.n_actors);
        if (training(invoker))
                overlap_resume(&invoker->progress);
        invoker->progress.checkpoints.restored = true;
        invoker->progress.checkpoints.nsec = clock_boottime();
        invoker->progress.policy_version = answer->policy_version;
        invoker->progress.statistics = answer->statistics;
        memcpy(invoker->progress.policy_sha256, answer->sha256, sizeof(invoker->progress.policy_sha256));
        invoker->progress.phase = PHASE_IDLE;
        /* A checkpoint does not contain the result of its round's evaluation, and this result may end the
         * job. So the evaluation is repeated: the same policy plays the same episodes. */
        if (!training(invoker) ||
                        (settings_present(invoker->place.settings, SETTING_Evaluation_StopReturn) &&
                                        evaluation_is_due(invoker->place.settings, invoker->progress.number,
                                                        false))) {
                evaluate_begin(invoker);
                invoker->progress.phase = PHASE_EVALUATING;
        }
}

static void checkpointed(Invoker *invoker, const Answer *answer) {
        invoker->progress.checkpoints.nsec = clock_boottime();
        if (answer->fault == FAULT_NONE) {
                invoker->progress.checkpoints.exists = true;
                invoker->progress.checkpoints.round = invoker->progress.number;
                memcpy(invoker->progress.policy_sha256, answer->sha256,
                                sizeof(invoker->progress.policy_sha256));
                report_checkpoint(&invoker->reporter, &invoker->learners.workers[0], answer);
        } else if (invoker->progress.phase == PHASE_ENDING)
                finish_checkpoint_failed(invoker, fault_known(answer->fault), answer->detail);
        else
                /* The checkpoint was not written. Training goes on: the previous one still counts. */
                report_fault(&invoker->reporter, ACTOR_LEARNER, 0, fault_known(answer->fault),
                                answer->detail);

        if (invoker->progress.phase == PHASE_CHECKPOINT)
                invoker->progress.phase = PHASE_IDLE;
}

static void profile_learner(Invoker *invoker, const Answer *answer) {
        const Worker *learner = &invoker->learners.workers[0];
        ProfileSleep sleep = profile_sleep_of(learner->order.kind);

        /* The time of a learner that serves is part of the answers of the actors that it served. */
        if (sleep != SLEEP_OTHER && learner->order.kind != ORDER_SERVE)
                profile_answered(&invoker->profile, sleep, learner->ordered_nsec, &answer->spent);
}

void conduct_learner_answered(Invoker *invoker, const Answer *answer) {
        uint32_t kind = invoker->learners.workers[0].order.kind;

        profile_learner(invoker, answer);
        if (kind == ORDER_CHECKPOINT)
                checkpointed(invoker, answer);
        else if (invoker->progress.phase == PHASE_ENDING || invoker->progress.phase == PHASE_ENDED)
                return;
        else if (kind == ORDER_RESTORE)
                restored(invoker, answer);
        else if (kind == ORDER_TAKE)
                verdict(invoker, invoker->learners.workers[0].order.actor, answer);
        else if (kind == ORDER_LEARN)
                learned(invoker, answer);
        else if (kind == ORDER_ROLLOUT && (answer->fault == FAULT_NONE || answer->learned))
                fused_rolled(invoker, answer);
        else if (answer->fault != FAULT_NONE) /* actors would wait for a learner that does not serve */
                finish_begin(invoker, PLAN_END_FAILED, fault_known(answer->fault), answer->detail,
                                ACTOR_LEARNER);
        feed(invoker);
}

static bool checkpoint_is_due(const Invoker *invoker) {
        const Checkpoints *kept = &invoker->progress.checkpoints;
        uint64_t interval_nsec, now = clock_boottime();

        if (invoker->progress.number == (kept->exists ? kept->round : 0))
                return false;
        if (invoker->link.has_plan && invoker->link.plan.checkpoint)
                return true;
        if (__builtin_mul_overflow(invoker->place.settings->checkpoint_usec, 1000u, &interval_nsec))
                return false;
        return now - kept->nsec >= interval_nsec;
}

/* The number of containers that the first round or evaluation needs, if it is known already. */
static uint32_t containers_first(const Invoker *invoker) {
        const Placement *place = &invoker->place;
        const Plan *plan = &invoker->link.plan;
        uint64_t n_episodes = place->invoked->launch.n_episodes;

        if (!training(invoker))
                return n_episodes < place->n_containers ? (uint32_t) n_episodes : place->n_containers;
        if (!invoker->link.has_plan || plan->end != PLAN_END_NOT)
                return 0;
        return containers_needed(place, plan->decision.n_actors);
}

/* Starts containers while the learner starts, since the first round waits for both. */
static void start_early(Invoker *invoker) {
        uint64_t until_nsec = clock_boottime() + START_NSEC;
        uint32_t n = containers_first(invoker);

        if (invoker->place.policy_read_fd < 0 || place_fuses(&invoker->place))
                return;
        if (invoker->nodes.n_wanted == 0)
                cluster_want(invoker, n);
        for (uint32_t k = 0; k < n && invoker->progress.phase == PHASE_STARTING; k++)
                if (invoker->pool.containers[k].state == CONTAINER_ABSENT &&
                                invoker->pool.containers[k].starts.n == 0 && clock_boottime() < until_nsec)
                        start_container(invoker, &invoker->pool.containers[k]);
}

static void evaluated(Invoker *invoker) {
        evaluate_end(invoker);
        if (!training(invoker)) {
                finish_begin(invoker, PLAN_END_FINISHED, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }
        if (invoker->progress.phase != PHASE_EVALUATING)
                return; /* no round waits for this evaluation */
        if (invoker->progress.evaluation.closed_seq > 0 && invoker->progress.open)
                evaluate_round(invoker);
        else
                finish_round(invoker);
}

static void advance_evaluation(Invoker *invoker) {
        uint32_t actor;
        int r;

        /* A job that trains ends only after the evaluation of its round. */
        if (!training(invoker) && invoker->link.has_plan && invoker->link.plan.end != PLAN_END_NOT) {
                finish_begin(invoker, invoker->link.plan.end, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }
        if (evaluate_is_over(invoker))
                evaluated(invoker);
        /* evaluated() may have begun another evaluation. A job that is about to end starts no episode. */
        if (!invoker->progress.evaluation.goes_on || invoker->progress.ending.waits)
                return;
        r = evaluate_serve(invoker, &actor);
        if (r < 0)
                finish_begin(invoker, PLAN_END_FAILED, FAULT_INTERNAL, -r, actor);
}

void conduct_advance(Invoker *invoker) {
        const Plan *plan = &invoker->link.plan;
        uint32_t end;

        if (invoker->progress.ending.waits && invoker->progress.phase != PHASE_LEARNING)
                finish_begin(invoker, invoker->progress.ending.end, invoker->progress.ending.fault,
                                invoker->progress.ending.detail, invoker->progress.ending.actor);
        if (invoker->progress.phase == PHASE_PROBING && invoker->link.has_plan &&
                        invoker->link.plan.end != PLAN_END_NOT)
                prepare_stop(invoker);
        if (invoker->progress.phase == PHASE_STARTING)
                start_early(invoker);
        if (invoker->progress.phase == PHASE_ROLLING)
                serve_next(invoker);
        if (invoker->progress.phase == PHASE_VERIFYING &&
                        invoker->pool.containers[0].state == CONTAINER_ABSENT)
                start_container(invoker, &invoker->pool.containers[0]);
        if (invoker->progress.evaluation.goes_on)
                advance_evaluation(invoker);

        if (invoker->progress.phase == PHASE_IDLE) {
                end = finish_reached(invoker);
                /* The end and a checkpoint both wait for the evaluation. */
                if (invoker->progress.evaluation.goes_on &&
                                (end != PLAN_END_NOT || checkpoint_is_due(invoker)))
                        invoker->progress.phase = PHASE_EVALUATING;
                else if (end != PLAN_END_NOT)
                        finish_begin(invoker, end, FAULT_NONE, 0, ACTOR_NONE);
                else if (checkpoint_is_due(invoker)) {
                        invoker->progress.phase = PHASE_CHECKPOINT;
                        invoker->link.plan.checkpoint = 0;
                        learner_order_checkpoint(&invoker->learners, false);
                } else if (invoker->link.has_plan && invoker->progress.number < plan->through_round)
                        begin_round(invoker);
        }

        if (invoker->progress.phase == PHASE_ENDING)
                finish_advance(invoker);
}
