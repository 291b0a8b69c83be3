/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the list of a job's nodes, which the daemon makes from the job's records. */
#include <glib.h>
#include <string.h>

#include "daemon/node-list.h"

static void say(NodeList *list, uint64_t number, ClusterEventKind kind, const char *words, uint64_t nsec) {
        Record record = { .kind = RECORD_NODE, .ordinal = number, .detail = (int32_t) kind };

        record.metered.emulated_nsec = nsec;
        strncpy((char *) record.sha256, words, sizeof(record.sha256) - 1);
        node_list_add(list, &record);
}

static void assert_words(const NodeList *list, const char *expected) {
        g_auto(GStrv) words = node_list_words(list);
        g_autofree char *all = g_strjoinv("; ", words);

        g_assert_cmpstr(all, ==, expected);
}

static void test_states(void) {
        NodeList list = {};

        say(&list, 2, CLUSTER_PENDING, "Priority", 0);
        say(&list, 1, CLUSTER_UP, "n1", 0);
        assert_words(&list, "1 up n1; 2 pending Priority");
        say(&list, 2, CLUSTER_UP, "n2", 0);
        say(&list, 2, CLUSTER_UP, "n2", 0);
        g_assert_cmpuint(list.n_max, ==, 2);
        say(&list, 2, CLUSTER_COST, "n2", 40000000000);
        assert_words(&list, "1 up n1; 2 up n2 for 40 s");
        g_assert_cmpuint(list.allocated_nsec, ==, 40000000000);
        say(&list, 1, CLUSTER_LOST, "cut", 5);
        say(&list, 3, CLUSTER_UP, "a\033[31mb", 0);
        assert_words(&list, "2 up n2 for 40 s; 3 up a");
        say(&list, 2, CLUSTER_GONE, "", 7);
        say(&list, 9, 77, "", 1);
        g_assert_cmpuint(list.n_up, ==, 1);
        g_assert_cmpuint(list.n_max, ==, 2);
        g_assert_cmpuint(list.n_lost, ==, 1);
        g_assert_cmpuint(list.allocated_nsec, ==, 40000000012);
        node_list_clear(&list);
        assert_words(&list, "");
        g_assert_cmpuint(list.n_max, ==, 2);
}

/* With as many nodes as a job may have, the list names each node and counts the end of each. */
static void test_many(void) {
        NodeList list = {};

        for (uint64_t i = 1; i <= NODES_MAX; i++)
                say(&list, i, CLUSTER_UP, "n", 0);
        g_auto(GStrv) words = node_list_words(&list);
        g_assert_cmpuint(g_strv_length(words), ==, NODES_MAX);
        g_assert_cmpuint(list.n_up, ==, NODES_MAX);
        for (uint64_t i = 1; i <= NODES_MAX; i++)
                say(&list, i, CLUSTER_GONE, "", 0);
        g_assert_cmpuint(list.n_up, ==, 0);
        assert_words(&list, "");
}

/* A ledger of another actord may list more than NODES_MAX nodes. Then the list has those with the highest
 * numbers. */
static void test_too_many(void) {
        NodeList list = {};

        for (uint64_t i = 1; i <= 3 * NODES_MAX; i++)
                say(&list, i, CLUSTER_PENDING, "Resources", 0);
        g_auto(GStrv) words = node_list_words(&list);
        g_assert_cmpuint(g_strv_length(words), ==, NODES_MAX);
        g_assert_true(g_str_has_prefix(words[NODES_MAX - 1], "768 pending"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/node-list/states", test_states);
        g_test_add_func("/node-list/many", test_many);
        g_test_add_func("/node-list/too-many", test_too_many);
        return g_test_run();
}
