/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that hold a name or a number behind a colon: Environment=faas:N and shares:N, and
 * Shares=simppo:NAME. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/settings/settings.h"

#define CARTPOLE "[Job]\nEnvironment=CartPole-v1\n"

static void accept(const char *text, JobSettings *ret) {
        g_autofree char *message = NULL;

        if (settings_parse(text, "x.conf", NULL, 0, NULL, ret, &message) < 0)
                g_error("%s", message);
}

static void refuse(const char *text, const char *place, const char *words) {
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(settings_parse(text, "x.conf", NULL, 0, NULL, &settings, &message), ==, -EINVAL);
        if (!g_str_has_prefix(message, place) || !strstr(message, words))
                g_error("%s\ndoes not say '%s' at %s, but '%s'", text, words, place, message);
}

/* An environment's name may contain an option. [Environment] may repeat it, but not change its value. */
static void test_named_option(void) {
        JobSettings settings;

        accept("[Job]\nEnvironment=faas:3\n", &settings);
        g_assert_cmpuint(settings.n_options, ==, 1);
        g_assert_cmpstr(settings.options[0].key, ==, "Neighbours");
        g_assert_cmpstr(settings.options[0].value, ==, "3");
        accept("[Job]\nEnvironment=faas:3\n[Environment]\nSLOSec=1\nNeighbours=3\n", &settings);
        g_assert_cmpuint(settings.n_options, ==, 2);
        accept("[Job]\nEnvironment=faas\n", &settings);
        g_assert_cmpuint(settings.n_options, ==, 0);
        refuse("[Job]\nEnvironment=faas:3\n[Environment]\nNeighbours=4\n",
                        "x.conf:4:", "Environment=faas:3 sets this key already");
        accept("[Job]\nEnvironment=shares:16\n", &settings);
        g_assert_cmpstr(settings.options[0].key, ==, "Jobs");
        g_assert_cmpstr(settings.options[0].value, ==, "16");
}

static void test_numbers(void) {
        static const char *const bad[][2] = {
                { "faas:", "write faas:N, with a number of other functions from 0 to 15" },
                { "faas:16", "write faas:N" },
                { "faas:x", "write faas:N" },
                { "faas:-1", "write faas:N" },
                { "faas:3:4", "write faas:N" },
                { "shares:17", "write shares:N, with a number of jobs from 1 to 16" },
                { "shares:0", "write shares:N" },
                { "shares:", "write shares:N" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *text = g_strdup_printf("[Job]\nEnvironment=%s\n", bad[i][0]);

                refuse(text, "x.conf:2:", bad[i][1]);
        }
}

/* The name of a policy becomes a file's name, so it must not be a path. */
static void test_shares(void) {
        static const char *const bad[][2] = { { "simppo", "simppo:NAME" }, { "simppo:", "simppo:NAME" },
                { "simppo:../x", "no dot first" }, { "simppo:a/b", "ASCII letters" },
                { "simppo:.x", "no dot first" }, { "equal:x", "takes nothing after a colon" },
                { "equl", "did you mean equal?" } };
        JobSettings s;

        accept(CARTPOLE, &s);
        g_assert_cmpuint(s.shares.kind, ==, SHARES_KIND_EQUAL);
        accept(CARTPOLE "[Scaling]\nShares=simppo:four-2.b_C\nDeadline=2h\n", &s);
        g_assert_cmpuint(s.shares.kind, ==, SHARES_KIND_SIMPPO);
        g_assert_cmpstr(s.shares.name, ==, "four-2.b_C");
        g_assert_cmpuint(s.deadline_usec, ==, 7200ull * 1000 * 1000);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *text = g_strdup_printf(CARTPOLE "[Scaling]\nShares=%s\n", bad[i][0]);

                refuse(text, "x.conf:4:", bad[i][1]);
        }
        /* Without Shares=simppo:NAME, no code reads Deadline= of this job. */
        refuse(CARTPOLE "[Scaling]\nShares=equal\nDeadline=2h\n", "x.conf:5:", "Shares=simppo:NAME");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/settings-names/option", test_named_option);
        g_test_add_func("/settings-names/numbers", test_numbers);
        g_test_add_func("/settings-names/shares", test_shares);

        return g_test_run();
}
