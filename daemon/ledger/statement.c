/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statements, errors and transactions, on which the other files of the ledger build. */
#include "daemon/ledger/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

int ledger_error(Ledger *ledger, int rc) {
        int error = ledger->db ? sqlite3_system_errno(ledger->db) : 0;

        switch (rc & 0xff) {
        case SQLITE_OK:
        case SQLITE_ROW:
        case SQLITE_DONE: return 0;
        case SQLITE_FULL: return error == EFBIG ? -EFBIG : -ENOSPC;
        case SQLITE_IOERR:          /* also if the shared index of a WAL cannot grow, for any reason */
                if (error == EFBIG) /* RLIMIT_FSIZE */
                        return -EFBIG;
                return error == ENOSPC || error == EDQUOT ? -ENOSPC : -EIO;
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT: return -EUCLEAN;
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return -EBUSY;
        case SQLITE_NOMEM: return -ENOMEM;
        case SQLITE_READONLY: return -EROFS;
        case SQLITE_PERM:
        case SQLITE_AUTH: return -EACCES;
        case SQLITE_CANTOPEN: return error > 0 ? -error : -ENOENT;
        case SQLITE_TOOBIG: return -EMSGSIZE;
        default: return -EIO; /* any other code means a disk or file that cannot be used */
        }
}

int ledger_exec(Ledger *ledger, const char *sql) {
        return ledger_error(ledger, sqlite3_exec(ledger->db, sql, NULL, NULL, NULL));
}

int ledger_exec_all(Ledger *ledger, const char *const *sql, size_t n) {
        for (size_t i = 0; i < n; i++) {
                int r;

                r = ledger_exec(ledger, sql[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int ledger_prepare(Ledger *ledger, const char *sql, sqlite3_stmt **ret) {
        sqlite3_stmt *statement = NULL;
        int rc;

        rc = sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL);
        if (rc == SQLITE_ERROR) /* another program changed the schema, and the statement does not fit */
                return -EUCLEAN;
        if (rc != SQLITE_OK)
                return ledger_error(ledger, rc);
        *ret = statement;
        return 0;
}

static void bind(sqlite3_stmt *statement, const Value *values, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Value *v = &values[i];
                int at = (int) i + 1;

                switch (v->type) {
                case VALUE_NULL: (void) sqlite3_bind_null(statement, at); break;
                case VALUE_U64: (void) sqlite3_bind_int64(statement, at, (sqlite3_int64) v->number); break;
                case VALUE_DOUBLE: (void) sqlite3_bind_double(statement, at, v->real); break;
                case VALUE_TEXT: (void) sqlite3_bind_text(statement, at, v->data, -1, SQLITE_STATIC); break;
                case VALUE_BLOB:
                        (void) sqlite3_bind_blob64(statement, at, v->data, v->bytes, SQLITE_STATIC);
                        break;
                }
        }
}

int ledger_run(Ledger *ledger, sqlite3_stmt *statement, const Value *values, size_t n) {
        int r;

        bind(statement, values, n);
        r = ledger_error(ledger, sqlite3_step(statement));
        (void) sqlite3_reset(statement);
        return r;
}

int ledger_write(Ledger *ledger, const char *sql, const Value *values, size_t n) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_prepare(ledger, sql, &statement);
        return r < 0 ? r : ledger_run(ledger, statement, values, n);
}

int ledger_query(Ledger *ledger, const char *sql, const Value *values, size_t n, sqlite3_stmt **ret) {
        int r;

        r = ledger_prepare(ledger, sql, ret);
        if (r < 0)
                return r;
        bind(*ret, values, n);
        return 0;
}

int ledger_next(Ledger *ledger, sqlite3_stmt *statement) {
        int rc = sqlite3_step(statement);

        return rc == SQLITE_ROW ? 1 : ledger_error(ledger, rc);
}

int ledger_first(Ledger *ledger, const char *sql, const Value *values, size_t n, sqlite3_stmt **ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_query(ledger, sql, values, n, &statement);
        if (r < 0)
                return r;
        r = ledger_next(ledger, statement);
        if (r <= 0)
                return r < 0 ? r : -ENOENT;
        *ret = TAKE_PTR(statement);
        return 0;
}

int ledger_number(Ledger *ledger, const char *sql, const Value *values, size_t n, uint64_t *ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_first(ledger, sql, values, n, &statement);
        if (r < 0)
                return r;
        *ret = column_u64(statement, 0);
        return 0;
}

static off_t pages_bytes(Ledger *ledger) {
        uint64_t bytes;
        int r;

        r = ledger_number(ledger, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                        NO_VALUES, &bytes);
        return r < 0 ? INT64_MAX : (off_t) bytes;
}

int ledger_look(Ledger *ledger) {
        struct stat st;

        if (!ledger->path)
                return 0;
        if (stat(ledger->path, &st) < 0)
                return errno == ENOENT ? -ESTALE : -errno;
        if (ledger->inode == 0) {
                ledger->device = st.st_dev;
                ledger->inode = st.st_ino;
        }
        if (st.st_dev != ledger->device || st.st_ino != ledger->inode)
                return -ESTALE;
        /* A shorter file that has all its pages is whole: sqlite3 has packed it (VACUUM). */
        if (st.st_size < ledger->bytes && st.st_size < pages_bytes(ledger))
                return -EUCLEAN;
        ledger->bytes = st.st_size;
        return 0;
}

int ledger_begin(Ledger *ledger) {
        int r;

        r = ledger_look(ledger);
        return r < 0 ? r : ledger_exec(ledger, "BEGIN IMMEDIATE");
}

static bool is_of_space(int r) {
        return r == -ENOSPC || r == -EDQUOT;
}

int ledger_end(Ledger *ledger, int r) {
        if (r >= 0)
                r = ledger_exec(ledger, "COMMIT");
        /* After some errors SQLite has rolled back already, and no transaction is left to end. */
        if (r < 0 && !sqlite3_get_autocommit(ledger->db))
                (void) sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
        /* The WAL itself may fill the disk. When its commits are in the main file, the next try writes the
         * WAL from its beginning. */
        if (is_of_space(r))
                (void) sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        return r;
}

int ledger_rows_grow(void *rows, size_t *n_allocated, size_t n, size_t size) {
        size_t n_grown = *n_allocated ? *n_allocated * 2 : 256;
        void **array = rows, *grown;

        if (n < *n_allocated)
                return 0;
        grown = reallocarray(*array, n_grown, size);
        if (!grown)
                return -ENOMEM;

        *array = grown;
        *n_allocated = n_grown;
        return 0;
}

double column_double(sqlite3_stmt *statement, int at) {
        return sqlite3_column_type(statement, at) == SQLITE_NULL ? NAN
                                                                 : sqlite3_column_double(statement, at);
}
