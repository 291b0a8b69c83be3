/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The schema of the ledger. SQLite keeps the text of each CREATE with its comments, so `.schema` explains
 * the file to its reader. A later schema adds a row to schemas[] and raises LEDGER_SCHEMA; existing steps
 * are never changed. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include "lib/cleanup.h"
#include "lib/string-tables.h"

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

/* The views name kinds by number, since SQLite does not know the names. */
static_assert(RECORD_ROLLOUT == 2 && RECORD_EVALUATION == 3 && RECORD_UPDATE == 4 && RECORD_ROUND == 6,
                "the numbers of kinds are part of the schema");

static const char schema_jobs[] =
                "CREATE TABLE jobs ( -- one row per submitted job; ids are never used twice\n"
                "  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
                "  life INTEGER NOT NULL, -- how many times it was started\n"
                "  uid INTEGER NOT NULL, -- who submitted it, and owns it\n"
                "  purpose INTEGER NOT NULL, -- 0 train, 1 verify, 2 evaluate\n"
                "  n_episodes INTEGER NOT NULL, -- of an evaluation\n"
                "  submitted_usec INTEGER NOT NULL, -- since 1970; 0: not yet\n"
                "  started_usec INTEGER NOT NULL,\n"
                "  ended_usec INTEGER NOT NULL,\n"
                "  state TEXT NOT NULL, -- queued, running, ended\n"
                "  result TEXT NOT NULL, -- finished, target-reached, budget-exhausted, failed, ...\n"
                "  fault TEXT, -- a sentence\n"
                "  text TEXT NOT NULL, -- the job file as submitted\n"
                "  file_name TEXT NOT NULL,\n"
                "  overrides TEXT NOT NULL, -- one Section.Key=VALUE a line\n"
                "  sheet TEXT NOT NULL, "
                "-- the price sheet as of the submission: a bill never changes afterwards\n"
                "  files TEXT NOT NULL, -- one key=path a line, below the job's directory\n"
                "  policy_sha256 BLOB -- of the last policy\n"
                ") STRICT";

#define X(column, field, comment) "  " #column " INTEGER NOT NULL, -- " comment "\n"
static const char schema_records[] =
                "CREATE TABLE records ( "
                "-- what the invokers metered, in base units: one row per invocation, update, round, fault\n"
                "  job INTEGER NOT NULL REFERENCES jobs (id),\n"
                "  life INTEGER NOT NULL,\n"
                "  seq INTEGER NOT NULL, -- from 1 within the life, without gaps\n"
                "  actor INTEGER, -- NULL: the learner, or nobody\n" RECORD_COLUMNS_1(
                                X) "  sha256 BLOB, -- kind checkpoint: of the file; kind ended: of the "
                                   "policy; kind metric: its name\n"
                                   "  PRIMARY KEY (job, life, seq)\n"
                                   ") STRICT, WITHOUT ROWID";
#undef X

#define X(name, unit) "  " #name " REAL, -- in " unit "\n"
static const char schema_statistics[] =
                "CREATE TABLE statistics ( "
                "-- of rounds (the learner's) and evaluation episodes; NULL: not measured\n"
                "  job INTEGER NOT NULL REFERENCES jobs (id),\n"
                "  life INTEGER NOT NULL,\n"
                "  seq INTEGER NOT NULL, -- of the record that brought them\n" STATISTICS(
                                X) "  n_env_steps INTEGER NOT NULL, -- since the job's beginning\n"
                                   "  n_episodes INTEGER NOT NULL,\n"
                                   "  policy_version INTEGER NOT NULL,\n"
                                   "  PRIMARY KEY (job, life, seq)\n"
                                   ") STRICT, WITHOUT ROWID";
#undef X

static const char schema_checkpoints[] =
                "CREATE TABLE checkpoints ( -- a checkpoint counts once its row is here\n"
                "  job INTEGER NOT NULL REFERENCES jobs (id),\n"
                "  life INTEGER NOT NULL,\n"
                "  seq INTEGER NOT NULL, "
                "-- the ledger's position: later records of this life are repeated by the next one\n"
                "  round INTEGER NOT NULL,\n"
                "  name TEXT NOT NULL, -- of the file, below the job's state directory\n"
                "  sha256 BLOB NOT NULL, -- of the file\n"
                "  scheduler BLOB, -- its state\n"
                "  PRIMARY KEY (job, life, seq)\n"
                ") STRICT";

