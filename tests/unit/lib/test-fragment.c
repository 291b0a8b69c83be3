/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The graph of each distribution is sound. Each kind of mistake in a graph is refused with a sentence that
 * names the mistake. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/fragment.h"

static const JobSettings settings = {
        .n_actors = 4, .envs_per_actor = 8, .rollout_steps = 32, .n_learners = 1
};

static Graph graph_of(uint32_t distribution) {
        Graph graph;

        graph_make(distribution_find(distribution), &settings, &graph);
        return graph;
}

static uint32_t find_edge(const Graph *graph, uint32_t from, uint32_t to, const char *tensor) {
        for (uint32_t e = 0; e < graph->n_edges; e++)
                if (graph->edges[e].from == from && graph->edges[e].to == to &&
                                strcmp(graph->edges[e].tensor, tensor) == 0)
                        return e;
        g_assert_not_reached();
}

static uint32_t channel_of(const Graph *graph, uint32_t edge) {
        for (uint32_t c = 0; c < graph->n_channels; c++)
                if (graph->channels[c].edge == edge)
                        return graph->channels[c].kind;
        return _CHANNEL_MAX;
}

static void refused(const Graph *graph, const char *part) {
        char reason[256] = "";

        g_assert_cmpint(graph_validate(graph, reason, sizeof(reason)), ==, -EINVAL);
        if (!strstr(reason, part))
                g_error("'%s' does not say '%s'", reason, part);
}

static void set(JobSettings *s, Setting i) {
        s->present[i / 64] |= 1ull << (i % 64);
}

/* A job needs CPUs for its actors or for its learners, whichever are more. Where actors act while learners
 * learn, it needs the sum. */
static void test_cpus(void) {
        JobSettings s = settings;

        s.n_threads = 2;
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_COARSE), &s), ==, 4);
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_FUSED), &s), ==, 2);
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_ASYNC), &s), ==, 6);
        s.n_threads = 8;
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_COARSE), &s), ==, 8);
        s.n_learners = 4;
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_COARSE), &s), ==, 8);
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_MULTI), &s), ==, 32);
        s.n_threads = 1;
        set(&s, SETTING_Scaling_MaxActors);
        s.n_actors_max = 64;
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_COARSE), &s), ==, 64);
        /* Actors of one container take turns. */
        set(&s, SETTING_Actor_Processes);
        s.n_processes = 3;
        g_assert_cmpuint(distribution_cpus(distribution_find(DISTRIBUTION_COARSE), &s), ==, 3);
}

static void test_rows(void) {
        g_assert_null(distribution_find(_DISTRIBUTION_MAX));
        for (uint32_t d = 0; d < _DISTRIBUTION_MAX; d++) {
                const Distribution *row = distribution_find(d);
                char reason[256] = "";
                Graph graph;

                if (d == DISTRIBUTION_AUTO) {
                        g_assert_null(row);
                        continue;
                }
                graph = graph_of(d);
                g_assert_cmpint(graph_validate(&graph, reason, sizeof(reason)), ==, 0);
                g_assert_cmpstr(reason, ==, "");
                /* Inference has a barrier exactly where the learner acts for the actors. */
                g_assert_cmpint(distribution_serves(row), ==, row->inference_barrier != BARRIER_NONE);
        }
}

static void test_fused(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_FUSED);
        Graph graph = graph_of(DISTRIBUTION_FUSED);

        g_assert_true(distribution_fuses(row));
        g_assert_false(distribution_fuses(distribution_find(DISTRIBUTION_COARSE)));
        g_assert_false(distribution_fuses(distribution_find(DISTRIBUTION_MULTI)));
        g_assert_cmpuint(distribution_orders(row, HOST_FUSED), ==, 1u << ORDER_ROLLOUT | 1u << ORDER_LEARN);
        /* Only one value leaves the learner's process: a policy that is to be evaluated. */
        g_assert_cmpuint(graph.n_channels, ==, 1);
        g_assert_cmpuint(graph.edges[graph.channels[0].edge].to, ==, FRAGMENT_EVALUATE);
}

