/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* graph: shows a job's training loop as fragments, and which process runs each of them. */
#include <stdio.h>
#include <string.h>

#include "actorctl/view/graph-draw.h"
#include "actorctl/view/pager.h"
#include "actorctl/job-file.h"
#include "actorctl/job-open.h"
#include "actorctl/job-settings.h"
#include "actorctl/private.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/fragment.h"
#include "lib/settings/print.h"

#define ORDERS(X) X(ROLLOUT, "rollout") X(SERVE, "serve") X(TAKE, "take") X(LEARN, "learn")

/* Returns the orders that a fragment's process gets in a round, such as "take, learn"; g_free(). */
static char *orders_to_string(const Distribution *row, uint32_t host) {
        uint32_t orders = distribution_orders(row, host);
        GString *words = g_string_new(NULL);

#define X(name, word)                   \
        if (orders >> ORDER_##name & 1) \
                g_string_append_printf(words, "%s%s", words->len > 0 ? ", " : "", word);
        ORDERS(X)
#undef X
        return g_string_free(words, FALSE);
}

static const char *edge_channel_word(const Graph *graph, uint32_t e) {
        for (uint32_t c = 0; c < graph->n_channels; c++)
                if (graph->channels[c].edge == e)
                        return channel_to_string(graph->channels[c].kind);
        return "";
}

static Table *fragments_table(const Graph *graph, const Distribution *row) {
        static const char *const what[] = {
#define X(name, word, text) text,
                FRAGMENTS(X)
#undef X
        };
        Table *table = table_new();

        table_column(table, "FRAGMENT", "fragment", COLUMN_TEXT);
        table_column(table, "IN", "host", COLUMN_TEXT);
        table_column(table, "OF", "replicas", COLUMN_NUMBER);
        table_column(table, "WHAT IT DOES", "description", COLUMN_TEXT);
        table_column(table, "ORDERS", "orders", COLUMN_JSON);
        for (uint32_t f = 0; f < _FRAGMENT_MAX; f++) {
                g_autofree char *orders = orders_to_string(row, graph->host[f]);

                table_string(table, fragment_to_string(f));
                table_string(table, host_to_string(graph->host[f]));
                table_unsigned(table, graph->n_replicas[graph->host[f]]);
                table_string(table, what[f]);
                table_string(table, orders);
        }
        return table;
}

static void table_times(Table *table, uint64_t n) {
        if (n > 0)
                table_unsigned(table, n);
        else
                table_string(table, "");
}

static Table *edges_table(const Graph *graph) {
        Table *table = table_new();

        table_column(table, "FROM", "from", COLUMN_TEXT);
        table_column(table, "TO", "to", COLUMN_TEXT);
        table_column(table, "TENSOR", "tensor", COLUMN_TEXT);
        table_column(table, "SHAPE", "shape", COLUMN_TEXT);
        table_column(table, "OF", "element", COLUMN_TEXT);
        table_column(table, "A ROUND", "times_a_round", COLUMN_NUMBER);
        table_column(table, "THROUGH", "channel", COLUMN_TEXT);
        table_column(table, "RATE", "rate", COLUMN_JSON);
        table_column(table, "HELD", "held", COLUMN_JSON);
        for (uint32_t e = 0; e < graph->n_edges; e++) {
                const Edge *edge = &graph->edges[e];
                char shape[96];

                (void) shape_print(edge, shape, sizeof(shape));
                table_string(table, fragment_to_string(edge->from));
                table_string(table, fragment_to_string(edge->to));
                table_string(table, edge->tensor);
                table_string(table, shape);
                table_string(table, element_to_string(edge->element));
                table_times(table, edge->n_a_round);
                table_string(table, edge_channel_word(graph, e));
                table_string(table, rate_to_string(edge->rate));
                table_bool(table, edge->held);
        }
        return table;
}

/* How often data goes from one process to another in a round. What is sent at each gradient step is not
 * counted, since epochs may end early. */
static uint64_t hand_overs(const Graph *graph) {
        uint64_t n = 0;

        for (uint32_t c = 0; c < graph->n_channels; c++)
                n += graph->edges[graph->channels[c].edge].n_a_round;
        return n;
}

static void print_measuring(const JobSettings *settings) {
        g_autofree char *text = NULL;
        const char *why;

        if (distribution_measures(settings, &why))
                text = g_strdup("The job's first rounds are measured, and their bottleneck decides.");
        else if (why)
                text = g_strdup_printf("The job's rounds are not measured, because %s.", why);
        if (text)
                print_wrapped("", "  ", text);
}

static void print_text(const Options *options, const Graph *graph, const Distribution *row,
                const char *policy, const char *why, const JobSettings *settings) {
        g_autoptr(Table) fragments = fragments_table(graph, row), edges = edges_table(graph);
        g_autofree char *tensors = NULL;
        uint64_t n = hand_overs(graph);

        pager_open(options);
        printf("%s:\n", policy);
        print_line(2, "%s.", row->help);
        if (why) {
                g_autofree char *begins = g_strdup_printf(
                                "Policy=auto begins with this distribution, because %s.", why);

                print_wrapped("", "  ", begins);
                print_measuring(settings);
        }
        print_line(2, "An update waits for %s%s%s.", barrier_to_string(graph->round_barrier),
                        distribution_serves(row) ? ", serving a step for " : "",
                        distribution_serves(row) ? barrier_to_string(graph->inference_barrier) : "");
        printf("\n");
        table_print(fragments, options, NULL);
        printf("\n");
        table_print(edges, options, NULL);
        printf("\n");
        tensors = g_strdup_printf(
                        "Tensors cross processes %" G_GUINT64_FORMAT
                        " time%s a round, gradients not counted; those without THROUGH stay in one process.",
                        n, n == 1 ? "" : "s");
        print_wrapped("", "", tensors);
        pager_close();
}

static void print_json(const Options *options, const Graph *graph, const Distribution *row,
                const char *policy, const char *why) {
        g_autoptr(Table) fragments = fragments_table(graph, row), edges = edges_table(graph);
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "policy", policy);
        json_object_set_string_member(object, "description", row->help);
        json_object_set_member(object, "reason", json_word(why ? why : ""));
        json_object_set_string_member(object, "round_barrier", barrier_to_string(graph->round_barrier));
        json_object_set_string_member(
                        object, "inference_barrier", barrier_to_string(graph->inference_barrier));
        json_object_set_int_member(object, "actors", graph->n_replicas[HOST_ACTOR]);
        json_object_set_member(object, "fragments", table_to_json(fragments));
        json_object_set_member(object, "edges", table_to_json(edges));
        json_print(node, options->json);
        json_object_unref(object);
}

