/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the numbers in the tables of an experiment. */
#pragma once

#include <glib.h>

#include "actorctl/experiment/statistics.h"

/* For programs: a text that parses to the same number, with 15 digits if they are enough, otherwise 17;
 * nothing if the number is not finite. */
void add_number(GString *text, double value);
/* For people: three or four significant digits, all digits before the point, no exponent for common sizes; a
 * dash if the number is not finite. */
void add_short(GString *text, double value);
void add_interval(GString *text, Interval interval);
