/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds: orders out, answers in, retries, the tests for an end. Everything here reacts to one event and returns; what is waited for
 * is in the phase and in the round. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "invoker/evaluation.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/fragment.h"

static bool training(const Invoker *i) {
        return i->invoked->launch.purpose == LAUNCH_TRAIN;
}

static uint32_t containers_needed(const Invoker *i, uint32_t n_actors) {
        return n_actors < i->n_containers ? n_actors : i->n_containers;
}

/* A container that does not start is no invocation yet; it has as many attempts. */
static void start_failed(Invoker *i, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail) {
        uint32_t number = container_number(i, c);

        report_worker(i, &c->worker, number, cpu_nsec, fault, detail);
        report_fault(i, number, c->starts.n, fault, detail);
        if (!attempts_fail(&c->starts, i->settings->n_retries, fault, detail))
                finish_begin(i, PLAN_END_FAILED, fault, detail, number);
}

static void start_container(Invoker *i, Container *c) {
        int r = pool_fork(i, c);

        if (r < 0)
                finish_begin(i, PLAN_END_FAILED, FAULT_INTERNAL, -r, c->index);
}

static void give_rollout(Invoker *i, Container *c, uint32_t actor) {
        Seat *seat = &i->round->seats[actor];
        Order order = {
                .kind = ORDER_ROLLOUT,
                .attempt = seat->attempts.n,
                .round = i->round->number,
                .ordinal = seat->ordinal,
                .policy_version = i->policy_version,
                .policy_bank = (uint32_t) i->arrival.policy_bank,
                .actor = actor,
                .snapshot_bank = seat->bank,
                .remote = i->asks_fd >= 0,
        };

        overlap_name_policy(i, actor, &order);
        /* What it used until now belongs to what it did until now. */
        pool_read(i, c);

        round_order(i->round, actor, overlap_is_cold(i, actor, c->fresh));
        c->fresh = false;
        c->unread = actor;
        pool_order(i, c, &order);
        seat->metered.start_nsec = c->worker.ordered_nsec;
}

/* Actors act while a round rolls; where rounds overlap, also while the learner does something else. */
static bool actors_act(const Invoker *i) {
        return i->phase == PHASE_ROLLING ||
               (i->overlaps && !i->end_waits &&
                               (i->phase == PHASE_IDLE || i->phase == PHASE_LEARNING ||
                                               i->phase == PHASE_CHECKPOINT ||
                                               i->phase == PHASE_EVALUATING));
}

/* The next order for a container, if there is one. */
static void serve(Invoker *i, Container *c) {
        uint32_t actor;

        if (!actors_act(i) || c->index >= i->n_containers || i->fused)
                return;
        actor = round_waiting(i->round, c->index);
        if (actor == ACTOR_NONE)
                return;

        switch ((ContainerState) c->state) {
        case CONTAINER_ABSENT: start_container(i, c); break;
        case CONTAINER_READY:
                if (c->doing == ORDER_NONE)
                        give_rollout(i, c, actor);
                break;
        case CONTAINER_STARTING:
        case CONTAINER_PARKED:
        case CONTAINER_ENDING: break; /* served when that is over */
        }
}

/* The next order for the learner. */
static void feed(Invoker *i) {
        uint32_t actor;

        if (i->fused) {
                fused_feed(i);
                return;
        }
        if (i->phase != PHASE_ROLLING)
                return;
        if (i->asks_fd >= 0 && round_rolls(i->round)) {
                /* It acts for the actors, and takes when none of them needs it any more. */
                if (!learners_busy(i)) {
                        if (i->update_nsec == 0)
                                i->update_nsec = clock_boottime();
                        learner_order(i, ORDER_SERVE, ACTOR_NONE);
                }
                return;
        }
        if (learners_busy(i)) {
                learner_stop_serving(i);
                return;
        }

        if (round_is_complete(i->round)) {
                i->phase = PHASE_LEARNING;
                learner_order(i, ORDER_LEARN, ACTOR_NONE);
                return;
        }
        actor = i->overlaps ? overlap_next(i) : round_rolled(i->round);
        if (actor != ACTOR_NONE) {
                if (i->update_nsec == 0)
                        i->update_nsec = clock_boottime();
                round_take(i->round, actor);
                learner_order(i, ORDER_TAKE, actor);
        }
}

