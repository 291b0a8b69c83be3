/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How wide a line may be. */
#pragma once

/* The columns of the terminal to which standard output goes, also through a pager; or COLUMNS= if that is
 * set. 0: there is no terminal, and lines may have any length. */
unsigned screen_columns(void);

/* The width of this terminal, whatever COLUMNS= says; 80 if the terminal does not tell. */
unsigned terminal_columns(int fd);
/* Its height; 24 if the terminal does not tell. */
unsigned terminal_lines(int fd);
