/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Texts of random bytes are no job files: each is refused, with messages that name the file. */
#include <errno.h>
#include <glib.h>

#include "lib/settings/settings.h"

static void test_noise(void) {
        static const char letters[] = "[]=#;\n\n\n .,-+%eEJobSd109KMG\"\\\t";

        for (int repeat = 0; repeat < 2000; repeat++) {
                char text[200];
                g_autofree char *message = NULL;
                JobSettings settings;
                int n = g_test_rand_int_range(0, sizeof(text) - 1);

                for (int i = 0; i < n; i++)
                        text[i] = letters[g_test_rand_int_range(0, sizeof(letters) - 1)];
                text[n] = '\0';
                g_assert_cmpint(settings_parse(text, "noise", NULL, 0, NULL, &settings, &message), ==,
                                -EINVAL);
                g_assert_true(g_str_has_prefix(message, "noise:"));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/noise/refused", test_noise);
        return g_test_run();
}
