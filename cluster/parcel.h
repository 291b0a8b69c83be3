/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The programs, for nodes that do not see their folder: one archive, which tar makes once and sbcast brings
 * to a node's allocation. It lies in memory alone, and ends with this program. The batch script of such a
 * node makes a folder that only the user may enter, waits there for an archive with the digest that it
 * names, and removes the folder at the end. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "cluster/command.h"

enum { PARCEL_DIGEST_TEXT = 65, PARCEL_FOLDER_BYTES = 64 };

typedef struct Parcel {
        bool wanted;                     /* nodes do not see the folder */
        int fd;                          /* of the archive; -EBADF: there is none yet */
        char digest[PARCEL_DIGEST_TEXT]; /* SHA-256; "": it is not complete yet */
        Command packing, sending;
        uint64_t next_send_nsec;
} Parcel;

#define PARCEL_NONE                                                            \
        (Parcel) {                                                             \
                .fd = -EBADF, .packing = COMMAND_NONE, .sending = COMMAND_NONE \
        }

void parcel_done(Parcel *parcel);

/* Starts tar. 0, or a negative errno with words. */
int parcel_pack(Parcel *parcel, const char *directory, char words[256]);
/* 1: the digest is there; 0: not yet; negative, with words: there will be none. */
int parcel_step(Parcel *parcel, uint64_t now_nsec, char words[256]);

/* Where it is unpacked on a node: /tmp/actord-TOKEN-NUMBER. */
void parcel_folder(const char *token, uint32_t number, char ret[PARCEL_FOLDER_BYTES]);
/* Starts sbcast to the allocation, if none runs and it is time for it. 1: it was started; 0: not yet;
 * -errno. */
int parcel_send(Parcel *parcel, const char *job, const char *folder, uint64_t now_nsec);
/* 1: sbcast has succeeded; 0: it runs, or none does; negative: it failed, and is tried again a second later
 * (the folder may not be there yet). */
int parcel_sent(Parcel *parcel, uint64_t now_nsec);
