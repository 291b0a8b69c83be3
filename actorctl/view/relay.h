/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes on the standard error of a job's processes. A process between them and this program's standard
 * error sanitises the text. */
#pragma once

#include <glib.h>

typedef struct Relay Relay;

/* Starts the process that sanitises the text. NULL, with a message: it cannot be started. */
Relay *relay_new(void);
/* The descriptor of the pipe: the standard error for programs that this program starts. relay NULL: this
 * program's own standard error. */
int relay_fd(const Relay *relay);
/* Returns when all text that was written before is shown, so that this program's next message comes after
 * it; or after two seconds. relay may be NULL. */
void relay_flush(Relay *relay);
/* Flushes. The process ends as soon as no writer is left. */
Relay *relay_free(Relay *relay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Relay, relay_free)
