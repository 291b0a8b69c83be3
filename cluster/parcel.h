/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord's programs in one archive, for nodes that do not see the folder of the programs. tar makes the
 * archive once, and sbcast copies it to each node. On this host the archive is only in memory, and is gone
 * when this program ends. The batch script of such a node makes a folder that only the user may enter. It
 * waits there until the archive has the right digest, and removes the folder at the end. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "cluster/command.h"

enum { PARCEL_DIGEST_TEXT = 65, PARCEL_FOLDER_BYTES = 64 };

typedef struct Parcel {
        bool wanted;                     /* nodes do not see the folder of actord's programs */
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
/* Goes on with the packing. 1: the archive is complete, and its digest is known; 0: not yet; negative, with
 * words: packing has failed. */
int parcel_step(Parcel *parcel, uint64_t now_nsec, char words[256]);

/* The folder on a node in which the archive is unpacked: /tmp/actord-TOKEN-NUMBER. */
void parcel_folder(const char *token, uint32_t number, char ret[PARCEL_FOLDER_BYTES]);
/* Starts sbcast to the allocation, unless one runs, the next try is not due, or the archive is not complete.
 * 1: it was started; 0: not yet; -errno. */
int parcel_send(Parcel *parcel, const char *job, const char *folder, uint64_t now_nsec);
/* Whether the parcel was sent. 1: sbcast has succeeded; 0: it still runs, or was not started; negative: it
 * failed, perhaps because the folder is not there yet. The next try is due a second later. */
int parcel_sent(Parcel *parcel, uint64_t now_nsec);
