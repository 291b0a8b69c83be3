/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an environment and whoever runs it write to standard error comes to ours through a process between
 * the two, sanitised. */
#pragma once

#include <glib.h>

typedef struct Relay Relay;

/* NULL after having said why. */
Relay *relay_new(void);
/* Where to write; becomes the standard error of whom we start. NULL: ours. */
int relay_fd(const Relay *relay);
/* What was written before has arrived when this returns, so that our own sentence comes after it. relay may be NULL. */
void relay_flush(Relay *relay);
/* The same, and the process ends as soon as no writer is left. */
Relay *relay_free(Relay *relay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Relay, relay_free)
