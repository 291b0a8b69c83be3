/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a terminal can do, and how wide a line may be. */
#pragma once

#include <stdbool.h>

/* The columns of the terminal to which standard output goes, also through a pager; or COLUMNS= if that is
 * set. 0: there is no terminal, and lines may have any length. */
unsigned screen_columns(void);

/* Whether this is a terminal that obeys control sequences: TERM= is not dumb. */
bool terminal_obeys(int fd);
/* The width of this terminal, without regard to COLUMNS=; 80: the terminal does not report it. */
unsigned terminal_columns(int fd);
/* The height of this terminal; 24: the terminal does not report it. */
unsigned terminal_lines(int fd);