/* The view is made again whenever columns were added to the table of statistics. */
#define X(name, unit) ", s." #name
static const char schema_rounds[] =
                "CREATE VIEW rounds AS -- closed rounds that count, with the learner's statistics\n"
                "SELECT r.job, r.life, r.seq, r.round, r.decision_n_actors AS n_actors,\n"
                "  r.emulated_round_nsec / 1e9 AS emulated_s, r.end_nsec, s.n_env_steps, s.n_episodes,\n"
                "  s.policy_version" STATISTICS(X) "\n"
                                                   "FROM records r JOIN jobs j ON j.id = r.job LEFT "
                                                   "JOIN statistics s USING (job, life, seq)\n"
                                                   "WHERE r.kind = 6 AND NOT " REPEATED;
#undef X

static const char *const schema_1[] = {
        schema_jobs,
        schema_records,
        schema_statistics,
        schema_checkpoints,
        "CREATE INDEX records_rounds ON records (job, round) "
        "WHERE kind = 6 -- curves without a look at each invocation\n",
        "CREATE TABLE kinds ( -- words for records.kind\n"
        "  kind INTEGER PRIMARY KEY,\n"
        "  word TEXT NOT NULL\n"
        ") STRICT",
        "CREATE TABLE faults ( -- words for records.fault\n"
        "  fault INTEGER PRIMARY KEY,\n"
        "  word TEXT NOT NULL\n"
        ") STRICT",
        "CREATE VIEW invocations AS -- rollouts, evaluation episodes and updates, for people\n"
        "SELECT r.job, r.life, r.seq, r.round, k.word AS kind, r.actor, r.ordinal, r.attempt, r.cold,\n"
        "  r.wasted OR " REPEATED " AS wasted, f.word AS fault, r.n_steps,\n"
        "  r.cpu_nsec / 1e9 AS cpu_s, r.emulated_nsec / 1e9 AS emulated_s,\n"
        "  (r.end_nsec - r.start_nsec) / 1e9 AS wall_s,\n"
        "  r.memory_peak_bytes / 1048576.0 AS memory_peak_mib,\n"
        "  r.memory_reserved_bytes / 1048576.0 AS memory_reserved_mib\n"
        "FROM records r JOIN jobs j ON j.id = r.job JOIN kinds k ON k.kind = r.kind\n"
        "  LEFT JOIN faults f ON f.fault = r.fault WHERE r.kind IN (2, 3, 4)",
        schema_rounds,
        "PRAGMA application_id = " STRINGIFY(LEDGER_APPLICATION_ID),
};

/* Schema 2 (after 0.1.0): the decisions of schedulers, and the data that schedulers were given. */
#define X(name, comment) "  " #name " INTEGER NOT NULL, -- " comment "\n"
static const char *const schema_2[] = {
        "ALTER TABLE jobs ADD COLUMN scheduler_data BLOB",
        "CREATE TABLE decisions ( -- how many actors rounds were given, "
        "and what the scheduler saw: of the round before, if there was one\n"
        "  job INTEGER NOT NULL REFERENCES jobs (id),\n"
        "  life INTEGER NOT NULL, -- that decided\n"
        "  round INTEGER NOT NULL, -- the first one that it was for\n"
        "  id INTEGER NOT NULL, -- records.decision_id of the rounds that ran under it\n"
        "  decided INTEGER NOT NULL, -- the number of actors\n"
        "  record INTEGER NOT NULL, -- seq of the record that closed the round before, "
        "whose statistics it saw; 0: none did\n" ROUND_FACTS(X) "  PRIMARY KEY (job, life, round)\n"
                                                                ") STRICT, WITHOUT ROWID",
};
#undef X

