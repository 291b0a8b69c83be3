/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/warm.h"

#include <glib.h>

#include "lib/settings/settings.h"

enum { N = 5 };

typedef struct Case {
        const char *name, *keys;
        const char *rounds
                        /* the state of each actor in a round. c: starts cold, w: warm, i: idles, .: does not
                         * exist */
                        [6];
} Case;

/* Rounds of five, two, two, two and five actors; each lasts a second. */
static const uint32_t counts[] = { 5, 2, 2, 2, 5 };
static const Case cases[] = {
        { "unset", "", { "ccccc", "wwiii", "wwiii", "wwiii", "wwwww" } },
        { "provisioned", "WarmActors=2\n", { "ccccc", "wwii.", "wwii.", "wwii.", "wwwwc" } },
        { "none", "WarmActors=0\n", { "ccccc", "ww...", "ww...", "ww...", "wwccc" } },
        { "keep-alive", "KeepAliveSec=2\n", { "ccccc", "wwiii", "wwiii", "ww...", "wwccc" } },
        { "at-once", "KeepAliveSec=0\n", { "ccccc", "ww...", "ww...", "ww...", "wwccc" } },
        { "both", "WarmActors=1\nKeepAliveSec=1\n", { "ccccc", "wwiii", "wwi..", "wwi..", "wwwcc" } },
};

static void test_rounds(gconstpointer data) {
        const Case *c = data;
        g_autofree char *text =
                        g_strconcat("[Job]\nEnvironment=CartPole-v1\n[Scaling]\nActors=5\n", c->keys, NULL);
        g_autofree char *message = NULL;
        Imagined containers[N] = {};
        JobSettings settings;

        g_assert_cmpint(settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        for (uint64_t round = 0; round < G_N_ELEMENTS(counts); round++) {
                WarmRest rest = warm_rest(&settings);
                char seen[N + 1] = {};

                for (uint32_t k = 0; k < N; k++) {
                        bool needed = k < counts[round];
                        bool cold = imagined_arrange(&containers[k], needed, &rest, round * 1000000000);

                        if (needed)
                                seen[k] = cold ? 'c' : 'w';
                        else
                                seen[k] = containers[k].started ? 'i' : '.';
                }
                g_assert_cmpstr(seen, ==, c->rounds[round]);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strconcat("/warm/", cases[i].name, NULL);

                g_test_add_data_func(path, &cases[i], test_rounds);
        }
        return g_test_run();
}
