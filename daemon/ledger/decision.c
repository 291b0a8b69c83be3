/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decisions of schedulers: queued and written with the records, read back with the statistics that they
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
        assert(ledger);
        assert(decision);

        if (ledger->n_decisions >= LEDGER_PENDING_MAX)
                return -ENOBUFS;
        if (ledger->n_decisions == ledger->n_decisions_allocated) {
                size_t n = ledger->n_decisions_allocated ? ledger->n_decisions_allocated * 2 : 64;
                struct PendingDecision *grown = reallocarray(ledger->decisions, n, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                ledger->decisions = grown;
                ledger->n_decisions_allocated = n;
        }
        ledger->decisions[ledger->n_decisions++] = (struct PendingDecision){ job, *decision };
        return 0;
}

int ledger_insert_decisions(Ledger *ledger) {
        sqlite3_stmt *s = ledger->insert_decision;

        for (size_t i = 0; i < ledger->n_decisions; i++) {
                const LedgerDecision *d = &ledger->decisions[i].decision;
                int at = 7, r;

                bind_u64(s, 1, ledger->decisions[i].job);
                bind_u64(s, 2, d->life);
                bind_u64(s, 3, d->round);
                bind_u64(s, 4, d->id);
                bind_u64(s, 5, d->n_actors);
                bind_u64(s, 6, d->record);
#define X(name, comment) bind_u64(s, at++, d->facts.name);
                ROUND_FACTS(X)
#undef X
#define X(name, comment) bind_u64(s, at++, d->why.name);
                DECISION_WHY(X)
#undef X
                r = ledger_step_done(ledger, s);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A round may have been closed by several lives: the newest one counts, unless a still newer one repeats
 * that round. A decision lasts into the next life when that begins right before its round, so it is of
 * the life that closed the round or of one before. */
static const char decisions_sql[] =
                "WITH RECURSIVE lives(life) AS (SELECT life FROM jobs WHERE id = ?1 UNION ALL "
                "SELECT life - 1 FROM lives WHERE life > 1), "
                "closed AS (SELECT r.round, max(r.life) AS life, r.actor, r.decision_id, "
                "r.decision_n_actors FROM records r JOIN jobs j ON j.id = r.job "
                "  WHERE r.job = ?1 AND r.kind = 6 AND r.round > ?2 AND NOT (r.life < j.life "
                "AND r.seq > coalesce("
                "    (SELECT max(c.seq) FROM checkpoints c WHERE c.job = r.job AND c.life = r.life), 0)) "
                "GROUP BY r.round) "
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
                .life = (uint64_t) sqlite3_column_int64(s, 0),
                .round = (uint64_t) sqlite3_column_int64(s, 1),
                .id = (uint64_t) sqlite3_column_int64(s, 2),
                .record = (uint64_t) sqlite3_column_int64(s, 3),
                .n_actors = (uint32_t) sqlite3_column_int64(s, 4),
                .taken = (uint32_t) sqlite3_column_int64(s, 5),
                .carried = sqlite3_column_int64(s, 6) != 0,
                .statistics = {
                        .n_env_steps = (uint64_t) sqlite3_column_int64(s, 7),
                        .n_episodes = (uint64_t) sqlite3_column_int64(s, 8),
                        .policy_version = (uint64_t) sqlite3_column_int64(s, 9),
                },
        };
        int at = 10;

#define X(name, comment) d.facts.name = (uint64_t) sqlite3_column_int64(s, at++);
        ROUND_FACTS(X)
#undef X
#define X(name, comment) d.why.name = (uint64_t) sqlite3_column_int64(s, at++);
        DECISION_WHY(X)
#undef X
#define X(name, unit) d.statistics.name = column_double(s, at++);
        STATISTICS(X)
#undef X
        return d;
}

typedef struct Decisions {
        LedgerDecision *rows;
        size_t n, n_allocated;
} Decisions;

static void decisions_done(Decisions *decisions) {
        free(decisions->rows);
}

static int decision_add(sqlite3_stmt *statement, void *userdata) {
        Decisions *decisions = userdata;
        int r;

        r = ledger_rows_grow(
                        &decisions->rows, &decisions->n_allocated, decisions->n, sizeof(*decisions->rows));
        if (r < 0)
                return r;
        decisions->rows[decisions->n++] = decision_read(statement);
        return 0;
}

int ledger_decisions(Ledger *ledger, uint64_t job, uint64_t after, unsigned most, LedgerDecision **ret,
                size_t *ret_n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        _cleanup_(decisions_done) Decisions decisions = {};
        _cleanup_free_ char *sql = NULL;
        int r;

        assert(ledger);
        assert(ret);
        assert(ret_n);

        if (asprintf(&sql, "%s%s%s", decisions_sql, decisions_columns, decisions_from) < 0)
                return -ENOMEM;
        r = ledger_prepare(ledger, sql, &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, job);
        bind_u64(statement, 2, after);
        bind_u64(statement, 3, most);

        r = ledger_each(ledger, statement, decision_add, &decisions);
        if (r < 0)
                return r;

        *ret_n = decisions.n;
        *ret = TAKE_PTR(decisions.rows);
        return 0;
}
