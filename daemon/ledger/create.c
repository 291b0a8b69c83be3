/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a new ledger. SQLite would make it in three transactions, which write journals and wait eleven
 * times for the disk. So it is made whole in memory, written beside its place, and renamed when it is on the
 * disk: there is a whole ledger, or none. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"

/* Two bytes of the file's header, "file format write version" and "read version" of SQLite's file format
 * (fileformat2.html): 2 means WAL. */
enum { VERSIONS_AT = 18, VERSION_WAL = 2 };

int ledger_make_room_returnable(Ledger *ledger) {
        uint64_t n_pages;
        int r;

        r = ledger_number(ledger, "PRAGMA page_count", NO_VALUES, &n_pages);
        if (r < 0 || n_pages > 0)
                return r;
        return ledger_exec(ledger, "PRAGMA auto_vacuum = INCREMENTAL");
}

static void image_freep(unsigned char **image) {
        sqlite3_free(*image);
}

static int sync_directory_of(const char *path) {
        g_autofree char *name = g_path_get_dirname(path);
        _cleanup_close_ int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const char *path, const char *beside, const unsigned char *data, size_t n) {
        _cleanup_close_ int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
        int r;

        if (fd < 0)
                return -errno;
        r = write_full(fd, data, n);
        if (r < 0)
                return r;
        if (fdatasync(fd) < 0 || rename(beside, path) < 0)
                return -errno;
        return sync_directory_of(path);
}

static int image_make(Ledger *memory, unsigned char **ret, size_t *ret_n) {
        sqlite3_int64 n = 0;
        unsigned char *image;
        int r;

        r = ledger_error(memory, sqlite3_open(":memory:", &memory->db));
        if (r < 0)
                return r;
        r = ledger_make_room_returnable(memory);
        if (r < 0)
                return r;
        r = ledger_schema_apply(memory);
        if (r < 0)
                return r;
        image = sqlite3_serialize(memory->db, "main", &n, 0);
        if (!image)
                return -ENOMEM;
        assert(n > VERSIONS_AT + 1);
        image[VERSIONS_AT] = image[VERSIONS_AT + 1] = VERSION_WAL;
        *ret = image;
        *ret_n = (size_t) n;
        return 0;
}

int ledger_create(const char *path) {
        _cleanup_(image_freep) unsigned char *image = NULL;
        _cleanup_free_ char *beside = NULL;
        Ledger memory = {};
        size_t n = 0;
        int r;

        assert(path);

        if (asprintf(&beside, "%s-new", path) < 0)
                return -ENOMEM;
        r = image_make(&memory, &image, &n);
        (void) sqlite3_close(memory.db);
        if (r < 0)
                return r;
        r = write_file(path, beside, image, n);
        if (r < 0)
                (void) unlink(beside);
        return r;
}
