/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard output and standard error pass through lib/sanitise.h, without any code in the verbs. */
#pragma once

#include <stdio.h>

/* Replaces stdout and stderr by streams that sanitise lines. */
void streams_sanitise(void);

/* Bypasses the sanitiser: for this program's control sequences (cursor, erasing), and text that the user
 * wants byte for byte. */
void stream_write_raw(FILE *stream, const char *bytes);

/* Writes what the stream still holds. 0; or a negative errno: this or an earlier part of the output could
 * not be written. It is no error if the program that reads the output has ended. */
int stream_end(FILE *stream);
