/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules by which actors change their state in a round. */
#include "invoker/round.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "lib/saturate.h"

void round_init(Round *round, uint32_t n_seats, uint32_t n_containers) {
        assert(round);
        assert(n_seats > 0 && n_seats <= ACTORS_MAX);
        assert(n_containers > 0 && n_containers <= n_seats);

        /* Memory beyond the job's actors is never touched. */
        memset(round, 0, offsetof(Round, queue));
        memset(round->queue, 0, n_seats * sizeof(round->queue[0]));
        memset(round->seats, 0, n_seats * sizeof(round->seats[0]));
        round->n_seats = n_seats;
        round->n_containers = n_containers;
}

static void seat_begin(Seat *seat) {
        seat->state = SEAT_WAITING;
        seat->attempts = (Attempts){};
        seat->cold = false;
        seat->metered = (Metered){};
        seat->slept_nsec = 0;
        seat->emulated_nsec = 0;
}

void round_begin(Round *round, uint64_t number, uint32_t n_actors, uint32_t n_rollouts) {
        assert(round);
        assert(n_actors > 0 && n_actors <= round->n_seats);
        assert(n_rollouts > 0 && n_rollouts <= n_actors);

        round->number = number;
        round->n_actors = n_actors;
        round->n_rollouts = n_rollouts;
        round->n_taken = 0;
        for (uint32_t a = 0; a < n_actors; a++)
                if (round->seats[a].state == SEAT_IDLE)
                        seat_begin(&round->seats[a]);
}

void round_resume(Round *round, uint32_t actor) {
        assert(actor < round->n_seats);
        assert(round->seats[actor].state == SEAT_IDLE);

        seat_begin(&round->seats[actor]);
}

bool round_needs(const Round *round, uint32_t container) {
        for (uint32_t a = container; a < round->n_seats; a += round->n_containers)
                if (round->seats[a].state != SEAT_IDLE)
                        return true;
        return false;
}

uint32_t round_waiting(const Round *round, uint32_t container) {
        for (uint32_t a = container; a < round->n_seats; a += round->n_containers)
                if (round->seats[a].state == SEAT_WAITING)
                        return a;
        return ACTOR_NONE;
}

uint32_t round_rolled(const Round *round) {
        return round->n_queued > 0 ? round->queue[round->queue_first] : ACTOR_NONE;
}

static Seat *seat_in(Round *round, uint32_t actor, SeatState state) {
        assert(actor < round->n_seats);
        assert(round->seats[actor].state == state);

        return &round->seats[actor];
}

void round_order(Round *round, uint32_t actor, bool cold) {
        Seat *seat = seat_in(round, actor, SEAT_WAITING);

        seat->state = SEAT_ROLLING;
        seat->cold = cold;
}

void round_answer(Round *round, uint32_t actor) {
        seat_in(round, actor, SEAT_ROLLING)->state = SEAT_ROLLED;

        assert(round->n_queued < round->n_seats);
        round->queue[(round->queue_first + round->n_queued++) % round->n_seats] = actor;
}

static uint32_t *queue_at(Round *round, uint32_t i) {
        return &round->queue[(round->queue_first + i) % round->n_seats];
}

/* Takes a rollout out of the queue. The other rollouts keep their order. */
void round_take(Round *round, uint32_t actor) {
        uint32_t i = 0;

        seat_in(round, actor, SEAT_ROLLED)->state = SEAT_TAKING;
        while (i < round->n_queued && *queue_at(round, i) != actor)
                i++;
        assert(i < round->n_queued);

        for (; i > 0; i--)
                *queue_at(round, i) = *queue_at(round, i - 1);
        round->queue_first = (round->queue_first + 1) % round->n_seats;
        round->n_queued--;
}

void round_accept(Round *round, uint32_t actor) {
        seat_in(round, actor, SEAT_TAKING)->state = SEAT_TAKEN;
        round->n_taken++;
}

bool attempts_fail(Attempts *attempts, uint32_t n_retries, uint32_t fault, int32_t detail) {
        attempts->n++;
        if (fault_is_kill(fault, detail))
                return ++attempts->n_killed <= KILLS_MAX;
        if (fault == FAULT_NODE) {
                attempts->n_lost++;
                return true;
        }
        return attempts->n - attempts->n_killed - attempts->n_lost <= n_retries;
}

bool round_fail(Round *round, uint32_t actor, uint32_t n_retries, uint32_t fault, int32_t detail) {
        Seat *seat = &round->seats[actor];

        assert(actor < round->n_seats);
        /* A rollout in the queue is complete, even if its process dies now. */
        assert(seat->state == SEAT_WAITING || seat->state == SEAT_ROLLING || seat->state == SEAT_TAKING);

        seat->state = SEAT_WAITING;
        seat->metered = (Metered){};
        seat->slept_nsec = 0;
        return attempts_fail(&seat->attempts, n_retries, fault, detail);
}

void round_close(Round *round) {
        assert(round_is_complete(round));

        for (uint32_t a = 0; a < round->n_seats; a++) {
                Seat *seat = &round->seats[a];

                if (seat->state != SEAT_TAKEN)
                        continue;
                seat->bank ^= 1;
                seat->ordinal++;
                seat->state = SEAT_IDLE;
        }
        round->n_actors = round->n_rollouts = round->n_taken = 0;
}

void round_abandon(Round *round) {
        for (uint32_t a = 0; a < round->n_seats; a++)
                round->seats[a].state = SEAT_IDLE;
        round->n_actors = round->n_rollouts = round->n_taken = round->n_queued = 0;
}

void round_cpu_nsec(const Round *round, uint64_t *ret_sum, uint64_t *ret_most) {
        *ret_sum = *ret_most = 0;
        for (uint32_t a = 0; a < round->n_seats; a++) {
                uint64_t nsec = round->seats[a].metered.cpu_nsec;

                if (round->seats[a].state != SEAT_TAKEN)
                        continue;
                *ret_sum = saturating_add(*ret_sum, nsec);
                if (nsec > *ret_most)
                        *ret_most = nsec;
        }
}

uint64_t round_slowest_nsec(const Round *round) {
        uint64_t slowest = 0;

        for (uint32_t a = 0; a < round->n_seats; a++) {
                uint64_t nsec = round->seats[a].emulated_nsec + round->seats[a].metered.emulated_nsec;

                if (round->seats[a].state == SEAT_TAKEN && nsec > slowest)
                        slowest = nsec;
        }
        return slowest;
}
