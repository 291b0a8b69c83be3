/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The columns: counts, every statistic of the learner and of evaluations, then what had accrued at the
 * round's end. */
#include "daemon/series.h"

#include <assert.h>

/* X(name, field of LedgerRound) */
#define COUNTS(X)                            \
        X(round, round)                      \
        X(actors, n_actors)                  \
        X(env_steps, statistics.n_env_steps) \
        X(episodes, statistics.n_episodes)   \
        X(policy_version, statistics.policy_version)

static const char *const names[] = {
#define X(name, ...) #name,
        COUNTS(X) STATISTICS(X) ACCRUALS(X)
#undef X
};

size_t series_columns(void) {
        return sizeof(names) / sizeof(names[0]);
}

const char *series_name(size_t column) {
        assert(column < series_columns());
        return names[column];
}

void series_row(const LedgerRound *round, const Accrual *accrual, double *ret) {
        size_t at = 0;

        assert(round);
        assert(accrual);
        assert(ret);

#define X(name, field) ret[at++] = (double) round->field;
        COUNTS(X)
#undef X
#define X(name, unit) ret[at++] = round->statistics.name;
        STATISTICS(X)
#undef X
#define X(name) ret[at++] = accrual->name;
        ACCRUALS(X)
#undef X
        assert(at == series_columns());
}
