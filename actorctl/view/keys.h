/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads single keys of a terminal, without Enter. */
#pragma once

#include <stdbool.h>

/* Makes each key readable at once, without echo. Ctrl-C still sends its signal. Returns a descriptor; or a
 * negative errno: standard input is not a terminal, or another program has it. */
int keys_open(void);
/* From now on the terminal echoes nothing, not even Ctrl-C. */
void keys_hush(void);
/* Restores the terminal, unless another program has it now. It is also called at exit. */
void keys_close(void);
/* Whether another program has the terminal now, as the shell does after Ctrl-Z and bg. */
bool keys_are_lent(void);
