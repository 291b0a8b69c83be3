/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The signals by which a user ends this program: Ctrl-C, SIGTERM, and that the terminal is gone. */
#pragma once

#include <signal.h>

enum { N_ENDING_SIGNALS = 3 };
extern const int ending_signals[N_ENDING_SIGNALS];

/* Blocks them; earlier ones are kept. */
void ending_signals_block(void);
/* Makes a descriptor that shows those that are blocked. flags: of signalfd(), besides SFD_CLOEXEC. Returns
 * -1 and sets errno if that is impossible. */
int ending_signals_open(int flags);
