/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the numbers in the tables of an experiment. */
#pragma once

#include <glib.h>

#include "actorctl/experiment/statistics.h"

/* For programs: the shortest text that parses to the same number; nothing if the number is not finite. */
void add_number(GString *text, double value);
/* For people: four significant digits, without an exponent for common sizes. */
void add_short(GString *text, double value);
void add_interval(GString *text, Interval interval);
