/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that could not be written go into a small ledger in another place, and are copied into the job's
 * own ledger later. Each row has its number, so copying it twice changes nothing. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <stdio.h>

int ledger_job_put(Ledger *ledger, const LedgerJob *job) {
        LedgerJob copy = *job;
        int r;

        assert(ledger);
        assert(job);

        r = ledger_job_add(ledger, &copy);
        if (r < 0)
                return r;
        r = ledger_write(ledger, "UPDATE jobs SET id = ? WHERE id = ?",
                        VALUES(of_u64(job->id), of_u64(copy.id)));
        return r < 0 ? r : ledger_job_update(ledger, job);
}

int ledger_rest_write(Ledger *from, Ledger *to) {
        int r;

        assert(from);
        assert(to);
        assert(ledger_n_pending(to) == 0);

        r = ledger_begin(to);
        if (r < 0)
                return r;
        /* lends the queues of `from` to `to`, which writes them */
        to->pending = from->pending;
        to->n_pending = from->n_pending;
        to->decisions = from->decisions;
        to->n_decisions = from->n_decisions;
        to->checkpoints = from->checkpoints;
        to->n_checkpoints = from->n_checkpoints;
        to->ends = from->ends;
        to->n_ends = from->n_ends;
        r = ledger_end(to, ledger_insert_pending(to));
        to->pending = NULL;
        to->decisions = NULL;
        to->checkpoints = NULL;
        to->ends = NULL;
        to->n_pending = to->n_decisions = to->n_checkpoints = to->n_ends = 0;
        return r;
}

/* Copies columns by name, since their order differs if a schema has grown. */
static int take_table(Ledger *ledger, const char *table) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        char sql[4096];
        const char *names;
        int r, n;

        (void) snprintf(sql, sizeof(sql), "SELECT group_concat(name) FROM pragma_table_info('%s', 'rest')",
                        table);
        r = ledger_prepare(ledger, sql, &statement);
        if (r < 0)
                return r;
        if (sqlite3_step(statement) != SQLITE_ROW)
                return -EUCLEAN;
        names = column_string(statement, 0);
        n = snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO main.%s (%s) SELECT %s FROM rest.%s", table,
                        names ? names : "", names ? names : "", table);
        if (!names || n < 0 || (size_t) n >= sizeof(sql))
                return -EUCLEAN;
        return ledger_exec(ledger, sql);
}

#define TAKE(name, unit)    ", " #name " = e." #name
#define OF_REST(name, unit) ", s." #name
#define METRICS_TAKE        EVALUATION_METRIC_STATISTICS(TAKE)
#define METRICS_OF_REST     EVALUATION_METRIC_STATISTICS(OF_REST)
static const char *const take_rows[] = {
        /* Writes the results of evaluations that ended after their rounds into the rows of these rounds. */
        "UPDATE main.statistics SET evaluation_mean = e.evaluation_mean, "
        "evaluation_sd = e.evaluation_sd" METRICS_TAKE " FROM "
        "(SELECT r.job, r.life, r.ordinal, "
        "s.evaluation_mean, s.evaluation_sd" METRICS_OF_REST " FROM rest.records r "
        "JOIN rest.statistics s USING (job, life, seq) "
        "WHERE r.kind = 10) e WHERE statistics.job = e.job AND statistics.life = e.life "
        "AND statistics.seq = e.ordinal",
        "INSERT INTO main.totals SELECT * FROM rest.totals WHERE EXISTS (SELECT 1 FROM main.jobs j "
        "JOIN rest.jobs r USING (id) "
        "WHERE j.summary IS NULL AND r.summary IS NOT NULL) ON CONFLICT DO UPDATE SET " LEDGER_TOTALS,
        "UPDATE main.jobs SET frozen_usec = 0, life = r.life, started_usec = r.started_usec, "
        "ended_usec = r.ended_usec, "
        "state = r.state, "
        "result = r.result, fault = r.fault, policy_sha256 = r.policy_sha256, summary = r.summary, "
        "tag = r.tag, "
        "rounds = r.rounds, env_steps = r.env_steps, return_mean = r.return_mean, cost_full = r.cost_full "
        "FROM rest.jobs r "
        "WHERE r.id = jobs.id AND r.state = 'ended' AND jobs.summary IS NULL",
};
#undef METRICS_OF_REST
#undef METRICS_TAKE
#undef OF_REST
#undef TAKE
static_assert(RECORD_EVALUATED == 10, "the numbers of kinds are part of the schema");

static int take_all(Ledger *ledger, uint64_t *ret_n_records) {
        static const char *const tables[] = { "records", "statistics", "decisions", "checkpoints" };
        int r;

        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
                r = take_table(ledger, tables[i]);
                if (r < 0)
                        return r;
                if (i == 0)
                        *ret_n_records = (uint64_t) sqlite3_changes(ledger->db);
        }
        for (size_t i = 0; i < sizeof(take_rows) / sizeof(take_rows[0]); i++) {
                r = ledger_exec(ledger, take_rows[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int ledger_rest_take(Ledger *ledger, const char *path, uint64_t *ret_n_records) {
        uint64_t n = 0;
        int r;

        assert(ledger);
        assert(path);
        assert(ret_n_records);

        r = ledger_write(ledger, "ATTACH ? AS rest", VALUES(of_text_or_null(path)));
        if (r < 0)
                return r;
        r = ledger_begin(ledger);
        if (r >= 0)
                r = ledger_end(ledger, take_all(ledger, &n));
        (void) ledger_exec(ledger, "DETACH rest");
        if (r < 0)
                return r;
        *ret_n_records = n;
        return 0;
}
