/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The expected cost of a future round. The records that this round would leave go through the same functions
 * as those of past rounds. So a new charge in these functions is part of the expectation, too. */
#include "daemon/bill/price-private.h"

#include <assert.h>

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

static void add_rollouts(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        for (uint32_t a = 0; a < shape->n_actors; a++) {
                Record record = { .kind = RECORD_ROLLOUT, .actor = a, .cold = a < shape->n_cold };
                uint64_t start = start_nsec(record.cold ? settings->cold_usec : settings->warm_usec);

                record.metered.cpu_nsec = actor_cpu_nsec(settings, shape->actor_nsec);
                record.metered.emulated_nsec = saturating_add(start, shape->actor_nsec);
                usage_add(usage, sheet, settings, &record);
        }
}

static void add_updates(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape) {
        uint32_t n = distribution_learners(distribution_of(settings), settings);
        Record record = { .kind = RECORD_UPDATE, .actor = UINT32_MAX };

        record.metered.cpu_nsec = shape->learner_nsec;
        record.metered.emulated_nsec = shape->learner_nsec;
        for (uint32_t k = 0; k < n; k++)
                usage_add(usage, sheet, settings, &record);
}

static void add_parked(Usage *usage, const PriceSheet *sheet, const JobSettings *settings,
                const RoundShape *shape, uint64_t nsec) {
        for (uint32_t a = 0; a < shape->n_parked; a++) {
                Record record = { .kind = RECORD_POOL, .actor = shape->n_actors + a };

                record.metered.emulated_nsec = nsec;
                usage_add(usage, sheet, settings, &record);
        }
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
