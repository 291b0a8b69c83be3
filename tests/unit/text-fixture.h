/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helps tests that append settings to their fixture's job file. */
#pragma once

#include <glib.h>

/* Removes all values of a key but the last one, since a job file may have each key of a section only once;
 * g_free(). */
char *text_last_values(const char *text);
