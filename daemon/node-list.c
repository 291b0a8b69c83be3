/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/node-list.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "lib/saturate.h"
#include "lib/string-tables.h"

void node_list_clear(NodeList *list) {
        memset(list->seen, 0, sizeof(list->seen));
        list->n_up = 0;
}

/* The node's entry. If all entries are taken (only with a damaged ledger), the oldest node's entry is
 * used. */
static NodeSeen *place_of(NodeList *list, uint64_t number) {
        NodeSeen *place = NULL;

        for (uint32_t i = 0; i < NODE_LIST_MAX; i++) {
                NodeSeen *seen = &list->seen[i];

                if (seen->kind != CLUSTER_EVENT_NONE && seen->number == number)
                        return seen;
                if (!place || seen->kind == CLUSTER_EVENT_NONE ||
                                (place->kind != CLUSTER_EVENT_NONE && seen->number < place->number))
                        place = seen;
        }
        return place;
}

static void add_use(NodeList *list, const Record *record) {
        list->allocated_nsec = saturating_add(list->allocated_nsec, record->metered.emulated_nsec);
        list->use.idle_nsec = saturating_add(list->use.idle_nsec, record->use.idle_nsec);
        list->use.waited_nsec = saturating_add(list->use.waited_nsec, record->use.waited_nsec);
        list->use.sent_bytes = saturating_add(list->use.sent_bytes, record->use.sent_bytes);
        list->use.received_bytes = saturating_add(list->use.received_bytes, record->use.received_bytes);
}

void node_list_add(NodeList *list, const Record *record) {
        uint32_t kind = (uint32_t) record->detail;
        NodeSeen *seen = place_of(list, record->ordinal);
        bool was_up;

        g_assert(record->kind == RECORD_NODE);

        if (kind == CLUSTER_EVENT_NONE || kind >= _CLUSTER_EVENT_MAX)
                return;
        add_use(list, record);
        was_up = seen->kind == CLUSTER_UP && seen->number == record->ordinal;
        if (kind == CLUSTER_COST) {
                if (was_up)
                        seen->allocated_nsec =
                                        saturating_add(seen->allocated_nsec, record->metered.emulated_nsec);
                return;
        }
        *seen = (NodeSeen){ .number = record->ordinal, .kind = kind };
        for (size_t i = 0; i + 1 < sizeof(seen->words) && g_ascii_isprint((char) record->sha256[i]); i++)
                seen->words[i] = (char) record->sha256[i];

        if (kind == CLUSTER_UP && !was_up)
                list->n_up++;
        if (list->n_up > list->n_max)
                list->n_max = list->n_up;
        if (kind != CLUSTER_LOST && kind != CLUSTER_GONE)
                return;
        list->n_up -= was_up;
        list->n_lost += kind == CLUSTER_LOST;
        seen->kind = CLUSTER_EVENT_NONE;
}

char **node_list_words(const NodeList *list) {
        g_autoptr(GStrvBuilder) words = g_strv_builder_new();
        uint64_t last = 0;

        for (;;) {
                const NodeSeen *next = NULL;

                for (uint32_t i = 0; i < NODE_LIST_MAX; i++) {
                        const NodeSeen *seen = &list->seen[i];

                        if (seen->kind != CLUSTER_EVENT_NONE && seen->number > last &&
                                        (!next || seen->number < next->number))
                                next = seen;
                }
                if (!next)
                        return g_strv_builder_end(words);
                last = next->number;
                g_autofree char *time = next->allocated_nsec > 0
                                                        ? g_strdup_printf(" for %" G_GUINT64_FORMAT " s",
                                                                          next->allocated_nsec / 1000000000)
                                                        : NULL;
                g_autofree char *line = g_strdup_printf("%" G_GUINT64_FORMAT " %s %s%s", next->number,
                                cluster_event_to_string(next->kind), next->words, time ?: "");
                g_strv_builder_add(words, line);
        }
}