static uint32_t choice_of(const JobSettings *s, const char *part) {
        const char *why;
        uint32_t choice = distribution_choose(s, &why);

        if (!why || !strstr(why, part))
                g_error("'%s' does not say '%s'", why, part);
        return choice;
}

static void test_auto(void) {
        JobSettings s = { .environment = "CartPole-v1",
                .distribution = DISTRIBUTION_AUTO,
                .n_actors = 2,
                .n_learners = 1,
                .n_threads = 2 };
        const char *why = "";

        g_assert_cmpuint(choice_of(&s, "no data has to cross"), ==, DISTRIBUTION_FUSED);
        s.n_threads = 1;
        g_assert_cmpuint(choice_of(&s, "more actors"), ==, DISTRIBUTION_COARSE);
        s.n_learners = 2;
        g_assert_cmpuint(choice_of(&s, "Learners="), ==, DISTRIBUTION_MULTI);
        s.n_learners = 1;
        s.n_threads = 4;
        g_strlcpy(s.environment, "/home/mine.so", sizeof(s.environment));
        g_assert_cmpuint(choice_of(&s, "plugin"), ==, DISTRIBUTION_COARSE);
        g_strlcpy(s.environment, "gym:Acrobot-v1", sizeof(s.environment));
        g_assert_cmpuint(choice_of(&s, "Python"), ==, DISTRIBUTION_COARSE);
        g_assert_true(distribution_of(&s) == distribution_find(DISTRIBUTION_COARSE));

        g_strlcpy(s.environment, "CartPole-v1", sizeof(s.environment));
        g_strlcpy(s.dataset, "main_data.hdf5", sizeof(s.dataset));
        g_assert_cmpuint(choice_of(&s, "Dataset="), ==, DISTRIBUTION_COARSE);

        s.distribution = DISTRIBUTION_FINE;
        g_assert_cmpuint(distribution_choose(&s, &why), ==, DISTRIBUTION_FINE);
        g_assert_null(why);
}

static void test_coarse(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_COARSE);
        Graph graph = graph_of(DISTRIBUTION_COARSE);
        uint32_t e = find_edge(&graph, FRAGMENT_STEP, FRAGMENT_STORE, "observations");
        char shape[64];

        g_assert_false(distribution_serves(row));
        g_assert_cmpuint(distribution_orders(row, HOST_ACTOR), ==, 1u << ORDER_ROLLOUT);
        g_assert_cmpuint(distribution_orders(row, HOST_LEARNER), ==, 1u << ORDER_TAKE | 1u << ORDER_LEARN);

        g_assert_true(graph_crosses(&graph, &graph.edges[e]));
        g_assert_cmpuint(graph.edges[e].n_a_round, ==, 4);
        shape_print(&graph.edges[e], shape, sizeof(shape));
        g_assert_cmpstr(shape, ==, "33 8 observation");

        e = find_edge(&graph, FRAGMENT_STEP, FRAGMENT_INFERENCE, "observation");
        g_assert_false(graph_crosses(&graph, &graph.edges[e]));
}

/* A round is one rollout, which only the learner waits for. A policy version stays in its bank for as long
 * as an actor may act with it. */
static void test_async(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_ASYNC);
        Graph graph = graph_of(DISTRIBUTION_ASYNC);
        uint32_t e = find_edge(&graph, FRAGMENT_STEP, FRAGMENT_STORE, "observations");
        JobSettings s = { .distribution = DISTRIBUTION_ASYNC, .n_actors = 5 };

        g_assert_true(distribution_overlaps(row));
        g_assert_false(distribution_overlaps(distribution_find(DISTRIBUTION_COARSE)));
        g_assert_cmpuint(distribution_orders(row, HOST_ACTOR), ==, 1u << ORDER_ROLLOUT);
        g_assert_cmpuint(graph.edges[e].n_a_round, ==, 1);
        g_assert_cmpuint(distribution_rollouts(row, 4), ==, 1);
        g_assert_cmpuint(distribution_rollouts(distribution_find(DISTRIBUTION_FUSED), 4), ==, 4);
        g_assert_cmpuint(distribution_banks(row, &s), ==, 7);
        g_assert_cmpuint(distribution_banks(distribution_find(DISTRIBUTION_COARSE), &s), ==, POLICY_BANKS);
}

