/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening and closing the ledger.
 *
 * WAL with synchronous=FULL: a commit is one fsync, a reader never waits for the daemon nor the daemon for a
 * reader, and after a power loss the file holds exactly the committed groups. Rows stay queued until their
 * commit has succeeded, so a full disk loses nothing.
 *
 * A *reader* writes nothing to the ledger. If there is no WAL, the reader tells SQLite that the file does
 * not change; otherwise SQLite would make a WAL and its index. So a ledger on a read-only file system can be
 * read. If a killed daemon left a WAL, SQLite reads it, makes its index if that is missing, and leaves both
 * where they are. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)

#define LOCK_MARK "in use\n" /* while this is in the file, the ledger was not closed */

/* A reader copies a ledger of an older schema into memory, up to this size. */
#define COPY_BYTES_MAX (1ull << 30)

/* Keeps other daemons out by a lock on a file beside the ledger. SQLite's own locks belong to the process
 * and last for a transaction only. This lock belongs to the open file, so a forked child has it, too, until
 * it closes its copy of the descriptor: ledger_close() therefore unlocks, and if the process is killed, the
 * kernel releases the lock only when the youngest child has closed that copy. */
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

/* Takes the lock of lock_acquire() for a reader: other readers may open the ledger, but no daemon may write.
 * If there is no lock file, no daemon has used the ledger since it was copied here. */