static void begin_round(Invoker *i) {
        i->decision = i->link.plan.decision;
        i->round_nsec = clock_boottime();
        i->update_nsec = 0;
        i->phase = PHASE_ROLLING;
        round_begin(i->round, i->number + 1, i->decision.n_actors,
                        distribution_rollouts(i->distribution, i->decision.n_actors));
        if (i->overlaps && overlap_begin(i) < 0) {
                finish_begin(i, PLAN_END_FAILED, FAULT_INTERNAL, ESRCH, ACTOR_NONE);
                return;
        }

        if (i->fused) {
                fused_begin(i);
                return;
        }
        pool_arrange(i, containers_needed(i, i->decision.n_actors));
        feed(i);
        for (uint32_t k = 0; k < i->n_containers && i->phase == PHASE_ROLLING; k++)
                serve(i, &i->containers[k]);
}

void conduct_attempt_failed(Invoker *i, uint32_t actor, uint32_t fault, int32_t detail) {
        uint32_t attempt = i->round->seats[actor].attempts.n;

        report_rollout(i, actor, fault, detail, true);
        report_fault(i, actor, attempt, fault, detail);
        if (!round_fail(i->round, actor, i->settings->n_retries, fault, detail))
                finish_begin(i, PLAN_END_FAILED, fault, detail, actor);
}

static void container_ready(Invoker *i, Container *c, const Answer *answer) {
        if (answer->fault != FAULT_NONE) {
                pool_end(c, answer_claim(answer), answer->detail);
                return;
        }

        c->state = CONTAINER_READY;
        c->doing = ORDER_NONE;
        c->starts = (Attempts){};
        report_worker(i, &c->worker, container_number(i, c), pool_take(c), FAULT_NONE, 0);
        if (c->index >= i->n_containers && !i->evaluation.goes_on)
                evaluate_rest(i, c);
        if (i->phase == PHASE_VERIFYING)
                finish_begin(i, PLAN_END_FINISHED, FAULT_NONE, 0, ACTOR_NONE);
}

static void rollout_answered(Invoker *i, Container *c, const Answer *answer) {
        uint32_t actor = c->worker.order.actor;

        i->round->seats[actor].metered.end_nsec = clock_boottime();
        i->round->seats[actor].slept_nsec = c->worker.slept.nsec;
        if (answer->fault == FAULT_NONE) {
                c->doing = ORDER_NONE;
                round_answer(i->round, actor);
                feed(i);
                return;
        }
        /* What failed once in a process may have left something there: the retry gets a new one. The attempt is over when this one
         * is reaped and nothing can write any more. */
        pool_end(c, answer_claim(answer), answer->detail);
}

void conduct_container_answered(Invoker *i, Container *c, const Answer *answer) {
        c->worker.busy = false;
        slept_end(&c->worker.slept, &i->ourselves);

        switch (c->doing) {
        case ORDER_PROBE: container_ready(i, c, answer); break;
        case ORDER_ROLLOUT:
                if (actors_act(i))
                        rollout_answered(i, c, answer);
                break;
        case ORDER_EVALUATE:
                if (i->evaluation.goes_on)
                        evaluate_answered(i, c, answer);
                break;
        }
        serve(i, c);
}

