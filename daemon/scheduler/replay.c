/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=replay:JOB and Policy=permuted:JOB: they use the numbers of actors of another job's rounds. The
 * submitter passes these as 32-bit numbers in the order of the rounds. replay repeats the numbers, so a
 * repeated run under Clock=metered gives the same bits. Where rounds overlap, the numbers also say which
 * actor each round took. permuted has the same numbers in another order, drawn from this job's seed. It is a
 * control: it spends as much as the other job, without its reasons. Rounds after the last number use that
 * number. */
#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "lib/fragment.h"
#include "lib/rng.h"
#include "lib/settings/print.h"

static uint32_t word_at(const void *data, uint64_t i) {
        uint32_t n;

        memcpy(&n, (const uint8_t *) data + i * sizeof(n), sizeof(n));
        return n;
}

static uint32_t count_at(const SchedulerView *view, uint64_t i) {
        return word_at(view->data, i) & DECISION_ACTORS_MASK;
}

static uint64_t n_counts(const SchedulerView *view) {
        assert(view->data && view->n_data >= sizeof(uint32_t));
        return view->n_data / sizeof(uint32_t);
}

static uint32_t replay_count(const SchedulerView *view, SchedulerState *state) {
        uint64_t n = n_counts(view);

        if (view->round < n && distribution_overlaps(distribution_of(view->settings)))
                state->taken = word_at(view->data, view->round) >> DECISION_TAKEN_SHIFT;
        return count_at(view, view->round < n ? view->round : n - 1);
}

/* "Algorithm 235: Random permutation" (Durstenfeld) exchanges place i with a place j_i <= i, for i from the
 * last place down. Each j_i has a random stream of its own. */
static uint64_t exchanged_with(const JobSettings *settings, uint64_t i) {
        ActordRandom random;

        random_begin(&random, settings->seed, RANDOM_SCALING, SCHEDULER_STREAM_PERMUTED, i, 0);
        return random_below(&random, (uint32_t) i + 1);
}

/* Finds the value that ends at one place, by undoing the exchanges from this place upwards. */
static uint64_t permuted_place(const JobSettings *settings, uint64_t n, uint64_t place) {
        for (uint64_t i = place > 0 ? place : 1; i < n; i++) {
                uint64_t j = exchanged_with(settings, i);

                if (place == i)
                        place = j;
                else if (place == j)
                        place = i;
        }
        return place;
}

/* The values of all places, g_free(); NULL: there is no memory. */
static uint32_t *permutation_new(const JobSettings *settings, uint64_t n) {
        uint32_t *order = g_try_new(uint32_t, n);

        for (uint64_t i = 0; order && i < n; i++)
                order[i] = (uint32_t) i;
        for (uint64_t i = n - 1; order && i > 0; i--) {
                uint64_t j = exchanged_with(settings, i);
                uint32_t value = order[i];

                order[i] = order[j];
                order[j] = value;
        }
        return order;
}

/* One place of 262,144 takes as long as all of them, some 10 ms, and a job may have decisions without
 * number. */
static uint32_t permuted_count(const SchedulerView *view, SchedulerState *state) {
        uint64_t n = n_counts(view), round = view->round < n ? view->round : n - 1;

        if (view->cache && !view->cache->order)
                view->cache->order = permutation_new(view->settings, n);
        if (view->cache && view->cache->order)
                return count_at(view, view->cache->order[round]);
        return count_at(view, permuted_place(view->settings, n, round));
}

static int counts_check(const JobSettings *settings, const void *data, size_t n_data, char **ret_message) {
        const char *word = choice_scheduler_to_string(settings->scheduler.kind);

        if (n_data == 0) {
                *ret_message = g_strdup_printf(
                                "Policy=%s needs the decisions of a job, which were not sent along: "
                                "submit the file with actorctl",
                                word);
                return -EINVAL;
        }
        if (n_data % sizeof(uint32_t) != 0) {
                *ret_message = g_strdup_printf(
                                "the data of Policy=%s is not a list of 32-bit numbers", word);
                return -EINVAL;
        }
        for (size_t i = 0; i < n_data / sizeof(uint32_t); i++) {
                uint32_t n = word_at(data, i) & DECISION_ACTORS_MASK;

                if (n < scheduler_lowest(settings) || n > scheduler_highest(settings)) {
                        *ret_message = g_strdup_printf("Policy=%s:%s: round %zu had %u actors, and this job "
                                                       "allows %u to %u",
                                        word, settings->scheduler.argument, i + 1, n,
                                        scheduler_lowest(settings), scheduler_highest(settings));
                        return -EINVAL;
                }
        }
        return 0;
}

/* Checks which actor each round took: the actors of a round follow from the counts and from the actors that
 * were taken before. */
static int taken_check(const JobSettings *settings, const void *data, size_t n_data, char **ret_message) {
        bool acts[ACTORS_MAX] = {}, known = true;

        for (size_t i = 0; i < n_data / sizeof(uint32_t); i++) {
                uint32_t taken = word_at(data, i) >> DECISION_TAKEN_SHIFT;

                for (uint32_t a = 0; a < (word_at(data, i) & DECISION_ACTORS_MASK); a++)
                        acts[a] = true;
                if (taken == 0) {
                        known = false;
                        continue;
                }
                if (!known || taken > ACTORS_MAX || !acts[taken - 1]) {
                        *ret_message = g_strdup_printf(
                                        "Policy=replay:%s: round %zu took actor %u, which did not act then: "
                                        "these are not the decisions of one run",
                                        settings->scheduler.argument, i + 1, taken - 1);
                        return -EINVAL;
                }
                acts[taken - 1] = false;
        }
        return 0;
}

static int replay_check(const JobSettings *settings, const void *data, size_t n_data, char **ret_message) {
        int r = counts_check(settings, data, n_data, ret_message);

        if (r < 0 || !distribution_overlaps(distribution_of(settings)))
                return r;
        return taken_check(settings, data, n_data, ret_message);
}

const Scheduler scheduler_REPLAY = { .count = replay_count, .check = replay_check },
                scheduler_PERMUTED = { .count = permuted_count, .check = counts_check };