static void test_served(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_FINE);
        Graph graph = graph_of(DISTRIBUTION_FINE);
        uint32_t e;

        g_assert_true(distribution_serves(row));
        g_assert_cmpuint(distribution_orders(row, HOST_ACTOR), ==, 1u << ORDER_ROLLOUT);
        g_assert_cmpuint(distribution_orders(row, HOST_LEARNER), ==,
                        1u << ORDER_SERVE | 1u << ORDER_TAKE | 1u << ORDER_LEARN);

        e = find_edge(&graph, FRAGMENT_INFERENCE, FRAGMENT_STEP, "action");
        g_assert_true(graph_crosses(&graph, &graph.edges[e]));
        g_assert_cmpuint(graph.edges[e].n_a_round, ==, 4 * 32);
        e = find_edge(&graph, FRAGMENT_PUBLISH, FRAGMENT_INFERENCE, "policy");
        g_assert_false(graph_crosses(&graph, &graph.edges[e]));
}

static void test_channels(void) {
        Graph graph = graph_of(DISTRIBUTION_COARSE);

        graph.channels[0].edge = find_edge(&graph, FRAGMENT_STORE, FRAGMENT_ADVANTAGE, "batch");
        refused(&graph, "has 0");
        graph = graph_of(DISTRIBUTION_COARSE);
        graph.channels[graph.n_channels++] = graph.channels[0];
        refused(&graph, "exactly one channel, and it has 2");
        graph = graph_of(DISTRIBUTION_COARSE);
        graph.channels[graph.n_channels++] = (Channel){ CHANNEL_SEGMENT,
                find_edge(&graph, FRAGMENT_STORE, FRAGMENT_ADVANTAGE, "batch") };
        refused(&graph, "batch from store to advantage: it stays in one process");
}

static void test_cycles(void) {
        Graph graph = graph_of(DISTRIBUTION_COARSE);

        graph.edges[find_edge(&graph, FRAGMENT_STEP, FRAGMENT_INFERENCE, "observation")].held = false;
        refused(&graph, "none of them has a first value: step inference");
        graph = graph_of(DISTRIBUTION_COARSE);
        graph.edges[find_edge(&graph, FRAGMENT_UPDATE, FRAGMENT_GRADIENT, "parameters")].held = false;
        refused(&graph, "gradient update");
}

static void test_replicas(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_MULTI);
        JobSettings several = settings;
        char reason[256];
        Graph graph;
        uint32_t e;

        several.n_learners = 2;
        g_assert_cmpuint(distribution_learners(row, &several), ==, 2);
        g_assert_cmpuint(distribution_learners(distribution_find(DISTRIBUTION_COARSE), &several), ==, 1);

        /* With two learners the gradient leaves the process of each, and so do the parameters that each has
         * updated. A single learner keeps its gradient. */
        graph_make(row, &several, &graph);
        g_assert_cmpint(graph_validate(&graph, reason, sizeof(reason)), ==, 0);
        e = find_edge(&graph, FRAGMENT_GRADIENT, FRAGMENT_UPDATE, "gradient");
        g_assert_true(graph_crosses(&graph, &graph.edges[e]));
        g_assert_cmpuint(channel_of(&graph,
                                         find_edge(&graph, FRAGMENT_UPDATE, FRAGMENT_PUBLISH, "parameters")),
                        ==, CHANNEL_PARAMETERS);
        graph.n_replicas[HOST_LEARNERS] = 1;
        g_assert_false(graph_crosses(&graph, &graph.edges[e]));
        refused(&graph, "gradient from gradient to update: it stays");

        several.n_learners = 3;
        graph_make(row, &several, &graph);
        refused(&graph, "the gradient has 16 parts, which 3 processes cannot share evenly");
}