/* The order that was not over has failed with the process. */
static void order_failed(Invoker *i, Container *c, uint32_t fault, int32_t detail) {
        uint32_t actor = c->worker.order.actor, doing = c->doing;

        c->doing = ORDER_NONE;
        if (doing == ORDER_PROBE)
                start_failed(i, c, pool_take(c), fault, detail);
        else if (doing == ORDER_EVALUATE && i->evaluation.goes_on)
                evaluate_failed(i, c, pool_take(c), fault, detail);
        else if (doing == ORDER_ROLLOUT && actors_act(i)) {
                i->round->seats[actor].metered.end_nsec = clock_boottime();
                i->round->seats[actor].slept_nsec = c->worker.slept.nsec;
                conduct_attempt_failed(i, actor, fault, detail);
        }
}

void conduct_container_ended(Invoker *i, Container *c, const Ended *ended) {
        bool ours = c->state == CONTAINER_ENDING, named = ours && c->fault != FAULT_NONE;
        uint32_t fault = named ? c->fault : ended->fault;
        int32_t detail = named ? c->detail : ended->detail;

        c->state = CONTAINER_ABSENT;
        c->spare_nsec += ended->cpu_nsec;
        pool_read(i, c);

        if (c->doing != ORDER_NONE)
                order_failed(i, c, fault, detail);
        else if (!ours)
                /* It died with nothing to do: no invocation is lost, but somebody should know. */
                report_fault(i, container_number(i, c), 0, fault, detail);
        serve(i, c);
}

/* What the job was started for, by its own numbers. */
static uint32_t goal_reached(const JobSettings *s, const Statistics *statistics) {
        /* A mean that does not exist yet reaches nothing: NaN compares false. */
        if (settings_present(s, SETTING_Job_StopReturn) && statistics->return_mean >= s->stop_return)
                return PLAN_END_TARGET;
        if (settings_present(s, SETTING_Evaluation_StopReturn) &&
                        statistics->evaluation_mean >= s->evaluation_stop_return)
                return PLAN_END_TARGET;
        if (statistics->n_env_steps >= s->stop_steps)
                return PLAN_END_FINISHED;
        return PLAN_END_NOT;
}

/* 0 while the settings and the daemon let a further round start. */
static uint32_t end_reached(const Invoker *i) {
        uint32_t end = goal_reached(i->settings, &i->statistics);

        return end == PLAN_END_NOT && i->link.has_plan ? i->link.plan.end : end;
}

void conduct_close_round(Invoker *i) {
        uint32_t end = i->phase == PHASE_ENDING ? i->end : end_reached(i);

        if (i->round_open) {
                /* What idles may do so for many rounds, and what each of them has cost is compared with a budget, and
                 * drawn as a curve. */
                report_idle(i);
                report_round(i, end);
                i->number = i->round->number;
                i->round_open = false;
        }
        if (i->phase != PHASE_ENDING)
                i->phase = PHASE_IDLE;
}

void conduct_evaluate_round(Invoker *i) {
        bool last = goal_reached(i->settings, &i->statistics) != PLAN_END_NOT;

        i->phase = PHASE_EVALUATING;
        /* The round before may be played still. */
        if (i->evaluation.goes_on)
                return;
        if (!evaluation_is_due(i->settings, i->round->number, last)) {
                conduct_close_round(i);
                return;
        }
        evaluate_begin(i);
        if (evaluation_is_beside(i->settings, last)) {
                conduct_close_round(i);
                i->evaluation.closed_seq = i->spool.written;
        }
}

static void learned(Invoker *i, const Answer *answer) {
        if (answer->fault != FAULT_NONE) {
                i->no_last_checkpoint = true; /* nothing of this state is worth keeping */
                finish_begin(i, PLAN_END_FAILED, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER,
                                answer->detail, ACTOR_LEARNER);
                return;
        }

        /* Whoever does not act has been idle for as long as the update took: counters have settled. */
        for (uint32_t k = 0; k < i->n_containers; k++)
                if (i->containers[k].doing != ORDER_ROLLOUT)
                        pool_read(i, &i->containers[k]);

        i->arrival.policy_bank = i->learner.order.policy_bank;
        report_learned(i);
        round_close(i->round);

        i->policy_version = answer->policy_version;
        i->statistics = answer->statistics;
        i->statistics.evaluation_mean = i->statistics.evaluation_sd = NAN;
        memcpy(i->policy_sha256, answer->sha256, sizeof(i->policy_sha256));

        i->round_open = true;
        conduct_evaluate_round(i);
}