/* Schema 3: the distribution (which processes act and learn) that Policy=auto has chosen for a job. */
static const char *const schema_3[] = {
        "ALTER TABLE jobs ADD COLUMN distribution TEXT /* the choice of Policy=auto; NULL: none yet */",
        "ALTER TABLE jobs ADD COLUMN distribution_reason TEXT",
        "ALTER TABLE jobs ADD COLUMN distribution_life INTEGER NOT NULL DEFAULT 0 /* the first that runs "
        "so */",
        "ALTER TABLE jobs ADD COLUMN learners INTEGER NOT NULL DEFAULT 0 /* of that distribution */",
};

/* The ledger keeps a user's costs of 400 days, not counting days without costs: the newest day, and this
 * many before it. */
#define SPENDING_DAYS_LAST 399

/* Schema 4: columns that a job keeps when the records of its rounds are removed, and sums that are kept for
 * ever. */
#define X(column, field, comment) \
        "ALTER TABLE records ADD COLUMN " #column " INTEGER NOT NULL DEFAULT 0 /* " comment " */",
#define WHY(name, comment) \
        "ALTER TABLE decisions ADD COLUMN " #name " INTEGER NOT NULL DEFAULT 0 /* " comment " */",
#define LIST_INDEX "CREATE INDEX jobs_list ON jobs (" LIST_COLUMNS ") -- a list reads no job's text"

static const char *const schema_4[] = {
        RECORD_COLUMNS_4(X) "ALTER TABLE jobs ADD COLUMN tag TEXT NOT NULL DEFAULT '' /* [Job] Tag= */",
        "ALTER TABLE jobs ADD COLUMN summary TEXT /* name=value a line, of all its records, "
        "as of its end; NULL: none yet */",
        "ALTER TABLE jobs ADD COLUMN trimmed_usec INTEGER NOT NULL DEFAULT 0 /* when its records, "
        "statistics and decisions began to be removed; 0: all are here */",
        "ALTER TABLE jobs ADD COLUMN trimmable INTEGER NOT NULL DEFAULT 1 /* 0: all of them are removed, "
        "or they stay */",
        "ALTER TABLE jobs ADD COLUMN environment TEXT /* as lists show it, "
        "with what follows; NULL: an older actord wrote the row */",
        "ALTER TABLE jobs ADD COLUMN description TEXT",
        "ALTER TABLE jobs ADD COLUMN currency TEXT",
        "ALTER TABLE jobs ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0 /* as of its end, "
        "as the three that follow */",
        "ALTER TABLE jobs ADD COLUMN env_steps INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN return_mean REAL /* NULL: not measured */",
        "ALTER TABLE jobs ADD COLUMN cost_full REAL NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN preempted INTEGER NOT NULL DEFAULT 0 /* times that it went back to "
        "the queue */",
        "ALTER TABLE jobs ADD COLUMN back_usec INTEGER NOT NULL DEFAULT 0 /* since when it is there; 0: it "
        "is not */",
        "ALTER TABLE jobs ADD COLUMN paused_usec INTEGER NOT NULL DEFAULT 0 /* how long it was there "
        "before that */",
        LIST_INDEX,
        DECISION_WHY(WHY) "CREATE INDEX jobs_trimmable ON jobs (trimmed_usec DESC, ended_usec, id) "
                          "WHERE state = 'ended' AND summary IS NOT NULL AND trimmable",
        "CREATE INDEX jobs_unsummed ON jobs (id) WHERE state = 'ended' AND summary IS NULL AND trimmable",
        "CREATE INDEX jobs_live ON jobs (id) WHERE state <> 'ended'",
        "CREATE INDEX jobs_older ON jobs (id) WHERE environment IS NULL",
        "CREATE TABLE files ( -- of jobs that have some, or had\n"
        "  job INTEGER PRIMARY KEY REFERENCES jobs (id),\n"
        "  uid INTEGER NOT NULL,\n"
        "  bytes INTEGER NOT NULL -- what they take, as last looked at\n"
        ") STRICT",
        "CREATE TABLE disk ( -- the sum of files.bytes for each user\n"
        "  uid INTEGER PRIMARY KEY,\n"
        "  bytes INTEGER NOT NULL\n"
        ") STRICT",
        "CREATE TRIGGER files_sum AFTER UPDATE OF bytes ON files BEGIN\n"
        "  INSERT INTO disk VALUES (new.uid, new.bytes - old.bytes)\n"
        "    ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes;\n"
        "END",
        "CREATE TABLE spending ( -- what a user's jobs cost on a day, each part of it counted once\n"
        "  uid INTEGER NOT NULL,\n"
        "  day TEXT NOT NULL, -- YYYY-MM-DD, of local time, when it was written down\n"
        "  currency TEXT NOT NULL,\n"
        "  nano INTEGER NOT NULL, -- billionths of the currency, of full totals\n"
        "  PRIMARY KEY (uid, day, currency)\n"
        ") STRICT, WITHOUT ROWID",
        "CREATE TRIGGER spending_keep AFTER INSERT ON spending BEGIN\n"
        "  DELETE FROM spending WHERE uid = new.uid AND day <> new.day AND day < (SELECT DISTINCT day "
        "FROM spending\n"
        "    WHERE uid = new.uid ORDER BY day DESC LIMIT 1 OFFSET " STRINGIFY(SPENDING_DAYS_LAST) ");\n"
                                                                                                  "END",
        "CREATE TABLE counted ( -- of jobs that have not ended: how much of what they cost is in spending\n"
        "  job INTEGER PRIMARY KEY REFERENCES jobs (id),\n"
        "  nano INTEGER -- NULL: an older actord began it, and what it cost by then is no day's\n"
        ") STRICT",
        "INSERT INTO counted SELECT id, NULL FROM jobs WHERE state <> 'ended'",
        "CREATE TABLE totals ( -- of ended jobs, each counted once\n"
        "  uid INTEGER NOT NULL,\n"
        "  month TEXT NOT NULL, -- of their end, YYYY-MM in UTC\n"
        "  tag TEXT NOT NULL, -- [Job] Tag=; empty: none\n"
        "  currency TEXT NOT NULL,\n"
        "  sheet TEXT NOT NULL, -- the price sheet's name\n"
        "  n_jobs INTEGER NOT NULL,\n"
        "  full_nano INTEGER NOT NULL, -- billionths of the currency\n"
        "  paper_nano INTEGER NOT NULL,\n"
        "  n_env_steps INTEGER NOT NULL,\n"
        "  cpu_nsec INTEGER NOT NULL, -- of actors, learners and control, waste included\n"
        "  PRIMARY KEY (uid, month, tag, currency, sheet)\n"
        ") STRICT, WITHOUT ROWID",
};

