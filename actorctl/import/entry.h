/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One entry of a YAML file that maps names to settings, read by libyaml. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Fills `entry` (key -> text, both freed by g_free()) from the entry of this name; name NULL: the only
 * entry. A scalar becomes its text, a list becomes a text in brackets, and anything deeper or very long
 * becomes "{...}". `<<: *other` takes the keys of another entry that this one does not have. *ret_name: the
 * entry's name, g_free(). false: *ret_reason is a sentence, g_free(). */
bool entry_read(const char *text, size_t n, const char *name, GHashTable *entry, char **ret_name,
                char **ret_reason);
