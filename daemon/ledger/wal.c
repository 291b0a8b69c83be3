/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The write-ahead file. A commit appends its pages to this file. A checkpoint copies the pages into the
 * ledger's own file, except pages that a reader still needs there in their old form. SQLite starts again at
 * the beginning of the file only when all pages were copied and no reader uses the file. So a single open
 * transaction lets the file grow without limit. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"

#define PASSIVE_PAGES 256 /* 1 MiB, so that a small disk suffices; SQLite's own limit is 1000 pages */

/* The first lock byte in the index of the write-ahead file, and how many there are: each reader locks one of
 * five. They are part of SQLite's file format (walformat.html, "WAL-Index Locks"). */
enum { READ_LOCKS_AT = 123, N_READ_LOCKS = 5 };

static int on_commit(void *userdata, sqlite3 *db, const char *name, int n_pages) {
        const Ledger *ledger = userdata;

        if (ledger->written)
                ledger->written(ledger->written_userdata);
        if (n_pages >= PASSIVE_PAGES)
                (void) sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        return SQLITE_OK;
}

void ledger_watch_wal(Ledger *ledger) {
        (void) sqlite3_wal_hook(ledger->db, on_commit, ledger);
}

void ledger_on_written(Ledger *ledger, void (*written)(void *userdata), void *userdata) {
        assert(ledger);

        ledger->written = written;
        ledger->written_userdata = userdata;
}

uint64_t ledger_wal_bytes(const Ledger *ledger) {
        _cleanup_free_ char *name = NULL;
        struct stat st;

        assert(ledger);

        if (!ledger->path || asprintf(&name, "%s-wal", ledger->path) < 0 || stat(name, &st) < 0)
                return 0;
        return (uint64_t) st.st_size;
}

int ledger_fold(Ledger *ledger) {
        int r;

        assert(ledger);

        if (!ledger->path || ledger->full)
                return 0;
        r = ledger_look(ledger);
        if (r < 0)
                return r;
        /* the daemon does not wait for readers */
        (void) sqlite3_busy_timeout(ledger->db, 0);
        r = ledger_error(ledger,
                        sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
        (void) sqlite3_busy_timeout(ledger->db, LEDGER_BUSY_MSEC);
        return r == -EBUSY ? 1 : r;
}

/* Opens the index on a separate descriptor, which stays open as long as SQLite has the file open: closing it
 * would drop all locks of the process on the file. */
static int open_index(Ledger *ledger) {
        _cleanup_free_ char *name = NULL;

        if (ledger->index_fd >= 0)
                return 0;
        if (asprintf(&name, "%s-shm", ledger->path) < 0)
                return -ENOMEM;
        ledger->index_fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return ledger->index_fd < 0 ? -errno : 0;
}

pid_t ledger_reader(Ledger *ledger) {
        struct flock lock = {
                .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = READ_LOCKS_AT, .l_len = N_READ_LOCKS
        };

        assert(ledger);

        if (!ledger->path || ledger->full || open_index(ledger) < 0 ||
                        fcntl(ledger->index_fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
                return 0;
        return lock.l_pid > 0 ? lock.l_pid : 0;
}