/* Schema 5: jobs that a user froze. */
static const char *const schema_5[] = {
        "ALTER TABLE jobs ADD COLUMN frozen_usec INTEGER NOT NULL DEFAULT 0 /* when a user froze it; 0: it "
        "is not frozen */",
};

/* Schema 6: amounts of CostAlert=. */
static const char *const schema_6[] = {
        "ALTER TABLE jobs ADD COLUMN alerts INTEGER NOT NULL DEFAULT 0 /* how many amounts of CostAlert= "
        "were reached, and told */",
};

/* Schema 7: actors on nodes of a cluster. */
static const char *const schema_7[] = { RECORD_COLUMNS_7(X) };

/* Schema 8: how nodes spent their time, and the bytes between hosts. */
static const char *const schema_8[] = { RECORD_COLUMNS_8(X) };
#undef X

/* Schema 9: jobs that were asked to end. */
static const char *const schema_9[] = {
        "ALTER TABLE jobs ADD COLUMN end_wanted INTEGER NOT NULL DEFAULT 0 /* how it was asked to end, "
        "a PlanEnd; 0: it was not */",
};

static const struct {
        const char *name, *unit;
} statistics[] = {
#define X(name, unit) { #name, unit },
        STATISTICS(X)
#undef X
};

/* 1: the table has the column; 0: it does not. */
static int statistics_have(Ledger *ledger, const char *name) {
        uint64_t n;
        int r;

        r = ledger_number(ledger, "SELECT count(*) FROM pragma_table_info('statistics') WHERE name = ?",
                        VALUES(of_text(name)), &n);
        return r < 0 ? r : n > 0;
}