static int lock_share(const char *path, int *ret) {
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (asprintf(&name, "%s-lock", path) < 0)
                return -ENOMEM;
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        if (flock(fd, LOCK_SH | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;

        *ret = TAKE_FD(fd);
        return 0;
}

static bool has_wal(const char *path) {
        _cleanup_free_ char *name = NULL;
        struct stat st;

        return asprintf(&name, "%s-wal", path) >= 0 && stat(name, &st) >= 0 && st.st_size > 0;
}

/* Whether the last daemon was killed: then it left a WAL or a mark. Only in this case is the whole file
 * checked, which takes time. The mark is in the lock file. On a full disk the mark may be missing, and
 * beside a copy the lock file. */
static bool left_behind(const char *path, int lock_fd) {
        struct stat st;

        return (fstat(lock_fd, &st) >= 0 && st.st_size > 0) || has_wal(path);
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

/* The settings that readers and writers share. */
static int configure_reading(Ledger *ledger) {
        static const char *const pragmas[] = {
                "PRAGMA cache_size = -1024",   /* 1 MiB: an idle daemon stays small */
                "PRAGMA trusted_schema = OFF", /* a view in a forged file can call nothing */
                "PRAGMA cell_size_check = ON",
        };

        (void) sqlite3_extended_result_codes(ledger->db, 1);
        (void) sqlite3_busy_timeout(ledger->db, LEDGER_BUSY_MSEC);
        (void) sqlite3_db_config(ledger->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        return ledger_exec_all(ledger, pragmas, ELEMENTSOF(pragmas));
}

static int configure(Ledger *ledger) {
        const char *const pragmas[] = {
                ledger->full ? "PRAGMA locking_mode = EXCLUSIVE" : "PRAGMA locking_mode = NORMAL",
                "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                "PRAGMA journal_size_limit = 1048576", /* a WAL that has grown gives its space back */
        };
        int r;

        r = configure_reading(ledger);
        if (r < 0)
                return r;
        r = ledger_make_room_returnable(ledger);
        if (r < 0)
                return r;
        r = ledger_exec_all(ledger, pragmas, ELEMENTSOF(pragmas));
        if (r < 0)
                return r;
        ledger_watch_wal(ledger);
        return 0;
}

static int ledger_read(Ledger *ledger, const char *path, bool check, bool created) {
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
        return created ? 0 : ledger_schema_apply(ledger);
}

bool ledger_is_full(const Ledger *ledger) {
        assert(ledger);

        return ledger->full;
}

const char *ledger_error_words(int error) {
        switch (error) {
        case -ESTALE:
                return "its file was removed or replaced while it was in use: put it back, or restart "
                       "actord to use another ledger";
        case -EUCLEAN:
                return "its file is damaged, was cut short, or is not a regular file: restore a "
                       "copy of it, or move it away and restart actord";
        case -ETXTBSY:
                return "another program, such as sqlite3, is writing to it: let that program end its "
                       "transaction";
        default: return strerror(-error);
        }
}

/* SQLite opens any file with the right name beside a database, and waits for ever if it is a pipe.
 * *ret_absent: no such file exists. If only the ledger's own file is missing, SQLite makes it, and removes
 * an older WAL beside it. SQLite would replay that WAL into a file that is not empty. */
static bool are_regular_files(const char *path, bool *ret_absent) {
        static const char *const endings[] = { "", "-journal", "-wal", "-shm" };

        *ret_absent = true;
        for (size_t i = 0; i < ELEMENTSOF(endings); i++) {
                _cleanup_free_ char *name = NULL;
                struct stat st;

                if (asprintf(&name, "%s%s", path, endings[i]) < 0)
                        return false;
                if (stat(name, &st) < 0)
                        *ret_absent = *ret_absent && errno == ENOENT;
                else if (S_ISREG(st.st_mode))
                        *ret_absent = false;
                else
                        return false;
        }
        return true;
}

static uint64_t bytes_at(const char *path) {
        struct stat st;

        return stat(path, &st) < 0 ? 0 : (uint64_t) st.st_size;
}

static int ledger_setup(Ledger *ledger, const char *path, void (*checking)(uint64_t bytes)) {
        bool in_memory = strcmp(path, ":memory:") == 0, absent = false, check;
        int r;

        if (!in_memory) {
                r = lock_acquire(path, &ledger->lock_fd);
                if (r < 0)
                        return r;
                if (!are_regular_files(path, &absent))
                        return -EUCLEAN;
        }
        if (absent) {
                r = ledger_create(path);
                if (r < 0)
                        return r;
        }

        check = !in_memory && left_behind(path, ledger->lock_fd);
        if (check && checking)
                checking(bytes_at(path));
        r = ledger_read(ledger, path, check, absent);
        if ((r == -ENOSPC || r == -EDQUOT) && !in_memory) {
                /* There is no space for the file in which SQLite keeps the index of the WAL. With exclusive
                 * locking the index is in memory. */
                ledger->full = true;
                (void) sqlite3_close(ledger->db);
                ledger->db = NULL;
                r = ledger_read(ledger, path, check, absent);
        }
        /* This daemon has the lock, so no other daemon writes. */
        if (r == -EBUSY)
                return -ETXTBSY;
        if (r < 0 || in_memory)
                return r;
        (void) !pwrite(ledger->lock_fd, LOCK_MARK, strlen(LOCK_MARK), 0);
        ledger->path = strdup(path);
        return ledger->path ? ledger_look(ledger) : -ENOMEM;
}

/* Replaces the ledger by a copy in memory, and adds the columns that an older schema lacks and that this
 * version's statements name. */
static int replace_by_copy(Ledger *ledger) {
        _cleanup_(sqlite3_closep) sqlite3 *copy = NULL;
        sqlite3_backup *backup;
        int stepped, finished, r;
        uint64_t bytes;

        r = ledger_number(ledger, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                        NO_VALUES, &bytes);
        if (r < 0)
                return r;
        if (bytes > COPY_BYTES_MAX)
                return -EFBIG;
        if (sqlite3_open(":memory:", &copy) != SQLITE_OK)
                return -ENOMEM;
        backup = sqlite3_backup_init(copy, "main", ledger->db, "main");
        if (!backup)
                return ledger_error(ledger, sqlite3_errcode(copy));
        /* If the database is locked, the backup is empty, and only sqlite3_backup_step() reports an
         * error. */
        stepped = sqlite3_backup_step(backup, -1);
        finished = sqlite3_backup_finish(backup);
        r = ledger_error(ledger, stepped == SQLITE_DONE ? finished : stepped);
        if (r < 0)
                return r;
        (void) sqlite3_close(ledger->db);
        ledger->db = TAKE_PTR(copy);
        r = configure_reading(ledger);
        return r < 0 ? r : ledger_schema_apply(ledger);
}

static int open_to_read(Ledger *ledger, const char *path) {
        g_autofree char *escaped = g_uri_escape_string(path, "/", true);
        _cleanup_free_ char *uri = NULL;

        if (asprintf(&uri, "file:%s%s", escaped, has_wal(path) ? "" : "?immutable=1") < 0)
                return -ENOMEM;
        return ledger_error(ledger,
                        sqlite3_open_v2(uri, &ledger->db,
                                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL));
}

static int ledger_setup_to_read(Ledger *ledger, const char *path, void (*checking)(uint64_t bytes)) {
        bool check, absent;
        int r;

        r = lock_share(path, &ledger->lock_fd);
        if (r < 0)
                return r;
        if (!are_regular_files(path, &absent))
                return -EUCLEAN;
        check = left_behind(path, ledger->lock_fd);
        if (check)
                checking(bytes_at(path));
        r = open_to_read(ledger, path);
        if (r < 0)
                return r;
        r = configure_reading(ledger);
        if (r < 0)
                return r;
        r = check ? integrity_check(ledger) : 0;
        if (r < 0)
                return r;
        r = ledger_schema_is_newest(ledger);
        return r == 0 ? replace_by_copy(ledger) : MIN(r, 0);
}

/* Placeholders are numbered, so the text must name as many as there are columns. */
#define X_NAME(column, field, comment) ", " #column
#define X_MARK(column, field, comment) ", ?"
#define S_NAME(name, unit)             ", " #name
#define S_MARK(name, unit)             ", ?"
#define S_SET(name, unit)              ", " #name " = ?"
#define METRICS_SET                    EVALUATION_METRIC_STATISTICS(S_SET)

static int statements_prepare(Ledger *ledger) {
        int r;

        r = ledger_prepare(ledger,
                        "INSERT OR IGNORE INTO records (job, life, seq, actor, sha256" RECORD_COLUMNS(
                                        X_NAME) ") VALUES (?, ?, ?, ?, ?" RECORD_COLUMNS(X_MARK) ")",
                        &ledger->insert_record);
        if (r < 0)
                return r;
        r = ledger_prepare(ledger,
                        "UPDATE statistics SET evaluation_mean = ?, evaluation_sd = ?" METRICS_SET
                        " WHERE job = ? AND life = ? AND seq = ?",
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

static int open_by(int (*setup)(Ledger *ledger, const char *path, void (*checking)(uint64_t bytes)),
                const char *path, void (*checking)(uint64_t bytes), Ledger **ret) {
        Ledger *ledger;
        int r;

        assert(path);
        assert(ret);

        ledger = calloc(1, sizeof(*ledger));
        if (!ledger)
                return -ENOMEM;
        ledger->lock_fd = ledger->index_fd = -EBADF;

        r = setup(ledger, path, checking);
        if (r >= 0)
                r = statements_prepare(ledger);
        if (r < 0) {
                ledger_close(ledger);
                return r;
        }

        *ret = ledger;
        return 0;
}

int ledger_open(const char *path, Ledger **ret) {
        return ledger_open_checked(path, NULL, ret);
}

int ledger_open_checked(const char *path, void (*checking)(uint64_t bytes), Ledger **ret) {
        return open_by(ledger_setup, path, checking, ret);
}

int ledger_open_to_read(const char *path, void (*checking)(uint64_t bytes), Ledger **ret) {
        assert(checking);

        return open_by(ledger_setup_to_read, path, checking, ret);
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
        if (ledger->lock_fd >= 0)
                (void) flock(ledger->lock_fd, LOCK_UN);
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
