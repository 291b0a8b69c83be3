/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds that overlap: a distribution whose learner goes on with whoever is ready. What makes such a job repeatable is here. Under Clock=model
 * the learner waits for whoever would come first by the model's costs, whoever it really was; a decision that names an actor, as one that
 * is repeated does, is obeyed; and otherwise who came first stands in the round's record. */
#include <assert.h>
#include <errno.h>

#include "invoker/invoker.h"

static uint64_t invocation_steps(const Invoker *i) {
        return (uint64_t) i->page->segment.envs * i->page->segment.steps;
}

/* Whoever begins, does with the newest version; all others go on with theirs. */
int overlap_begin(Invoker *i) {
        arrival_begin(&i->arrival, i->settings, i->decision.n_actors, i->policy_version);
        return i->decision.taken > 0 && !arrival_acts(&i->arrival, i->decision.taken - 1) ? -ESRCH : 0;
}

uint32_t overlap_next(const Invoker *i) {
        uint32_t actor;

        if (i->decision.taken > 0)
                actor = i->decision.taken - 1;
        else if (i->settings->clock == CLOCK_MODEL)
                actor = arrival_next(&i->arrival, i->settings, invocation_steps(i));
        else
                return round_rolled(i->round);
        return actor != ACTOR_NONE && i->round->seats[actor].state == SEAT_ROLLED ? actor : ACTOR_NONE;
}

void overlap_learned(Invoker *i, uint64_t update_nsec) {
        uint64_t rollout_nsec = round_slowest_nsec(i->round);

        for (uint32_t a = 0; a < i->n_actors; a++)
                if (i->round->seats[a].state == SEAT_TAKEN)
                        i->taken = a;
        i->emulated_round_nsec = arrival_take(&i->arrival, i->taken, rollout_nsec, update_nsec);
}

void overlap_resume(Invoker *i) {
        for (uint32_t a = 0; a < i->n_actors; a++)
                if (arrival_acts(&i->arrival, a))
                        round_resume(i->round, a);
}

void overlap_name_policy(const Invoker *i, uint32_t actor, Order *order) {
        const Flight *flight = &i->arrival.flights[actor];

        assert(actor < i->n_actors);

        if (!arrival_acts(&i->arrival, actor))
                return;
        order->policy_version = flight->policy_version;
        order->policy_bank = (uint32_t) flight->policy_bank;
}

bool overlap_is_cold(const Invoker *i, uint32_t actor, bool fresh) {
        bool modelled = i->settings->clock == CLOCK_MODEL && arrival_acts(&i->arrival, actor);

        return modelled ? i->arrival.flights[actor].state == FLIGHT_COLD : fresh;
}
