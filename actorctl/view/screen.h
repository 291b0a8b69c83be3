/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How wide a line may be. */
#pragma once

/* The columns of the terminal that standard output goes to, also through our pager: COLUMNS= where it is
 * set. 0: it goes to no terminal, and a line may be as long as it is. */
unsigned screen_columns(void);

/* The width of this terminal, without regard to COLUMNS=; 80 where the terminal does not say. */
unsigned terminal_columns(int fd);
/* Its height, 24 where it does not say. */
unsigned terminal_lines(int fd);
