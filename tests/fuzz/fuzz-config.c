/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses any bytes as actord.conf. The parser must accept the bytes, or refuse them with a sentence that
 * names the file. If accepted bytes are parsed again into the same configuration, nothing changes. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *message = NULL, *again = NULL;
        Config config = {}, twice;

        config_init(&config);
        if (config_parse(&config, text, "FILE", &message) < 0) {
                g_assert(message && strstr(message, "FILE") && g_utf8_validate(message, -1, NULL));
                return 0;
        }
        twice = config;
        if (config_parse(&twice, text, "FILE", &again) < 0)
                g_error("%s", again);
        g_assert_cmpmem(&config, sizeof(config), &twice, sizeof(twice));
        return 0;
}