/* Statistics are sometimes added without a new schema. They are NULL in rounds of an older version, which
 * did not measure them. An older version with the same schema names the columns that it writes, and leaves
 * out the others. */
static int statistics_add_missing(Ledger *ledger) {
        bool missing = false;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(statistics); i++) {
                char sql[160];

                r = statistics_have(ledger, statistics[i].name);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                (void) snprintf(sql, sizeof(sql), "ALTER TABLE statistics ADD COLUMN %s REAL /* in %s */",
                                statistics[i].name, statistics[i].unit);
                r = ledger_exec(ledger, sql);
                if (r < 0)
                        return r;
                missing = true;
        }
        if (!missing)
                return 0;
        r = ledger_exec(ledger, "DROP VIEW IF EXISTS rounds");
        return r < 0 ? r : ledger_exec(ledger, schema_rounds);
}

/* schemas[i] has the statements that make schema i + 1 of schema i, in order. Schema 0 is an empty file. */
static const struct {
        const char *const *steps;
        size_t n;
} schemas[] = {
        { schema_1, ELEMENTSOF(schema_1) },
        { schema_2, ELEMENTSOF(schema_2) },
        { schema_3, ELEMENTSOF(schema_3) },
        { schema_4, ELEMENTSOF(schema_4) },
        { schema_5, ELEMENTSOF(schema_5) },
        { schema_6, ELEMENTSOF(schema_6) },
        { schema_7, ELEMENTSOF(schema_7) },
        { schema_8, ELEMENTSOF(schema_8) },
        { schema_9, ELEMENTSOF(schema_9) },
};

static_assert(ELEMENTSOF(schemas) == LEDGER_SCHEMA);

/* The rest of the statement after `words` (such as CREATE TABLE) and the table's name. NULL: the statement
 * begins with other words. An empty name stands for any table. */
static const char *statement_of(const char *step, const char *words, const char *table, size_t n_table) {
        size_t n = strlen(words);

        if (strncmp(step, words, n) != 0 || strncmp(step + n, table, n_table) != 0)
                return NULL;
        return n_table == 0 || step[n + n_table] == ' ' ? step + n + n_table : NULL;
}

/* Adds to a CREATE TABLE all columns that later schemas add to this table: at the end, or before the line of
 * its primary key. So a new table has its columns in the same order as an upgraded one. */
static char *create_newest(const char *create, const char *table, size_t n_table) {
        const char *key = strstr(create, "\n  PRIMARY KEY ("), *at = key ?: g_strrstr(create, "\n)");
        GString *text = g_string_new_len(create, at - create);

        for (size_t i = 0; i < ELEMENTSOF(schemas); i++)
                for (size_t k = 0; k < schemas[i].n; k++) {
                        const char *change =
                                        statement_of(schemas[i].steps[k], "ALTER TABLE ", table, n_table);

                        if (!change)
                                continue;
                        assert(g_str_has_prefix(change, " ADD COLUMN "));
                        g_string_append_printf(text, "\n  %s%s%s", key ? "" : ", ",
                                        change + strlen(" ADD COLUMN "), key ? "," : "");
                }
        g_string_append(text, at);
        return g_string_free(text, FALSE);
}

static int step_newest(Ledger *ledger, const char *step) {
        const char *table = statement_of(step, "CREATE TABLE ", "", 0);
        g_autofree char *create = NULL;

        if (statement_of(step, "ALTER TABLE ", "", 0))
                return 0;
        if (table)
                create = create_newest(step, table, strcspn(table, " "));
        return ledger_exec(ledger, create ?: step);
}

/* Makes an empty file a ledger of the newest schema. It creates each table with all columns at once: for
 * each column that is added later, SQLite reads the table's whole text again, which takes milliseconds. */
