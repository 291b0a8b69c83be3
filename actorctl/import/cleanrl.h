/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the defaults of a CleanRL script (vwxyzjn/cleanrl) into a job file. The script is read as text and
 * never executed: only the lines NAME: TYPE = LITERAL of its class Args count. */
#pragma once

#include <stddef.h>

/* text: the script, n bytes; file: its name, from which the algorithm follows. Returns the job file,
 * g_free(). NULL: *ret_reason is a sentence that begins with the file's name, g_free(). */
char *cleanrl_to_job(const char *text, size_t n, const char *file, char **ret_reason);
