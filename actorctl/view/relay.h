/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes on what a job's processes write to standard error, sanitised, through a process between them and
 * our standard error. */
#pragma once

#include <glib.h>

typedef struct Relay Relay;

/* NULL, with a message. */
Relay *relay_new(void);
/* The pipe to write to, as the standard error of the programs that we start. NULL: our own. */
int relay_fd(const Relay *relay);
/* Returns when everything that was written before is shown, so that our own message comes after it. relay
 * may be NULL. */
void relay_flush(Relay *relay);
/* The same; and the process ends as soon as no writer is left. */
Relay *relay_free(Relay *relay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Relay, relay_free)
