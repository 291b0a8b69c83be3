/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/parcel.h"

#include <dirent.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/hex.h"

enum { FILES_MAX = 40, NAME_BYTES = 256, PACK_SECONDS = 60, SEND_SECONDS = 30, AGAIN_SECONDS = 1 };

typedef struct Names {
        char names[FILES_MAX][NAME_BYTES];
        size_t n;
} Names;

void parcel_done(Parcel *parcel) {
        command_done(&parcel->packing);
        command_done(&parcel->sending);
        parcel->fd = close_fd(parcel->fd);
}

/* Whether nodes need the file, by its name: actord's programs (actord-*), modules (*.so) and libraries with
 * a version (*.so.*). */
static bool is_ours(const char *name) {
        const char *module = strstr(name, ".so");

        return strlen(name) < NAME_BYTES &&
               (strncmp(name, "actord-", 7) == 0 || (module && (!module[3] || module[3] == '.')));
}

static int list_files(const char *directory, Names *ret) {
        _cleanup_closedir_ DIR *dir = opendir(directory);
        struct dirent *entry;

        if (!dir)
                return -errno;
        ret->n = 0;
        while ((entry = readdir(dir)) && ret->n <= FILES_MAX)
                if (is_ours(entry->d_name) && ret->n++ < FILES_MAX)
                        memcpy(ret->names[ret->n - 1], entry->d_name, strlen(entry->d_name) + 1);
        if (ret->n > FILES_MAX)
                return -E2BIG;
        return ret->n > 0 ? 0 : -ENOENT;
}

/* Makes a memfd for the archive, which grows as tar writes to it. On newer kernels a seal forbids executing
 * it. */
static int make_archive(void) {
        int fd = -1;

#ifdef MFD_NOEXEC_SEAL
        fd = memfd_create("actord-parcel", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
#endif
        if (fd < 0)
                fd = memfd_create("actord-parcel", MFD_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Writes a path under which tar and sbcast can open the archive, which is a memfd without a name. */
static void name_archive(const Parcel *parcel, char ret[64]) {
        (void) snprintf(ret, 64, "/proc/%d/fd/%d", (int) getpid(), parcel->fd);
}

int parcel_pack(Parcel *parcel, const char *directory, char words[256]) {
        _cleanup_free_ Names *names = malloc(sizeof(*names));
        char *argv[FILES_MAX + 9] = { (char *) "tar", (char *) "--create", (char *) "--dereference",
                (char *) "--directory", (char *) directory, (char *) "--file" };
        char path[64];
        size_t n = 6;
        int r;

        if (!names)
                return -ENOMEM;
        parcel->fd = make_archive();
        r = parcel->fd < 0 ? parcel->fd : list_files(directory, names);
        if (r >= 0) {
                name_archive(parcel, path);
                argv[n++] = path;
                argv[n++] = (char *) "--";
                for (size_t i = 0; i < names->n; i++)
                        argv[n++] = names->names[i];
                argv[n] = NULL;
                r = command_start(&parcel->packing, argv, NULL, PACK_SECONDS);
        }
        if (r < 0)
                (void) snprintf(words, 256, "the programs in %.120s cannot be packed for the nodes: %s",
                                directory, strerror(-r));
        return r;
}

static int find_digest(int fd, char ret[PARCEL_DIGEST_TEXT]) {
        uint8_t digest[32];
        struct stat st;
        void *map;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size == 0)
                return -ENODATA;
        map = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                return -errno;
        r = gnutls_hash_fast(GNUTLS_DIG_SHA256, map, (size_t) st.st_size, digest);
        (void) munmap(map, (size_t) st.st_size);
        if (r < 0)
                return -EIO;
        hex_print(digest, sizeof(digest), ret);
        return 0;
}

int parcel_step(Parcel *parcel, uint64_t now, char words[256]) {
        int r;

        if (!command_step(&parcel->packing, now))
                return 0;
        r = command_succeeded(&parcel->packing) ? find_digest(parcel->fd, parcel->digest) : -EIO;
        if (r < 0)
                (void) snprintf(words, 256, "tar cannot pack the programs for the nodes: %.150s",
                                parcel->packing.output[0] ? parcel->packing.output : strerror(-r));
        return r < 0 ? r : 1;
}

void parcel_folder(const char *token, uint32_t number, char ret[PARCEL_FOLDER_BYTES]) {
        (void) snprintf(ret, PARCEL_FOLDER_BYTES, "/tmp/actord-%.32s-%" PRIu32, token, number);
}

int parcel_send(Parcel *parcel, const char *job, const char *folder, uint64_t now) {
        char path[64], id[48], to[PARCEL_FOLDER_BYTES + 16];
        char *argv[] = { (char *) "sbcast", (char *) "--force", id, path, to, NULL };
        int r;

        if (parcel->sending.pid > 0 || now < parcel->next_send_nsec || !parcel->digest[0])
                return 0;
        name_archive(parcel, path);
        (void) snprintf(id, sizeof(id), "--jobid=%s", job);
        (void) snprintf(to, sizeof(to), "%s/parcel", folder);
        r = command_start(&parcel->sending, argv, NULL, SEND_SECONDS);
        return r < 0 ? r : 1;
}

int parcel_sent(Parcel *parcel, uint64_t now) {
        if (!command_step(&parcel->sending, now))
                return 0;
        if (command_succeeded(&parcel->sending))
                return 1;
        parcel->next_send_nsec = now + AGAIN_SECONDS * 1000000000ull;
        return -EAGAIN;
}