/* The distribution `central`: all learners compute gradients, and one of them makes the updates for all. */
static void test_central(void) {
        const Distribution *row = distribution_find(DISTRIBUTION_CENTRAL);
        JobSettings several = settings;
        char reason[256];
        Graph graph;
        uint32_t gradient, parameters;

        g_assert_true(distribution_serves(row));
        g_assert_cmpuint(distribution_orders(row, HOST_LEARNER), ==,
                        1u << ORDER_SERVE | 1u << ORDER_TAKE | 1u << ORDER_LEARN);
        g_assert_cmpuint(distribution_orders(row, HOST_LEARNERS), ==, 1u << ORDER_TAKE | 1u << ORDER_LEARN);

        /* A single learner is its own centre, so nothing crosses between processes. */
        graph = graph_of(DISTRIBUTION_CENTRAL);
        gradient = find_edge(&graph, FRAGMENT_GRADIENT, FRAGMENT_UPDATE, "gradient");
        parameters = find_edge(&graph, FRAGMENT_UPDATE, FRAGMENT_GRADIENT, "parameters");
        g_assert_false(graph_crosses(&graph, &graph.edges[gradient]));
        g_assert_false(graph_crosses(&graph, &graph.edges[parameters]));

        several.n_learners = 4;
        g_assert_cmpuint(distribution_learners(row, &several), ==, 4);
        g_assert_cmpuint(distribution_updaters(row, &several), ==, 1);
        g_assert_cmpuint(distribution_updaters(distribution_find(DISTRIBUTION_MULTI), &several), ==, 4);
        graph_make(row, &several, &graph);
        g_assert_cmpint(graph_validate(&graph, reason, sizeof(reason)), ==, 0);
        g_assert_cmpuint(channel_of(&graph, gradient), ==, CHANNEL_REDUCE);
        g_assert_cmpuint(channel_of(&graph, parameters), ==, CHANNEL_PARAMETERS);
        g_assert_cmpuint(channel_of(&graph, find_edge(&graph, FRAGMENT_UPDATE, FRAGMENT_ADVANTAGE,
                                                            "parameters")),
                        ==, CHANNEL_PARAMETERS);
        g_assert_cmpuint(
                        channel_of(&graph, find_edge(&graph, FRAGMENT_INFERENCE, FRAGMENT_STORE, "actions")),
                        ==, CHANNEL_SEGMENT);
        g_assert_cmpuint(channel_of(&graph,
                                         find_edge(&graph, FRAGMENT_UPDATE, FRAGMENT_PUBLISH, "parameters")),
                        ==, _CHANNEL_MAX);

        graph.channels[graph.n_channels++] = (Channel){ CHANNEL_REDUCE, parameters };
        refused(&graph, "parameters from update to gradient: it crosses processes, so that it needs exactly "
                        "one channel, and it has 2");
        graph_make(row, &several, &graph);
        graph.n_channels--; /* the last edges' */
        refused(&graph, "exactly one channel, and it has 0");
        graph_make(row, &several, &graph);
        graph.edges[parameters].held = false;
        refused(&graph, "gradient update");
        graph_make(row, &several, &graph);
        graph.n_replicas[HOST_LEARNERS] = 1;
        refused(&graph, "it stays in one process");
        several.n_learners = 3;
        graph_make(row, &several, &graph);
        refused(&graph, "the gradient has 16 parts, which 3 processes cannot share evenly");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/fragment/cpus", test_cpus);
        g_test_add_func("/fragment/rows", test_rows);
        g_test_add_func("/fragment/coarse", test_coarse);
        g_test_add_func("/fragment/async", test_async);
        g_test_add_func("/fragment/served", test_served);
        g_test_add_func("/fragment/fused", test_fused);
        g_test_add_func("/fragment/auto", test_auto);
        g_test_add_func("/fragment/central", test_central);
        g_test_add_func("/fragment/channels", test_channels);
        g_test_add_func("/fragment/cycles", test_cycles);
        g_test_add_func("/fragment/replicas", test_replicas);
        return g_test_run();
}