static void verdict(Invoker *i, uint32_t actor, const Answer *answer) {
        Container *c = &i->containers[actor % i->n_containers];

        if (answer->fault == FAULT_NONE) {
                round_accept(i->round, actor);
                return;
        }

        if (c->unread == actor)
                pool_read(i, c);
        conduct_attempt_failed(
                        i, actor, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER, answer->detail);
        if (c->state == CONTAINER_READY && c->doing == ORDER_NONE)
                pool_end(c, FAULT_NONE, 0); /* and a new one begins when it is reaped */
        serve(i, c);
}

static void restored(Invoker *i, const Answer *answer) {
        uint64_t resumed = i->invoked->launch.resume_round;

        if (answer->fault != FAULT_NONE) {
                finish_begin(i, PLAN_END_FAILED, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER,
                                answer->detail, ACTOR_LEARNER);
                return;
        }

        for (uint32_t k = 0; k < i->n_learners; k++) {
                Worker *learner = learner_at(i, k);

                report_worker(i, learner, ACTOR_LEARNER, meter_take(&learner->meter), FAULT_NONE, 0);
        }
        if (invoker_seal_policy(i) < 0) {
                finish_begin(i, PLAN_END_FAILED, FAULT_INTERNAL, 0, ACTOR_LEARNER);
                return;
        }

        /* Rounds are counted by the job: one that goes on from another one's checkpoint has none yet. */
        if (training(i) && resumed > 0 && answer->round != resumed) {
                finish_begin(i, PLAN_END_FAILED, FAULT_CHECKPOINT, EBADMSG, ACTOR_LEARNER);
                return;
        }
        if (i->invoked->launch.has_checkpoint) {
                i->number = training(i) ? resumed : answer->round;
                i->has_checkpoint = training(i) && resumed > 0;
                i->checkpoint_round = i->number;
                for (uint32_t a = 0; a < i->n_actors; a++)
                        i->round->seats[a].ordinal = i->learner.page->ordinals[a];
        }
        i->arrival = i->learner.page->arrival;
        if (training(i))
                overlap_resume(i);
        i->was_restored = true;
        i->checkpoint_nsec = clock_boottime();
        i->policy_version = answer->policy_version;
        i->statistics = answer->statistics;
        memcpy(i->policy_sha256, answer->sha256, sizeof(i->policy_sha256));
        i->phase = PHASE_IDLE;
        /* What ends a job by its evaluation stands in no checkpoint, but equal policies play equal episodes. */
        if (!training(i) || (settings_present(i->settings, SETTING_Evaluation_StopReturn) &&
                                            evaluation_is_due(i->settings, i->number, false))) {
                evaluate_begin(i);
                i->phase = PHASE_EVALUATING;
        }
}

static void checkpointed(Invoker *i, const Answer *answer) {
        i->checkpoint_nsec = clock_boottime();
        if (answer->fault == FAULT_NONE) {
                i->has_checkpoint = true;
                i->checkpoint_round = i->number;
                report_checkpoint(i, answer);
        } else if (i->phase == PHASE_ENDING)
                finish_checkpoint_failed(i, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER,
                                answer->detail);
        else
                /* The one before still counts; training goes on, and says so. */
                report_fault(i, ACTOR_LEARNER, 0, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER,
                                answer->detail);

        if (i->phase == PHASE_CHECKPOINT)
                i->phase = PHASE_IDLE;
}

