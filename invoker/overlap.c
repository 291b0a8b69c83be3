/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds that overlap: the learner continues with any actor that is ready. This file makes such a job
 * repeatable. Under Clock=model the learner waits for the actor that would come first by the model's costs,
 * even if another actor really came first. With replay, a decision of another job names an actor, and the
 * learner waits for this actor. In all other cases, the round's record names the actor that really came
 * first. */
#include <assert.h>
#include <errno.h>

#include "invoker/progress.h"
#include "lib/saturate.h"

static uint64_t invocation_steps(const Placement *place) {
        return (uint64_t) place->page->segment.envs * place->page->segment.steps;
}

/* Actors that begin a rollout act with the newest version; other actors go on with their own version. */
int overlap_begin(Progress *progress, const Placement *place) {
        uint32_t taken = progress->decision.taken;

        arrival_begin(&progress->arrival, place->settings, progress->decision.n_actors,
                        progress->policy_version);
        return taken > 0 && !arrival_acts(&progress->arrival, taken - 1) ? -ESRCH : 0;
}

uint32_t overlap_next(const Progress *progress, const Placement *place) {
        uint32_t actor;

        if (progress->decision.taken > 0)
                actor = progress->decision.taken - 1;
        else if (place->settings->clock == CLOCK_MODEL)
                actor = arrival_next(&progress->arrival, place->settings, invocation_steps(place));
        else
                return round_rolled(progress->round);
        if (actor != ACTOR_NONE && progress->round->seats[actor].state != SEAT_ROLLED)
                return ACTOR_NONE;
        return actor;
}

void overlap_learned(Progress *progress, uint64_t update_nsec) {
        uint64_t rollout_nsec = round_slowest_nsec(progress->round), came_nsec, busy_nsec,
                 waited_nsec = progress->waited_nsec;
        Arrival *arrival = &progress->arrival;

        for (uint32_t a = 0; a < progress->round->n_seats; a++)
                if (progress->round->seats[a].state == SEAT_TAKEN)
                        progress->taken = a;
        /* While the learner was busy with the update before, a wait for nodes did not lengthen the round. So
         * only the rest of the wait counts. */
        came_nsec = saturating_add(arrival->flights[progress->taken].started_nsec, rollout_nsec);
        busy_nsec = arrival->free_nsec > came_nsec ? arrival->free_nsec - came_nsec : 0;
        progress->waited_nsec = waited_nsec > busy_nsec ? waited_nsec - busy_nsec : 0;
        progress->emulated_round_nsec = arrival_take(
                        arrival, progress->taken, saturating_add(rollout_nsec, waited_nsec), update_nsec);
}

void overlap_resume(Progress *progress) {
        for (uint32_t a = 0; a < progress->round->n_seats; a++)
                if (arrival_acts(&progress->arrival, a))
                        round_resume(progress->round, a);
}

void overlap_name_policy(const Progress *progress, const Placement *place, uint32_t actor, Order *order) {
        const Flight *flight = &progress->arrival.flights[actor];

        assert(actor < place->n_actors);

        if (!arrival_acts(&progress->arrival, actor))
                return;
        order->policy_version = flight->policy_version;
        order->policy_bank = (uint32_t) flight->policy_bank;
}

bool overlap_is_cold(const Progress *progress, const Placement *place, uint32_t actor, bool fresh) {
        bool modelled = place->settings->clock == CLOCK_MODEL && arrival_acts(&progress->arrival, actor);

        return modelled ? progress->arrival.flights[actor].state == FLIGHT_COLD : fresh;
}