static int schema_create(Ledger *ledger) {
        for (size_t i = 0; i < ELEMENTSOF(schemas); i++)
                for (size_t k = 0; k < schemas[i].n; k++) {
                        int r = step_newest(ledger, schemas[i].steps[k]);

                        if (r < 0)
                                return r;
                }
        return 0;
}

static int words_insert(Ledger *ledger, const char *sql, uint32_t n, const char *(*word)(uint32_t)) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_prepare(ledger, sql, &statement);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < n; i++) {
                if (!word(i))
                        continue;
                r = ledger_run(ledger, statement, VALUES(of_u64(i), of_text(word(i))));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Writes the names of numbers (such as kinds of records) into the ledger. A newer version may have more
 * names with the same schema. */
static int words_refresh(Ledger *ledger) {
        int r;

        r = words_insert(ledger, "INSERT OR IGNORE INTO kinds VALUES (?, ?)", _RECORD_KIND_MAX,
                        record_kind_to_string);
        if (r < 0)
                return r;
        return words_insert(
                        ledger, "INSERT OR IGNORE INTO faults VALUES (?, ?)", _FAULT_MAX, fault_to_string);
}

int ledger_probe(Ledger *ledger) {
        int r;

        assert(ledger);

        r = ledger_begin(ledger);
        if (r < 0)
                return r;
        return ledger_end(ledger, ledger_exec(ledger, "PRAGMA user_version = " STRINGIFY(LEDGER_SCHEMA)));
}

/* Upgrades an empty file, or an older schema. */
static int upgrade(Ledger *ledger, bool is_new, uint64_t version) {
        int r;

        if (is_new) {
                r = schema_create(ledger);
                if (r < 0)
                        return r;
        }
        for (size_t i = (size_t) version; !is_new && i < ELEMENTSOF(schemas); i++) {
                r = ledger_exec_all(ledger, schemas[i].steps, schemas[i].n);
                if (r < 0)
                        return r;
        }
        if (!is_new) {
                r = statistics_add_missing(ledger);
                if (r < 0)
                        return r;
        }
        r = ledger_exec(ledger, "PRAGMA user_version = " STRINGIFY(LEDGER_SCHEMA));
        if (r < 0)
                return r;
        return words_refresh(ledger);
}

/* n_objects 0: the file is empty, and may become a ledger. -EUCLEAN: the file is another program's, or of a
 * newer schema. */
static int read_version(Ledger *ledger, uint64_t *ret_version, uint64_t *ret_n_objects) {
        uint64_t application_id, version, n_objects;
        int r;

        r = ledger_number(ledger, "PRAGMA application_id", NO_VALUES, &application_id);
        if (r < 0)
                return r;
        r = ledger_number(ledger, "PRAGMA user_version", NO_VALUES, &version);
        if (r < 0)
                return r;
        r = ledger_number(ledger, "SELECT count(*) FROM sqlite_schema", NO_VALUES, &n_objects);
        if (r < 0)
                return r;
        if (n_objects > 0 &&
                        (application_id != LEDGER_APPLICATION_ID || version < 1 || version > LEDGER_SCHEMA))
                return -EUCLEAN;
        *ret_version = version;
        *ret_n_objects = n_objects;
        return 0;
}

int ledger_schema_is_newest(Ledger *ledger) {
        uint64_t version, n_objects;
        int r;

        assert(ledger);

        r = read_version(ledger, &version, &n_objects);
        if (r < 0)
                return r;
        if (version < LEDGER_SCHEMA)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(statistics); i++) {
                r = statistics_have(ledger, statistics[i].name);
                if (r <= 0)
                        return r;
        }
        return 1;
}

int ledger_schema_apply(Ledger *ledger) {
        uint64_t version, n_objects;
        int r;

        assert(ledger);

        r = read_version(ledger, &version, &n_objects);
        if (r < 0)
                return r;

        /* On a full disk nothing can be written, so the schema is used as it is. */
        if (ledger->full && version == LEDGER_SCHEMA)
                return 0;
        r = ledger_begin(ledger);
        if (r < 0)
                return r;
        return ledger_end(ledger, upgrade(ledger, n_objects == 0, version));
}
