/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits that the host sets for us: each program begins by taking what it may have, and says of an error
 * which limit it is and how to raise it. */
#pragma once

#include <stdbool.h>

/* Raises the soft limits of open files and of a file's size to the hard ones, and has a write beyond the
 * latter fail with EFBIG where its signal would end the process without a word. */
void limits_prepare(void);

/* Whether files may grow as large as a job's records and a small policy need: 0 or -EFBIG. Asked before a
 * job begins, as a ledger that cannot grow would keep it from ending. */
int limits_check_file_size(void);

/* "; raise ...": behind the description of an error (positive or negative) that a limit may have caused;
 * "" of any other. */
const char *limit_advice(int error);

/* Whether another try under the same limits ends the same. */
bool limit_is_lasting(int error);

/* The exit status of a learner that ended with this negative errno before it began; EXIT_LEARNER_SETUP
 * where no limit is behind it. And back: 0 of a status that names none. */
int limit_exit_status(int error);
int limit_exit_error(int status);
