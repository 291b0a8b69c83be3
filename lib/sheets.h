/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Price sheets: shipped ones in the data directory, an administrator's in /etc/actord/price, which come
 * first. */
#pragma once

#include <glib.h>

#define SHEET_BYTES_MAX (64u * 1024u)

/* Names without .sheet, sorted, each once; NULL-terminated, g_strfreev(). 0; a negative errno: a
 * directory of them cannot be read. */
int sheets_list(GStrv *ret);

/* Reads the text of a sheet. -ENOENT: there is none of this name, or the name is not valid; -EFBIG: it is
 * too long. */
int sheets_read(const char *name, char **ret_text);
