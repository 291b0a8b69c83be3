/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/settings/shares-text.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/settings/print.h"

bool shares_name_valid(const char *name) {
        size_t n = strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-._");

        return n > 0 && n <= SHARES_NAME_MAX && name[n] == '\0' && name[0] != '.';
}

int shares_parse_name(const char *name, setting_shares *shares, char **ret_reason) {
        const char *word = choice_shares_kind_to_string(shares->kind);

        if (shares->kind == SHARES_KIND_EQUAL) {
                if (!name)
                        return 0;
                *ret_reason = g_strdup_printf("%s takes nothing after a colon", word);
        } else if (!name || !*name)
                *ret_reason = g_strdup_printf("it needs the name of an installed policy: %s:NAME", word);
        else if (!shares_name_valid(name))
                *ret_reason = g_strdup_printf(
                                "a policy's name has at most %u characters: ASCII letters, digits and - . "
                                "_, with no dot first",
                                SHARES_NAME_MAX);
        else {
                (void) g_strlcpy(shares->name, name, sizeof(shares->name));
                return 0;
        }
        return -EINVAL;
}
