/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds price sheets: first the administrator's, in /etc/actord/price, then those in the data directory,
 * which come with the programs. */
#pragma once

#include <glib.h>

#define SHEET_BYTES_MAX (64u * 1024u)

/* The names without .sheet, sorted, each once; NULL-terminated, g_strfreev(). 0, or a negative errno: a
 * directory cannot be read. */
int sheets_list(GStrv *ret);

/* Reads the text of a sheet. -ENOENT: there is none of this name, or the name is not valid; -EFBIG: it is
 * too long. */
int sheets_read(const char *name, char **ret_text);
