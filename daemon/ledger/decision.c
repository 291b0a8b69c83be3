/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decisions of schedulers: written with the records, and read back with the statistics that the scheduler
 * saw. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "lib/cleanup.h"

#define X_NAME(name, comment) ", " #name
#define X_MARK(name, comment) ", ?"

int ledger_prepare_decisions(Ledger *ledger) {
        return ledger_prepare(ledger,
                        "INSERT OR IGNORE INTO decisions (job, life, round, id, decided, record" ROUND_FACTS(
                                        X_NAME)
                                        DECISION_WHY(X_NAME) ") VALUES (?, ?, ?, ?, ?, ?" ROUND_FACTS(X_MARK)
                                                        DECISION_WHY(X_MARK) ")",
                        &ledger->insert_decision);
}

int ledger_decision_append(Ledger *ledger, uint64_t job, const LedgerDecision *decision) {
        int r;

        assert(ledger);
        assert(decision);

        if (ledger->n_decisions >= LEDGER_PENDING_MAX)
                return -ENOBUFS;
        r = ledger_rows_grow(&ledger->decisions, &ledger->n_decisions_allocated, ledger->n_decisions,
                        sizeof(*ledger->decisions));
        if (r < 0)
                return r;
        ledger->decisions[ledger->n_decisions++] = (struct PendingDecision){ job, *decision };
        return 0;
}

int ledger_insert_decisions(Ledger *ledger) {
        for (size_t i = 0; i < ledger->n_decisions; i++) {
                const LedgerDecision *d = &ledger->decisions[i].decision;
                int r;

#define X(name, comment) , of_u64(d->facts.name)
#define Y(name, comment) , of_u64(d->why.name)
                r = ledger_run(ledger, ledger->insert_decision,
                                VALUES(of_u64(ledger->decisions[i].job), of_u64(d->life), of_u64(d->round),
                                                of_u64(d->id), of_u64(d->n_actors),
                                                of_u64(d->record) ROUND_FACTS(X) DECISION_WHY(Y)));
#undef Y
#undef X
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Several lives of a job (starts of its processes) may have completed the same round: the newest life
 * counts. If the next life begins right before the decision's round, the decision stays in force. So a
 * round's decision may come from the life that completed the round, or from an earlier one. */
static const char decisions_sql[] =
                "WITH RECURSIVE lives(life) AS (SELECT life FROM jobs WHERE id = ?1 UNION ALL "
                "SELECT life - 1 FROM lives WHERE life > 1), "
                "closed AS (SELECT r.round, max(r.life) AS life, r.actor, r.decision_id, "
                "r.decision_n_actors FROM records r JOIN jobs j ON j.id = r.job "
                "  WHERE r.job = ?1 AND r.kind = 6 AND r.round > ?2 AND NOT " REPEATED " GROUP BY r.round) "
                "SELECT coalesce(d.life, closed.life), closed.round, coalesce(d.id, closed.decision_id), "
                "  coalesce(d.record, 0), coalesce(d.decided, closed.decision_n_actors), "
                "coalesce(closed.actor + 1, 0), d.round IS NULL";
#define S_NAME(name, unit)    ", s." #name
#define D_NAME(name, comment) ", d." #name
static const char decisions_columns[] = ", s.n_env_steps, s.n_episodes, s.policy_version" ROUND_FACTS(D_NAME)
                DECISION_WHY(D_NAME) STATISTICS(S_NAME);
static const char decisions_from[] =
                " FROM closed LEFT JOIN decisions d ON d.job = ?1 AND d.round = closed.round AND d.life = "
                "(SELECT max(l.life) "
                "  FROM lives l CROSS JOIN decisions e ON e.job = ?1 AND e.life = l.life "
                "AND e.round = closed.round "
                "  WHERE l.life <= closed.life) "
                "LEFT JOIN statistics s ON s.job = ?1 AND s.life = d.life AND s.seq = d.record "
                "WHERE d.round IS NOT NULL OR closed.actor IS NOT NULL ORDER BY closed.round LIMIT ?3";

static LedgerDecision decision_read(sqlite3_stmt *s) {
        LedgerDecision d = {
                .life = column_u64(s, 0),
                .round = column_u64(s, 1),
                .id = column_u64(s, 2),
                .record = column_u64(s, 3),
                .n_actors = (uint32_t) sqlite3_column_int64(s, 4),
                .taken = (uint32_t) sqlite3_column_int64(s, 5),
                .carried = sqlite3_column_int64(s, 6) != 0,
                .statistics = {
                        .n_env_steps = column_u64(s, 7),
                        .n_episodes = column_u64(s, 8),
                        .policy_version = column_u64(s, 9),
                },
        };
        int at = 10;

#define X(name, comment) d.facts.name = column_u64(s, at++);
        ROUND_FACTS(X)
#undef X
#define X(name, comment) d.why.name = column_u64(s, at++);
        DECISION_WHY(X)
#undef X
#define X(name, unit) d.statistics.name = column_double(s, at++);
        STATISTICS(X)
#undef X
        return d;
}

int ledger_decisions(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerDecision **ret,
                size_t *ret_n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        _cleanup_free_ LedgerDecision *rows = NULL;
        _cleanup_free_ char *sql = NULL;
        size_t n = 0, n_allocated = 0;
        int r;

        assert(ledger);
        assert(ret);
        assert(ret_n);

        if (asprintf(&sql, "%s%s%s", decisions_sql, decisions_columns, decisions_from) < 0)
                return -ENOMEM;
        r = ledger_query(ledger, sql, VALUES(of_u64(job), of_u64(after), of_u64(most)), &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                r = ledger_rows_grow(&rows, &n_allocated, n, sizeof(*rows));
                if (r < 0)
                        return r;
                rows[n++] = decision_read(statement);
        }
        if (r < 0)
                return r;

        *ret_n = n;
        *ret = TAKE_PTR(rows);
        return 0;
}
