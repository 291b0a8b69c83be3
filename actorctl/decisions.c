/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon records a decision for each round, or only for round 1 if the policy never changes the number
 * of actors. Here the decisions become one number for each round up to the last decision. The file has the
 * form of `actorctl decisions --json`: a JSON array of objects. Each has a `round`, its `actors`, and
 * `taken` if the round took the rollout of only one actor. Other members are ignored. */
#include "actorctl/decisions.h"

#include <errno.h>
#include <math.h>

#include "actorctl/view/json.h"
#include "include/bus.h"
#include "include/record.h"
#include "include/settings.h"
#include "lib/cleanup.h"

#define COUNTS_MAX (1u << 18) /* as many as the daemon accepts */
#define PART       10000u

/* Appends the decision for this round and, before it, the last number of actors for each round in between.
 * taken: NaN if the round took the rollouts of all actors. -EINVAL: the rounds are not in ascending order
 * from 1, or a number is impossible; -E2BIG: there are too many rounds. */
static int add(GArray *counts, double round, double actors, double taken) {
        uint32_t last = counts->len > 0 ? g_array_index(counts, uint32_t, counts->len - 1) : 0, n;

        if (!(round > counts->len) || round != trunc(round) || !(actors >= 1) || !(actors <= ACTORS_MAX) ||
                        (counts->len == 0 && round != 1))
                return -EINVAL;
        if (actors != trunc(actors))
                return -EINVAL;
        if (!isnan(taken) && (!(taken >= 0) || !(taken < ACTORS_MAX) || taken != trunc(taken)))
                return -EINVAL;
        if (round > COUNTS_MAX)
                return -E2BIG;
        last &= DECISION_ACTORS_MASK;
        while (counts->len + 1 < (guint) round)
                g_array_append_val(counts, last);
        n = (uint32_t) actors | (isnan(taken) ? 0 : (uint32_t) taken + 1) << DECISION_TAKEN_SHIFT;
        g_array_append_val(counts, n);
        return 0;
}

static int add_rows(sd_bus_message *reply, GArray *counts, size_t *ret_n) {
        g_auto(GStrv) names = NULL;
        int r, round, actors, taken;
        size_t n_rows = 0;

        r = sd_bus_message_read_strv(reply, &names);
        if (r < 0)
                return r;
        round = names ? bus_column(names, "round") : -EBADMSG;
        actors = names ? bus_column(names, "actors") : -EBADMSG;
        taken = names ? bus_column(names, "taken") : -EBADMSG; /* an older daemon does not send it */
        if (round < 0 || actors < 0)
                return -EBADMSG;

        r = sd_bus_message_enter_container(reply, 'a', "ad");
        while (r >= 0 && (r = sd_bus_message_at_end(reply, false)) == 0) {
                const double *row;
                size_t bytes;

                r = sd_bus_message_read_array(reply, 'd', (const void **) &row, &bytes);
                if (r < 0)
                        return r;
                if (bytes != g_strv_length(names) * sizeof(double))
                        return -EBADMSG;
                r = add(counts, row[round], row[actors], taken < 0 ? NAN : row[taken]);
                n_rows++;
        }
        if (r < 0)
                return r;
        *ret_n = n_rows;
        return 0;
}

int decisions_of_job(Connection *connection, const char *path, GArray **ret_counts) {
        g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        size_t n;
        int r;

        do {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

                r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetDecisions", &reply, "tu",
                                (uint64_t) counts->len, PART);
                if (r < 0)
                        return r;
                r = add_rows(reply, counts, &n);
                if (r == -E2BIG)
                        complain("the decisions of %s are not kept: it has more than %u rounds, which is "
                                 "the limit",
                                        path, COUNTS_MAX);
                else if (r < 0)
                        complain("the decisions of %s cannot be read: %s", path, g_strerror(-r));
                if (r < 0)
                        return r;
        } while (n == PART);

        *ret_counts = g_steal_pointer(&counts);
        return 0;
}

/* The number in a member. NaN: the member is missing. A member that is not a number is an error. */
static double number_of(JsonObject *object, const char *name) {
        JsonNode *node = json_object_get_member(object, name);
        GType type;

        if (!node || JSON_NODE_HOLDS_NULL(node))
                return NAN;
        type = json_node_get_value_type(node);
        return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE ? json_node_get_double(node) : -1;
}

static int add_element(JsonNode *node, GArray *counts) {
        JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;

        return object ? add(counts, number_of(object, "round"), number_of(object, "actors"),
                                        number_of(object, "taken"))
                      : -EINVAL;
}

int decisions_of_file(const char *file, GArray **ret_counts) {
        g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_autoptr(JsonNode) root = NULL; /* stays NULL if the file is empty */
        g_autofree char *reason = NULL;
        JsonArray *array;
        int r;

        r = json_read(file, &root, &reason);
        if (r < 0) {
                complain("the decisions in %s cannot be read: %s", file, reason);
                return -EINVAL;
        }
        if (!root || !JSON_NODE_HOLDS_ARRAY(root))
                r = -EINVAL;
        array = r < 0 ? NULL : json_node_get_array(root);
        for (guint i = 0; r >= 0 && i < json_array_get_length(array); i++)
                r = add_element(json_array_get_element(array, i), counts);
        if (r == -E2BIG)
                complain("%s: more than %u rounds, which is the limit", file, COUNTS_MAX);
        else if (r < 0 || counts->len == 0)
                complain("%s: not the decisions of a job, as `actorctl decisions JOB --json` prints them",
                                file);
        if (r < 0 || counts->len == 0)
                return -EINVAL;

        *ret_counts = g_steal_pointer(&counts);
        return 0;
}

/* The mean number of actors in the job's rounds. The last decision also counts for all later rounds. A
 * decision for a round that did not take place is left out. */
double decisions_mean(const GArray *counts, uint64_t n_rounds) {
        double sum = 0;

        if (counts->len == 0 || n_rounds == 0)
                return NAN;
        for (uint64_t i = 0; i < n_rounds; i++)
                sum += g_array_index(counts, uint32_t, MIN(i, counts->len - 1)) & DECISION_ACTORS_MASK;
        return sum / (double) n_rounds;
}

int decisions_write(const char *file, const GArray *counts) {
        g_autoptr(GString) text = g_string_new("[");
        g_autoptr(GError) error = NULL;

        for (guint i = 0; i < counts->len; i++) {
                uint32_t n = g_array_index(counts, uint32_t, i), taken = n >> DECISION_TAKEN_SHIFT;

                g_string_append_printf(text, "%s\n{ \"round\": %u, \"actors\": %u", i > 0 ? "," : "", i + 1,
                                n & DECISION_ACTORS_MASK);
                if (taken > 0)
                        g_string_append_printf(text, ", \"taken\": %u", taken - 1);
                g_string_append(text, " }");
        }
        g_string_append(text, "\n]\n");
        if (!g_file_set_contents(file, text->str, (gssize) text->len, &error)) {
                complain("the decisions are not kept: %s", error->message);
                return -EIO;
        }
        return 0;
}
