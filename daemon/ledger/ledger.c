/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening and closing the ledger.
 *
 * WAL with synchronous=FULL: a commit is one fsync, a reader never waits for the daemon nor the daemon
 * for a reader, and after a power loss the file holds exactly the committed groups. What is queued stays
 * queued until a commit has succeeded, so a full disk loses nothing. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"

#define LOCK_MARK "in use\n" /* as long as it is there, the ledger was not closed */

/* SQLite's own locks belong to the process and come and go with transactions, so the daemon's claim on
 * the file is a lock of its own beside it. The kernel drops it with the process, however that ends. */
static int lock_acquire(const char *path, int *ret) {
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (asprintf(&name, "%s-lock", path) < 0)
                return -ENOMEM;
        fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;

        *ret = TAKE_FD(fd);
        return 0;
}

/* A WAL or a mark that was left behind means that the last daemon did not end by itself; only then is
 * reading the whole file worth its time. The mark lies in the file of the lock, and on a full disk there
 * may be none. */
static bool left_behind(const char *path, int lock_fd) {
        _cleanup_free_ char *name = NULL;
        struct stat st;

        if (fstat(lock_fd, &st) >= 0 && st.st_size > 0)
                return true;
        return asprintf(&name, "%s-wal", path) >= 0 && stat(name, &st) >= 0 && st.st_size > 0;
}

static int integrity_check(Ledger *ledger) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        const char *word;
        int r;

        r = ledger_first(ledger, "PRAGMA quick_check(1)", NO_VALUES, &statement);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        word = column_string(statement, 0);
        return word && strcmp(word, "ok") == 0 ? 0 : -EUCLEAN;
}

/* Makes freed pages returnable, in a file that has no pages yet. In any other it would be a write at each
 * start, also on a full disk. */
static int make_room_returnable(Ledger *ledger) {
        uint64_t n_pages;
        int r;

        r = ledger_number(ledger, "PRAGMA page_count", NO_VALUES, &n_pages);
        if (r < 0 || n_pages > 0)
                return r;
        return ledger_exec(ledger, "PRAGMA auto_vacuum = INCREMENTAL");
}

static int configure(Ledger *ledger) {
        const char *const pragmas[] = {
                ledger->full ? "PRAGMA locking_mode = EXCLUSIVE" : "PRAGMA locking_mode = NORMAL",
                "PRAGMA journal_mode = WAL",
                "PRAGMA synchronous = FULL",
                "PRAGMA cache_size = -1024",           /* 1 MiB: an idle daemon is small */
                "PRAGMA journal_size_limit = 1048576", /* a WAL that once grew gives its space back */
                "PRAGMA trusted_schema = OFF",         /* a view in a forged file calls nothing */
                "PRAGMA cell_size_check = ON",
        };
        int r;

        (void) sqlite3_extended_result_codes(ledger->db, 1);
        (void) sqlite3_busy_timeout(ledger->db, LEDGER_BUSY_MSEC);
        (void) sqlite3_db_config(ledger->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        r = make_room_returnable(ledger);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(pragmas); i++) {
                r = ledger_exec(ledger, pragmas[i]);
                if (r < 0)
                        return r;
        }
        ledger_watch_wal(ledger);
        return 0;
}

static int ledger_read(Ledger *ledger, const char *path, bool check) {
        int r;

        r = ledger_error(ledger,
                        sqlite3_open_v2(path, &ledger->db,
                                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                        NULL));
        if (r < 0)
                return r;
        r = configure(ledger);
        if (r < 0)
                return r;
        if (check) {
                r = integrity_check(ledger);
                if (r < 0)
                        return r;
        }
        return ledger_schema_apply(ledger);
}

bool ledger_is_full(const Ledger *ledger) {
        assert(ledger);

        return ledger->full;
}

const char *ledger_error_words(int error) {
        switch (error) {
        case -ESTALE:
                return "its file was removed or replaced while it was in use: put it back, or "
                       "restart actord with another one";
        case -EUCLEAN:
                return "its file is damaged, was cut short, or is not a regular file: restore a "
                       "copy of it, or move it away and restart actord";
        default: return strerror(-error);
        }
}

/* SQLite opens by name whatever lies beside a database, and waits for ever where that is a pipe. */
static bool are_regular_files(const char *path) {
        static const char *const endings[] = { "", "-journal", "-wal", "-shm" };

        for (size_t i = 0; i < ELEMENTSOF(endings); i++) {
                _cleanup_free_ char *name = NULL;
                struct stat st;

                if (asprintf(&name, "%s%s", path, endings[i]) < 0)
                        return false;
                if (stat(name, &st) >= 0 && !S_ISREG(st.st_mode))
                        return false;
        }
        return true;
}

