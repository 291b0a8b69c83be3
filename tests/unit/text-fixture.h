/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helps tests that append settings to their fixture's job file. */
#pragma once

#include <glib.h>

/* A job file has each key of a section once. Here the last of several values takes the place of the others;
 * g_free(). */
char *text_last_values(const char *text);
