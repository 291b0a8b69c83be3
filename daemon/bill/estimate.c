/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Estimates the cost that the rounds of a job would have had under other distributions (estimate.h), for
 * GetEstimates() on the bus. Pure.
 *
 * Actors' invocations are the same under all distributions. The distributions differ in the update, which
 * one learner or several compute, and in the containers that exist. Under Clock=model the estimates are
 * exact. Under Clock=metered the time of several learners is estimated from measured constants
 * (distribution_learner_nsec()). */
#include "daemon/bill/estimate.h"

#include <assert.h>

#include "daemon/distribution.h"
#include "lib/clock.h"
#include "lib/fragment.h"
#include "lib/saturate.h"

static const struct {
        uint32_t distribution, n_learners;
} rows[_ESTIMATE_MAX] = {
#define X(name, n) [ESTIMATE_##name##_##n] = { DISTRIBUTION_##name, n },
        ESTIMATES(X)
#undef X
};

uint32_t estimate_distribution(uint32_t row) {
        assert(row < _ESTIMATE_MAX);

        return rows[row].distribution;
}

uint32_t estimate_learners(uint32_t row) {
        assert(row < _ESTIMATE_MAX);

        return rows[row].n_learners;
}

static bool serves(uint32_t distribution) {
        const Distribution *row = distribution_find(distribution);

        return row && distribution_serves(row);
}

static bool same_rounds(uint32_t distribution) {
        const Distribution *row = distribution_find(distribution);

        return !row || row->round_barrier == BARRIER_ALL;
}

const char *estimate_unknown(uint32_t row, const JobSettings *settings) {
        assert(row < _ESTIMATE_MAX);
        assert(settings);

        if (rows[row].distribution == settings->distribution && rows[row].n_learners == settings->n_learners)
                return NULL;
        if (rows[row].distribution == DISTRIBUTION_FUSED && distribution_refuses_fused(settings))
                return distribution_refuses_fused(settings);
        if (!same_rounds(settings->distribution))
                return "its rounds do not wait for all actors, so another distribution would have made "
                       "other rounds";
        /* Under Clock=model, acting costs the same in every process. */
        if (settings->clock == CLOCK_MODEL)
                return NULL;
        if (serves(settings->distribution))
                return "its learner also acted, and the records do not divide its time into acting and "
                       "learning";
        if (serves(rows[row].distribution))
                return "the records do not divide an actor's time into stepping and acting";
        return NULL;
}

static const Record *slowest(const Estimates *e) {
        const Record *record = &e->updates[0];

        for (uint32_t i = 1; i < e->n_updates; i++)
                if (e->updates[i].metered.emulated_nsec > record->metered.emulated_nsec)
                        record = &e->updates[i];
        return record;
}

/* One of j learners needed nsec for its work. Returns the time that one of n learners would need. */
static uint64_t elsewhere_nsec(
                const JobSettings *settings, uint64_t nsec, uint32_t j, uint32_t n, uint64_t n_rows) {
        double one = distribution_alone_nsec(settings, (double) nsec, j, (double) n_rows);

        return saturate_double(distribution_learner_nsec(settings, one, n, (double) n_rows));
}

/* The record of one learner's update if there were n learners. n_rows: the rows of the round. */
static Record update_of(const Estimates *e, const JobSettings *settings, uint32_t n, uint64_t n_rows) {
        Record record = *slowest(e);
        uint64_t cpu_nsec = 0;

        for (uint32_t i = 0; i < e->n_updates; i++)
                cpu_nsec += e->updates[i].metered.cpu_nsec / e->n_updates;
        record.metered.cpu_nsec = elsewhere_nsec(settings, cpu_nsec, e->n_updates, n, n_rows);
        record.metered.emulated_nsec =
                        settings->clock == CLOCK_MODEL
                                        ? clock_update_nsec(settings, 0, n_rows / n)
                                        : elsewhere_nsec(settings, record.metered.emulated_nsec,
                                                          e->n_updates, n, n_rows);
        return record;
}

/* Adds the closed round as it would have been under the distribution of rows[i]: a record for each of its
 * updates, then the record of its end. */
static void close_row(const Estimates *e, uint32_t i, const PriceSheet *sheet, const JobSettings *settings,
                const Record *closed, Usage *usage) {
        uint64_t n_rows = (uint64_t) closed->decision.n_actors * settings->envs_per_actor *
                          settings->rollout_steps;
        uint32_t n = rows[i].n_learners;
        uint64_t before = 0, after = 0;
        Record round = *closed, update;

        if (e->n_updates > 0) {
                before = slowest(e)->metered.emulated_nsec;
                after = before;
        }
        if (n == e->n_updates)
                for (uint32_t k = 0; k < n; k++)
                        usage_add(usage, sheet, settings, &e->updates[k]);
        else if (e->n_updates > 0) {
                update = update_of(e, settings, n, n_rows);
                after = update.metered.emulated_nsec;
                for (uint32_t k = 0; k < n; k++)
                        usage_add(usage, sheet, settings, &update);
        }
        if (round.emulated_round_nsec >= before)
                round.emulated_round_nsec = clock_round_nsec(round.emulated_round_nsec - before, after);
        usage_add(usage, sheet, settings, &round);
}

static void close_round(
                Estimates *e, const PriceSheet *sheet, const JobSettings *settings, const Record *closed) {
        for (uint32_t i = 0; i < _ESTIMATE_MAX; i++) {
                for (uint32_t k = e->n_starts; k < rows[i].n_learners && !e->started && e->n_starts > 0; k++)
                        usage_add(&e->usage[i], sheet, settings, &e->start);
                close_row(e, i, sheet, settings, closed, &e->usage[i]);
        }
        e->started = true;
        e->n_updates = 0;
}

static void add_start(
                Estimates *e, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        for (uint32_t i = 0; i < _ESTIMATE_MAX; i++)
                if (e->n_starts < rows[i].n_learners)
                        usage_add(&e->usage[i], sheet, settings, record);
        if (e->n_starts == 0)
                e->start = *record;
        e->n_starts++;
}

/* An update whose round never ended is billed as waste, so it counts in full under each distribution. */
static void drop_round(Estimates *e, const PriceSheet *sheet, const JobSettings *settings) {
        for (uint32_t k = 0; k < e->n_updates; k++)
                for (uint32_t i = 0; i < _ESTIMATE_MAX; i++)
                        usage_add(&e->usage[i], sheet, settings, &e->updates[k]);
        e->n_updates = 0;
}

static bool is_container(const JobSettings *settings, const Record *record) {
        return (record->kind == RECORD_WORKER || record->kind == RECORD_POOL) &&
               record->actor < settings_actors_max(settings);
}

void estimates_add(
                Estimates *e, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        assert(e);
        assert(sheet);
        assert(settings);
        assert(record);

        if (record->life != e->life) {
                drop_round(e, sheet, settings);
                e->life = record->life;
                e->n_starts = 0;
                e->started = false;
        }
        if (record->kind == RECORD_UPDATE && e->n_updates < GRADIENT_PARTS)
                e->updates[e->n_updates++] = *record;
        else if (record->kind == RECORD_ROUND)
                close_round(e, sheet, settings, record);
        else if (record->kind == RECORD_WORKER && record->actor == UINT32_MAX)
                add_start(e, sheet, settings, record);
        else
                for (uint32_t i = 0; i < _ESTIMATE_MAX; i++)
                        if (rows[i].distribution != DISTRIBUTION_FUSED || !is_container(settings, record))
                                usage_add(&e->usage[i], sheet, settings, record);
}
