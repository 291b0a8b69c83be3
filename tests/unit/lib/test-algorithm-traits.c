/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the sets of parameters that follow from an algorithm's row, and their names. */
#include <glib.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/settings/settings.h"

/* Checks the names of an algorithm's sets of parameters, as "number:name number:name …". */
static void check_names(uint32_t algorithm, const char *expected) {
        g_autoptr(GString) names = g_string_new(NULL);

        for (Net net = 0; net < NETS_MAX; net++) {
                char name[NET_NAME_MAX];
                uint32_t member;

                if (!algorithm_net(algorithm, net, &member))
                        continue;
                algorithm_net_name(algorithm, net, name);
                g_string_append_printf(names, "%s%u:%s", names->len > 0 ? " " : "", net, name);
        }
        g_assert_cmpstr(names->str, ==, expected);
}

static void test_names(void) {
        check_names(ALGORITHM_PPO, "0:policy");
        check_names(ALGORITHM_REBEL, "0:policy");
        check_names(ALGORITHM_DQN, "0:policy 1:target");
        check_names(ALGORITHM_DDPG, "0:policy 1:target 2:critic 3:critic-target");
        check_names(ALGORITHM_TD3,
                        "0:policy 1:target 2:critic 3:critic-target 4:critic-2 5:critic-2-target");
        check_names(ALGORITHM_SAC, "0:policy 2:critic 3:critic-target 4:critic-2 5:critic-2-target");
}

/* In an algorithm no two networks or members of ensembles have the same name, and all sets of parameters
 * have numbers below NETS_MAX. */
static void test_rows(void) {
        for (uint32_t a = 0; a < _ALGORITHM_MAX; a++) {
                g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
                const AlgorithmRow *row = algorithm_row(a);
                uint32_t n = 0, member;

                g_assert_cmpstr(row->networks[0].name, ==, "policy");
                for (uint32_t k = 0; k < NETWORKS_MAX && row->networks[k].name; k++) {
                        g_assert_cmpuint(row->networks[k].n, >, 0);
                        n += row->networks[k].n;
                }
                g_assert_cmpuint(2 * n, <=, NETS_MAX);
                g_assert_null(algorithm_net(a, 2 * n, &member));
                for (Net net = 0; net < 2 * n; net++) {
                        char name[NET_NAME_MAX];

                        if (!algorithm_net(a, net, &member))
                                continue;
                        algorithm_net_name(a, net, name);
                        g_assert_true(g_hash_table_add(seen, g_strdup(name)));
                }
        }
}

/* Returns why a job with algorithm REBEL and these lines in [Actor] is refused; NULL: it is accepted. */
static char *refusal(const char *environment, const char *actor, JobSettings *ret) {
        g_autofree char *text = g_strdup_printf(
                        "[Job]\nEnvironment=%s\nAlgorithm=rebel\n[Actor]\n%s\n", environment, actor);
        char *message = NULL;

        return settings_parse(text, "x.conf", NULL, 0, NULL, ret, &message) < 0 ? message : NULL;
}

static void check_refused(const char *environment, const char *actor, const char *where, const char *why) {
        JobSettings s;
        g_autofree char *message = refusal(environment, actor, &s);

        g_assert_nonnull(message);
        g_assert_nonnull(strstr(message, where));
        g_assert_nonnull(strstr(message, why));
}

static void test_pairs(void) {
        JobSettings s;

        g_assert_null(refusal("CartPole-v1", "EnvsPerActor=4\nPairSteps=128", &s));
        g_assert_cmpuint(algorithm_pair_steps(&s), ==, 128);
        g_assert_null(refusal("CartPole-v1", "EnvsPerActor=4\nRolloutSteps=40", &s));
        g_assert_cmpuint(algorithm_pair_steps(&s), ==, 40);
        s.algorithm = ALGORITHM_PPO;
        g_assert_cmpuint(algorithm_pair_steps(&s), ==, 0);

        check_refused("CartPole-v1", "EnvsPerActor=3", "x.conf:5: [Actor] EnvsPerActor=3", "an even number");
        check_refused("CartPole-v1", "", "[Actor] EnvsPerActor=1", "an even number");
        check_refused("CartPole-v1", "EnvsPerActor=2\nPairSteps=129", "x.conf:6: [Actor] PairSteps=129",
                        "RolloutSteps=128");
        check_refused("job:inner.conf", "EnvsPerActor=2\nCarry=reset", "Environment=job:inner.conf",
                        "snapshot");
        check_refused("CartPole-v1", "EnvsPerActor=2\n[Distribution]\nPolicy=async", "Policy=async",
                        "Algorithm=rebel");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/algorithm-traits/names", test_names);
        g_test_add_func("/algorithm-traits/rows", test_rows);
        g_test_add_func("/algorithm-traits/pairs", test_pairs);
        return g_test_run();
}
