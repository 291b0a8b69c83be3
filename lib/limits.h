/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits that the host sets. Each program first raises its soft limits. If a limit may have caused an error,
 * the message names the limit and says how to raise it. */
#pragma once

#include <stdbool.h>

/* Raises the soft limits of open files and of file sizes to the hard ones. A write that exceeds the file
 * size limit then fails with EFBIG instead of ending the process with a signal. */
void limits_prepare(void);

/* Whether files may grow large enough for a job's records and a small policy: 0 or -EFBIG. Call this before
 * a job begins: if the ledger cannot grow, the job cannot end. */
int limits_check_file_size(void);

/* "; raise ...": advice to append to the description of an error (positive or negative) that a limit may
 * have caused; "" for other errors. */
const char *limit_advice(int error);

/* Advice when this signal has killed a process; "": no limit sends the signal. The limit of CPU time sends
 * SIGXCPU, and SIGKILL a moment later. */
const char *limit_signal_advice(int number);

/* Whether this process has a limit of memory, perhaps set by its caller. */
bool limit_of_memory_is_set(void);

/* Whether another try under this process's limits would fail in the same way. */
bool limit_is_lasting(int error);

/* Whether an errno means that the host's memory, processes, open files or space have run out for now, or
 * that a disk cannot be used. Then the program that got the errno is not at fault. ETIMEDOUT does not count:
 * the program itself may hang. */
bool limit_is_of_host(int error);

/* Whether the cause of an errno may disappear by itself: a resource of the host or of this program is busy
 * or has run out for now, a disk cannot be used, or an answer did not come in time. */
bool limit_may_pass(int error);

/* Whether an errno says that the host lacked memory, processes or open files for the moment, or answered too
 * late. So it says nothing about what the host allows: a job must not get a weaker sandbox because of it.
 * ENOSPC does not count: the kernel also returns it where user namespaces are forbidden. */
bool limit_is_momentary(int error);

/* The exit status of a learner that failed with this negative errno before it began; EXIT_LEARNER_SETUP: no
 * limit caused the error. The second function returns the errno for an exit status; 0: there is none. */
int limit_exit_status(int error);
int limit_exit_error(int status);
