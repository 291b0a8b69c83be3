/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a file of ours has the bytes that were written, by its SHA-256. A large one takes seconds to
 * read, so that a process of its own does it: the daemon has one thread. A few of them run at once, and the
 * others wait: after a restart all jobs may want to begin from their checkpoints, and a disk reads many
 * files at once no faster. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#define VERIFY_AT_ONCE_BYTES (1u << 20)
#define VERIFY_TIMEOUT_USEC  (600ull * 1000 * 1000) /* for each file, from when it is being read */
#define VERIFY_RUNNING_MAX   2u

typedef struct Verifier Verifier;
typedef struct Verify Verify;

Verifier *verifier_new(sd_event *event, uint64_t timeout_usec);
Verifier *verifier_free(Verifier *verifier); /* all of its files are done, or were freed */

/* result: 0; -EUCLEAN: it has other bytes. Another negative errno: it cannot be read, which says nothing of
 * its bytes; -ETIMEDOUT: not in time; -EAGAIN: its process was killed. The caller frees the Verify, also
 * from within. */
typedef void (*VerifyDone)(int result, void *userdata);

/* At once where the file is small, or no process can be started: 0 or as above. 1: `done` is called
 * later. The descriptor stays the caller's, and open until then. */
int verify_file(Verifier *verifier, int fd, const uint8_t expected[32], VerifyDone done, void *userdata,
                Verify **ret);
/* It waits, or is being read, no more. */
Verify *verify_free(Verify *verify);
