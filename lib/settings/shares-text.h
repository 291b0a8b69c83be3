/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the name in Shares=simppo:NAME. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

/* Reads `name`, the text after the colon of Shares= (NULL: there is no colon), into shares->name.
 * shares->kind is set already. 0; or -EINVAL with *ret_reason, a sentence without a subject, g_free(). */
int shares_parse_name(const char *name, setting_shares *shares, char **ret_reason);

/* Whether an installed policy may have this name. It becomes a file's name, so it must not lead out of the
 * folder. */
bool shares_name_valid(const char *name);
