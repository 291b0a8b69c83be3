/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Single keys of a terminal, without Enter. */
#pragma once

#include <stdbool.h>

/* From now on each key can be read at once and is not echoed, nor is Ctrl-C, which stays a signal. The
 * descriptor; or a negative errno: standard input is no terminal, or another program has it. */
int keys_open(void);
/* Gives the terminal back as it was, unless another program has it now; also at exit. */
void keys_close(void);
/* Whether another program has the terminal now, as the shell has after Ctrl-Z and bg. */
bool keys_are_lent(void);