static uint64_t bytes_at(const char *path) {
        struct stat st;

        return stat(path, &st) < 0 ? 0 : (uint64_t) st.st_size;
}

static int ledger_setup(Ledger *ledger, const char *path, void (*checking)(uint64_t bytes)) {
        bool in_memory = strcmp(path, ":memory:") == 0, check;
        int r;

        if (!in_memory) {
                r = lock_acquire(path, &ledger->lock_fd);
                if (r < 0)
                        return r;
                if (!are_regular_files(path))
                        return -EUCLEAN;
        }

        check = !in_memory && left_behind(path, ledger->lock_fd);
        if (check && checking)
                checking(bytes_at(path));
        r = ledger_read(ledger, path, check);
        if ((r == -ENOSPC || r == -EDQUOT) && !in_memory) {
                /* SQLite keeps the index of the WAL in a file beside it, which needs space. With exclusive
                 * locking the index is in memory instead. */
                ledger->full = true;
                (void) sqlite3_close(ledger->db);
                ledger->db = NULL;
                r = ledger_read(ledger, path, check);
        }
        if (r < 0 || in_memory)
                return r;
        (void) !pwrite(ledger->lock_fd, LOCK_MARK, strlen(LOCK_MARK), 0);
        ledger->path = strdup(path);
        return ledger->path ? ledger_look(ledger) : -ENOMEM;
}

/* Placeholders are numbered, so the text must name as many as there are columns. */
#define X_NAME(column, field, comment) ", " #column
#define X_MARK(column, field, comment) ", ?"
#define S_NAME(name, unit)             ", " #name
#define S_MARK(name, unit)             ", ?"

static int statements_prepare(Ledger *ledger) {
        int r;

        r = ledger_prepare(ledger,
                        "INSERT OR IGNORE INTO records (job, life, seq, actor, sha256" RECORD_COLUMNS(
                                        X_NAME) ") VALUES (?, ?, ?, ?, ?" RECORD_COLUMNS(X_MARK) ")",
                        &ledger->insert_record);
        if (r < 0)
                return r;
        r = ledger_prepare(ledger,
                        "UPDATE statistics SET evaluation_mean = ?, evaluation_sd = ? "
                        "WHERE job = ? AND life = ? AND seq = ?",
                        &ledger->complete_round);
        if (r < 0)
                return r;
        r = ledger_prepare_decisions(ledger);
        if (r < 0)
                return r;
        return ledger_prepare(ledger,
                        "INSERT OR IGNORE INTO statistics (job, life, seq, n_env_steps, n_episodes, "
                        "policy_version" STATISTICS(S_NAME) ") VALUES (?, ?, ?, ?, ?, ?" STATISTICS(
                                        S_MARK) ")",
                        &ledger->insert_statistics);
}

int ledger_open(const char *path, Ledger **ret) {
        return ledger_open_checked(path, NULL, ret);
}

int ledger_open_checked(const char *path, void (*checking)(uint64_t bytes), Ledger **ret) {
        Ledger *ledger;
        int r;

        assert(path);
        assert(ret);

        ledger = calloc(1, sizeof(*ledger));
        if (!ledger)
                return -ENOMEM;
        ledger->lock_fd = ledger->index_fd = -EBADF;

        r = ledger_setup(ledger, path, checking);
        if (r >= 0)
                r = statements_prepare(ledger);
        if (r < 0) {
                ledger_close(ledger);
                return r;
        }

        *ret = ledger;
        return 0;
}

Ledger *ledger_close(Ledger *ledger) {
        if (!ledger)
                return NULL;

        (void) sqlite3_finalize(ledger->insert_decision);
        (void) sqlite3_finalize(ledger->complete_round);
        (void) sqlite3_finalize(ledger->insert_statistics);
        (void) sqlite3_finalize(ledger->insert_record);
        if (sqlite3_close(ledger->db) == SQLITE_OK && ledger->path)
                (void) !ftruncate(ledger->lock_fd, 0);
        free(ledger->path);
        (void) close_fd(ledger->index_fd);
        close_fd(ledger->lock_fd);
        ledger_ends_clear(ledger);
        free(ledger->checkpoints);
        free(ledger->ends);
        free(ledger->spent);
        free(ledger->pending);
        free(ledger->decisions);
        free(ledger);
        return NULL;
}
