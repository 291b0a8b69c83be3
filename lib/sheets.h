/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where price sheets lie: shipped ones in the data directory, an administrator's in /etc/actord/price, which win. */
#pragma once

#include <glib.h>

#define SHEET_BYTES_MAX (64u * 1024u)

/* Names without .sheet, sorted, each once; NULL-terminated. */
GStrv sheets_list(void);

/* The text of a sheet. -ENOENT: there is none of this name (or it is no name); -EFBIG: it is too long. */
int sheets_read(const char *name, char **ret_text);
