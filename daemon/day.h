/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Days of the host's time zone. A day has 23 to 25 hours, and need not begin at 00:00. Pure, except for the
 * time zone. */
#pragma once

#include <stdint.h>

#define DAY_MAX       11u /* YYYY-MM-DD */
#define DAY_WORDS_MAX 48u

/* The day of a time. usec: since 1970, as in CLOCK_REALTIME. Returns ret. */
const char *day_of(uint64_t usec, char ret[DAY_MAX]);

/* When the next day begins: the first second with another date. */
uint64_t day_end(uint64_t usec);

/* A time in words: "2026-11-24 00:00 CET". Returns ret. */
const char *day_words(uint64_t usec, char ret[DAY_WORDS_MAX]);