void conduct_learner_answered(Invoker *i, const Answer *answer) {
        uint32_t kind = i->learner.order.kind;

        if (kind == ORDER_CHECKPOINT)
                checkpointed(i, answer);
        else if (i->phase == PHASE_ENDING || i->phase == PHASE_ENDED)
                return;
        else if (kind == ORDER_RESTORE)
                restored(i, answer);
        else if (kind == ORDER_TAKE)
                verdict(i, i->learner.order.actor, answer);
        else if (kind == ORDER_LEARN)
                learned(i, answer);
        else if (kind == ORDER_ROLLOUT && answer->fault == FAULT_NONE)
                fused_answered(i);
        else if (answer->fault != FAULT_NONE) /* SERVE, ROLLOUT: actors would wait in vain */
                finish_begin(i, PLAN_END_FAILED, answer->fault < _FAULT_MAX ? answer->fault : FAULT_ANSWER,
                                answer->detail, ACTOR_LEARNER);
        feed(i);
}

void conduct_checkpoint(Invoker *i) {
        i->link.plan.checkpoint = 0;
        for (uint32_t a = 0; a < i->n_actors; a++) {
                i->learner.page->ordinals[a] = i->round->seats[a].ordinal;
                i->learner.page->banks[a] = i->round->seats[a].bank;
        }
        i->learner.page->arrival = i->arrival;
        learner_order(i, ORDER_CHECKPOINT, ACTOR_NONE);
}

static bool checkpoint_is_due(const Invoker *i) {
        uint64_t interval_nsec, now = clock_boottime();

        if (i->has_checkpoint ? i->checkpoint_round == i->number : i->number == 0)
                return false;
        if (i->link.has_plan && i->link.plan.checkpoint)
                return true;
        if (__builtin_mul_overflow(i->settings->checkpoint_usec, 1000u, &interval_nsec))
                return false;
        return now - i->checkpoint_nsec >= interval_nsec;
}

/* Containers may start while the learner does: what they need is known as soon as there is a plan, and a round would wait for both. */
static void start_early(Invoker *i) {
        uint32_t n = i->link.has_plan && i->link.plan.end == PLAN_END_NOT
                                     ? containers_needed(i, i->link.plan.decision.n_actors)
                                     : 0;

        if (!training(i))
                n = i->invoked->launch.n_episodes < i->n_containers
                                    ? (uint32_t) i->invoked->launch.n_episodes
                                    : i->n_containers;
        if (i->policy_read_fd < 0 || i->fused)
                return;
        for (uint32_t k = 0; k < n && i->phase == PHASE_STARTING; k++)
                if (i->containers[k].state == CONTAINER_ABSENT && i->containers[k].starts.n == 0)
                        start_container(i, &i->containers[k]);
}

void conduct_advance(Invoker *i) {
        const Plan *plan = &i->link.plan;
        uint32_t end;

        if (i->end_waits && i->phase != PHASE_LEARNING)
                finish_begin(i, i->end, i->end_fault, i->end_detail, i->end_actor);
        if (i->phase == PHASE_STARTING)
                start_early(i);
        if (i->phase == PHASE_VERIFYING && i->containers[0].state == CONTAINER_ABSENT)
                start_container(i, &i->containers[0]);
        if (i->evaluation.goes_on)
                evaluate_serve(i);

        if (i->phase == PHASE_IDLE) {
                end = end_reached(i);
                /* Neither the end nor a checkpoint leaves an evaluation behind. */
                if (i->evaluation.goes_on && (end != PLAN_END_NOT || checkpoint_is_due(i)))
                        i->phase = PHASE_EVALUATING;
                else if (end != PLAN_END_NOT)
                        finish_begin(i, end, FAULT_NONE, 0, ACTOR_NONE);
                else if (checkpoint_is_due(i)) {
                        i->phase = PHASE_CHECKPOINT;
                        conduct_checkpoint(i);
                } else if (i->link.has_plan && i->number < plan->through_round)
                        begin_round(i);
        }

        if (i->phase == PHASE_ENDING)
                finish_advance(i);
}
