/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that the nearest word is found if a word has another case, lacks its end or has one typing error,
 * and that no word is found if none is near. */
#include <glib.h>

#include "lib/settings/settings.h"

static void test_nearest(void) {
        static const char *const words[] = { "Hopper-v3", "Hopper-v4", "CartPole-v1", "list", "logs", NULL };

        g_assert_cmpstr(nearest_word("hopper", words), ==, "Hopper-v4");
        g_assert_cmpstr(nearest_word("CartPoel-v1", words), ==, "CartPole-v1");
        g_assert_cmpstr(nearest_word("lsit", words), ==, "list");
        g_assert_null(nearest_word("zebra", words));
        g_assert_null(nearest_word("bogus", (const char *const[]){ "logs", NULL }));
        g_assert_null(nearest_word("", words));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/nearest", test_nearest);
        return g_test_run();
}
