/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints in colours if the output is a terminal that shows them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef enum Colour { COLOUR_PLAIN, COLOUR_STRONG, COLOUR_FAINT, COLOUR_GOOD, COLOUR_WARNING } Colour;

/* Whether this descriptor may get colours: it is a terminal, TERM= is not dumb, and NO_COLOR= is unset or
 * empty (https://no-color.org). */
bool colour_wanted(int fd);
/* Sets the colour of all later output to the stream. The sequence bypasses the sanitiser. */
void colour_set(FILE *stream, Colour colour);
