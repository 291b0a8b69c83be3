/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard output and error pass through lib/sanitise.h, whoever prints what: no verb has to think of it. */
#pragma once

#include <stdio.h>

/* From here on stdout and stderr show characters alone, in lines. */
void streams_sanitise(void);

/* Our own words to a terminal (cursor, erasing), and text that is asked for byte for byte: past all that. */
void stream_write_raw(FILE *stream, const char *bytes);
