/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Simulates actors whose rollouts overlap, one update after another (Policy=async). Sums of times
 * saturate, like all times of the emulated clock. */
#include "lib/arrival.h"

#include <assert.h>

#include "lib/clock.h"
#include "lib/saturate.h"
#include "lib/warm.h"

void arrival_begin(
                Arrival *arrival, const JobSettings *settings, uint32_t n_actors, uint64_t policy_version) {
        uint32_t most = settings_actors_max(settings);
        WarmRest rest = warm_rest(settings);

        assert(arrival);
        assert(n_actors > 0 && n_actors <= most && most <= ACTORS_MAX);

        for (uint32_t a = 0; a < most; a++) {
                Flight *flight = &arrival->flights[a];

                if (arrival_acts(arrival, a))
                        continue;
                if (a < n_actors)
                        *flight = (Flight){
                                .state = flight->state == FLIGHT_IDLE ? FLIGHT_WARM : FLIGHT_COLD,
                                .started_nsec = arrival->free_nsec,
                                .policy_version = policy_version,
                                .policy_bank = arrival->policy_bank,
                        };
                else if (flight->state == FLIGHT_IDLE &&
                                !warm_keeps(&rest, arrival->free_nsec - flight->started_nsec))
                        flight->state = FLIGHT_ABSENT;
        }
}

uint32_t arrival_next(const Arrival *arrival, const JobSettings *settings, uint64_t n_steps) {
        uint64_t cold_nsec, warm_nsec, first_nsec = 0;
        uint32_t first = UINT32_MAX;

        assert(arrival);

        cold_nsec = clock_invocation_nsec(settings, 0, n_steps, true);
        warm_nsec = clock_invocation_nsec(settings, 0, n_steps, false);
        for (uint32_t a = 0; a < settings_actors_max(settings); a++) {
                const Flight *flight = &arrival->flights[a];
                uint64_t nsec = saturating_add(
                                flight->started_nsec, flight->state == FLIGHT_COLD ? cold_nsec : warm_nsec);

                if (!arrival_acts(arrival, a) || (first != UINT32_MAX && nsec >= first_nsec))
                        continue;
                first = a;
                first_nsec = nsec;
        }
        return first;
}

uint64_t arrival_take(Arrival *arrival, uint32_t actor, uint64_t rollout_nsec, uint64_t update_nsec) {
        Flight *flight = &arrival->flights[actor];
        uint64_t before_nsec, came_nsec;

        assert(arrival_acts(arrival, actor));

        before_nsec = arrival->free_nsec;
        came_nsec = saturating_add(flight->started_nsec, rollout_nsec);
        arrival->free_nsec = saturating_add(came_nsec > before_nsec ? came_nsec : before_nsec, update_nsec);
        *flight = (Flight){ .state = FLIGHT_IDLE, .started_nsec = arrival->free_nsec };
        return arrival->free_nsec - before_nsec;
}

static bool bank_is_used(const Arrival *arrival, uint32_t n_actors, uint64_t bank) {
        if (bank == arrival->policy_bank)
                return true;
        for (uint32_t a = 0; a < n_actors; a++)
                if (arrival_acts(arrival, a) && arrival->flights[a].policy_bank == bank)
                        return true;
        return false;
}

uint32_t arrival_bank(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks) {
        uint64_t bank;

        assert(arrival);

        bank = arrival->policy_bank;
        for (uint32_t i = 0; i < n_banks && bank_is_used(arrival, n_actors, bank); i++)
                bank = (bank + 1) % n_banks;
        assert(!bank_is_used(arrival, n_actors, bank));
        return (uint32_t) bank;
}

bool arrival_possible(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks, uint64_t policy_version) {
        assert(arrival);
        assert(n_actors <= ACTORS_MAX);

        if (arrival->policy_bank >= n_banks)
                return false;
        for (uint32_t a = 0; a < n_actors; a++) {
                const Flight *flight = &arrival->flights[a];

                if (flight->state >= _FLIGHT_STATE_MAX || flight->started_nsec > arrival->free_nsec ||
                                flight->policy_bank >= n_banks || flight->policy_version > policy_version)
                        return false;
        }
        return true;
}
