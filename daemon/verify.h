/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks by SHA-256 whether a file of the daemon still has the bytes that were written. A large file takes
 * seconds to read and the daemon has one thread, so a process of its own reads it. A few of them run at
 * once, and the others wait: after a restart all jobs may want to begin from their checkpoints, and reading
 * many files at once is no faster. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#define VERIFY_AT_ONCE_BYTES (1u << 20)
#define VERIFY_TIMEOUT_USEC  (600ull * 1000 * 1000) /* for each file, from the start of its reading */
#define VERIFY_RUNNING_MAX   2u

typedef struct Verifier Verifier;
typedef struct Verify Verify;

Verifier *verifier_new(sd_event *event, uint64_t timeout_usec);
Verifier *verifier_free(Verifier *verifier); /* call it when no file waits or is being read */

/* result: 0; -EUCLEAN: the file has other bytes. Any other negative errno says nothing about the bytes: the
 * file cannot be read; -ETIMEDOUT: not in time; -EAGAIN: the process was killed. The caller frees the
 * Verify, and may do so in this function. */
typedef void (*VerifyDone)(int result, void *userdata);

/* Checks a file. 1: `done` is called later. The descriptor stays the caller's, and must stay open until
 * then. 0 or an error of VerifyDone: the result is known at once, since the file is small or no process
 * could be started. */
int verify_file(Verifier *verifier, int fd, const uint8_t expected[32], VerifyDone done, void *userdata,
                Verify **ret);
/* Frees the Verify, whether its file waits, is being read or is done. */
Verify *verify_free(Verify *verify);
