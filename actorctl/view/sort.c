/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/sort.h"

#include <string.h>

#include "actorctl/actorctl.h"

bool sort_key_find(const SortKey *keys, size_t n, const char *word, size_t *ret) {
        g_autoptr(GString) words = g_string_new(NULL);

        for (size_t i = 0; i < n; i++) {
                if (!word || strcmp(word, keys[i].word) == 0 || g_strcmp0(word, keys[i].older) == 0) {
                        *ret = i;
                        return true;
                }
                g_string_append_printf(words, "%s%s", i > 0 ? ", " : "", keys[i].word);
        }
        complain("--sort=%s: it must be one of %s", word, words->str);
        return false;
}