static ExitStatus print(const Options *options, const JobSettings *settings) {
        const char *why, *policy = choice_distribution_to_string(distribution_choose(settings, &why));
        const Distribution *row = distribution_of(settings);
        char reason[256];
        Graph graph;

        graph_make(row, settings, &graph);
        if (graph_validate(&graph, reason, sizeof(reason)) < 0) {
                complain("%s cannot run this job: %s", policy, reason);
                return STATUS_USAGE;
        }
        if (options->dot)
                graph_print_dot(&graph, policy);
        else if (options->svg)
                graph_print_svg(&graph, policy);
        else if (options->json != JSON_OFF)
                print_json(options, &graph, row, policy, why);
        else
                print_text(options, &graph, row, policy, why, settings);
        return STATUS_OK;
}

/* Takes the settings that were given for a job, and replaces those that --set gives. */
static void take_settings(const GArray *rows, const Options *options, GKeyFile *ret) {
        for (guint i = 0; i < rows->len; i++) {
                const JobSetting *row = &g_array_index(rows, JobSetting, i);

                if (row->given)
                        g_key_file_set_value(ret, row->section, row->key, row->value);
        }
        for (guint i = 0; i < options->sets->len; i++) {
                const char *set = options->sets->pdata[i], *equals = strchr(set, '=');
                g_autofree char *name = g_strndup(set, (gsize) (equals - set));
                char *dot = strchr(name, '.'); /* check_sets() has checked that there is a dot */

                *dot = '\0';
                g_key_file_set_value(ret, name, dot + 1, equals + 1);
        }
}

static ExitStatus check_sets(const Options *options) {
        for (guint i = 0; i < options->sets->len; i++) {
                const char *set = options->sets->pdata[i], *dot = strchr(set, '.');

                if (!dot || dot == set || dot + 1 >= strchr(set, '=')) {
                        complain("--set %s: a section is missing: write Section.Key=VALUE", set);
                        return STATUS_USAGE;
                }
        }
        return STATUS_OK;
}

static ExitStatus print_job(const Options *options, const char *word) {
        g_autoptr(Connection) connection = NULL;
        g_autoptr(GArray) rows = NULL;
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autofree JobSettings *settings = g_new0(JobSettings, 1);
        g_autofree char *path = NULL, *called = job_called(word), *text = NULL, *message = NULL;
        ExitStatus status;
        int r;

        status = check_sets(options);
        if (status == STATUS_OK)
                status = job_open(options, word, &connection, &path);
        if (status != STATUS_OK)
                return status;
        r = job_settings_fetch(connection, path, called, &rows);
        if (r < 0)
                return status_of_error(r);
        take_settings(rows, options, file);
        text = g_key_file_to_data(file, NULL, NULL);
        if (settings_parse(text, called, NULL, 0, NULL, settings, &message) < 0) {
                complain_bare(message);
                return STATUS_USAGE;
        }
        return print(options, settings);
}

static ExitStatus print_file(const Options *options, const char *file) {
        JobFile job_file;
        ExitStatus status;

        status = job_file_load(&job_file, file, options->sets);
        if (status == STATUS_OK)
                status = job_needs_no_daemon(options, file, "a file");
        if (status == STATUS_OK)
                status = print(options, &job_file.settings);
        job_file_done(&job_file);
        return status;
}

/* Whether the word names a job. If the working directory has a file called 7, the word 7 names the file. */
static bool names_job(const char *word) {
        return word_names_run(word) || (word[0] && strspn(word, "0123456789") == strlen(word) &&
                                                       !g_file_test(word, G_FILE_TEST_EXISTS));
}

ExitStatus verb_graph(const Options *options, char **arguments, size_t n) {
        if (options->dot + options->svg + (options->json != JSON_OFF) > 1) {
                complain("only one of --dot, --svg and --json can be used");
                return STATUS_USAGE;
        }
        return names_job(arguments[0]) ? print_job(options, arguments[0])
                                       : print_file(options, arguments[0]);
}
