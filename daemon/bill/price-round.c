/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The expected cost of a future round. The records that this round would leave go through the same functions
 * as those of past rounds. So a new charge in these functions is part of the expectation, too. */
#include "daemon/bill/price-private.h"

#include <assert.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fragment.h"
#include "lib/saturate.h"

#define LONG_SEC 1000000

static uint64_t start_nsec(uint64_t usec) {
        return saturate_u64((unsigned __int128) usec * 1000);
}

/* The CPU time from which a metered clock would compute this duration. Clock=model measures nothing; there
 * the result is the expected CPU time. */
static uint64_t actor_cpu_nsec(const JobSettings *settings, uint64_t nsec) {
        uint64_t share = clock_share_permille(settings);

        return saturate_u64((unsigned __int128) nsec * (share > 1000 ? 1000 : share) / 1000);
}

/* Adds n equal records. A sum of equal records is a product: Policy=auto asks for the prices of thousands of
 * rounds of thousands of actors. The record has no times, so it adds only to sums. */
static void add_same(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const Record *record, uint32_t n) {
        uint64_t sums[sizeof(Usage) / sizeof(uint64_t)], one[ELEMENTSOF(sums)];
        Usage single = {};

        static_assert(sizeof(sums) == sizeof(Usage), "it must consist of numbers of 64 bits");
        assert(record->metered.end_nsec == 0);

        if (n == 0)
                return;
        usage_add(&single, sheet, settings, record);
        memcpy(one, &single, sizeof(one));
        memcpy(sums, usage, sizeof(sums));
        for (size_t i = 0; i < ELEMENTSOF(sums); i++)
                if (one[i] > 0)
                        sums[i] = saturate_u64((unsigned __int128) one[i] * n + sums[i]);
        memcpy(usage, sums, sizeof(sums));
}

static void add_some_rollouts(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape, bool cold, uint32_t n) {
        Record record = { .kind = RECORD_ROLLOUT, .cold = cold };

        record.metered.cpu_nsec = actor_cpu_nsec(settings, shape->actor_nsec);
        record.metered.emulated_nsec = saturating_add(
                        start_nsec(cold ? settings->cold_usec : settings->warm_usec), shape->actor_nsec);
        add_same(usage, sheet, settings, &record, n);
}

static void add_rollouts(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        uint32_t n_cold = shape->n_cold < shape->n_actors ? shape->n_cold : shape->n_actors;

        add_some_rollouts(usage, sheet, settings, shape, true, n_cold);
        add_some_rollouts(usage, sheet, settings, shape, false, shape->n_actors - n_cold);
}

static void add_updates(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        Record record = { .kind = RECORD_UPDATE, .actor = UINT32_MAX };

        record.metered.cpu_nsec = shape->learner_nsec;
        record.metered.emulated_nsec = shape->learner_nsec;
        add_same(usage, sheet, settings, &record,
                        distribution_learners(distribution_of(settings), settings));
}

/* Parked actors have the numbers after those that act. Numbers from settings_actors_max() on are
 * evaluators'. */
static void add_parked(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape, uint64_t nsec) {
        uint32_t most = settings_actors_max(settings),
                 places = most > shape->n_actors ? most - shape->n_actors : 0,
                 n = shape->n_parked < places ? shape->n_parked : places;
        Record record = { .kind = RECORD_POOL, .actor = shape->n_actors };

        record.metered.emulated_nsec = nsec;
        add_same(usage, sheet, settings, &record, n);
        record.actor += n;
        add_same(usage, sheet, settings, &record, shape->n_parked - n);
}

static uint64_t round_shape_nsec(const JobSettings *settings, const RoundShape *shape) {
        uint64_t start;

        assert(settings);
        assert(shape);

        start = start_nsec(shape->n_cold > 0 ? settings->cold_usec : settings->warm_usec);
        return clock_round_nsec(saturating_add(start, shape->slowest_nsec), shape->learner_nsec);
}

static void add_round(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        Record closed = { .kind = RECORD_ROUND, .actor = UINT32_MAX };

        closed.decision.n_actors = shape->n_actors;
        closed.emulated_round_nsec = round_shape_nsec(settings, shape);
        add_rollouts(usage, sheet, settings, shape);
        add_updates(usage, sheet, settings, shape);
        add_parked(usage, sheet, settings, shape, closed.emulated_round_nsec);
        usage_add(usage, sheet, settings, &closed);
}

/* Adds up by charge and not by line, since a bill has no line for a quantity of 0. */
static void charges_add(const Bill *bill, double sign, RoundPrice *price) {
        for (size_t i = 0; i < bill->n_lines; i++)
                price->charges[bill->lines[i].charge] += sign * bill->lines[i].amount;
}

void price_round(const PriceSheet *sheet, const JobSettings *settings, const RoundShape *shape,
                RoundPrice *ret) {
        Usage usage = {};
        Bill before, after;

        assert(sheet);
        assert(settings);
        assert(shape);
        assert(ret);

        /* Prices the second of two rounds, since a fleet's start is paid for only once. */
        add_round(&usage, sheet, settings, shape);
        bill_make(&usage, sheet, settings, &before);
        add_round(&usage, sheet, settings, shape);
        bill_make(&usage, sheet, settings, &after);

        *ret = (RoundPrice){ .nsec = round_shape_nsec(settings, shape) };
        charges_add(&before, -1, ret);
        charges_add(&after, 1, ret);
        for (Charge c = 0; c < _CHARGE_MAX; c++) {
                ret->full += ret->charges[c];
                if (ret->charges[c] > ret->charges[ret->dearest])
                        ret->dearest = c;
        }
}

double price_learner_second(const PriceSheet *sheet, const JobSettings *settings) {
        RoundPrice shorter, longer;
        /* This record is so long that rounding does not matter. */
        RoundShape shape = { .learner_nsec = LONG_SEC * UINT64_C(1000000000) };

        assert(sheet);
        assert(settings);

        price_round(sheet, settings, &shape, &shorter);
        shape.learner_nsec *= 2;
        price_round(sheet, settings, &shape, &longer);
        return (longer.full - shorter.full) / LONG_SEC /
               distribution_learners(distribution_of(settings), settings);
}
