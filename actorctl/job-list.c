/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/job-list.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <string.h>

#include "include/bus.h"
#include "lib/cleanup.h"

#define PAGE_ROWS 500u

static void row_clear(gpointer p) {
        ListedJob *row = p;

        g_free(row->state);
        g_free(row->result);
        g_free(row->environment);
        g_free(row->description);
        g_free(row->tag);
        g_free(row->currency);
        g_free(row->path);
}

static int read_rows(sd_bus_message *m, GArray *rows, uint64_t *ret_next) {
        const char *state, *result, *environment, *description, *tag, *currency, *path;
        ListedJob row;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(tussssstttttddso)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(tussssstttttddso)", &row.id, &row.uid, &state, &result,
                                &environment, &description, &tag, &row.submitted_usec, &row.started_usec,
                                &row.ended_usec, &row.n_rounds, &row.n_env_steps, &row.return_mean,
                                &row.cost, &currency, &path)) > 0) {
                row.progress = NAN;
                row.state = g_strdup(state);
                row.result = g_strdup(result);
                row.environment = g_strdup(environment);
                row.description = g_strdup(description);
                row.tag = g_strdup(tag);
                row.currency = g_strdup(currency);
                row.path = g_strdup(path);
                g_array_append_val(rows, row);
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : sd_bus_message_read(m, "t", ret_next);
}

static int owner_uid(const char *owner, uint32_t *ret) {
        const struct passwd *entry = getpwnam(owner);
        uint64_t uid;

        if (entry)
                *ret = entry->pw_uid;
        else if (g_ascii_string_to_unsigned(owner, 10, 0, UINT32_MAX, &uid, NULL))
                *ret = (uint32_t) uid;
        else {
                complain("--owner=%s: there is no such user", owner);
                return -EINVAL;
        }
        return 0;
}

static int append_states(sd_bus_message *m, const char *words) {
        g_auto(GStrv) states = g_strsplit(words, ",", 0);
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", "states");
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "as");
        if (r < 0)
                return r;
        r = sd_bus_message_append_strv(m, states);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_filter(sd_bus_message *m, const JobChoice *choice, const uint32_t *owner) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        if (owner) {
                r = sd_bus_message_append(m, "{sv}", "user", "u", *owner);
                if (r < 0)
                        return r;
        }
        if (choice->since_usec > 0) {
                r = sd_bus_message_append(m, "{sv}", "since", "t", choice->since_usec);
                if (r < 0)
                        return r;
        }
        if (choice->ended_since_usec > 0) {
                r = sd_bus_message_append(m, "{sv}", "ended-since", "t", choice->ended_since_usec);
                if (r < 0)
                        return r;
        }
        if (choice->tag) {
                r = sd_bus_message_append(m, "{sv}", "tag", "s", choice->tag);
                if (r < 0)
                        return r;
        }
        if (choice->states) {
                r = append_states(m, choice->states);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

static int fetch_page(Connection *connection, const JobChoice *choice, uint64_t after, uint32_t most,
                GArray *rows, uint64_t *ret_next) {
        uint32_t owner = 0;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        int r;

        if (choice->owner && owner_uid(choice->owner, &owner) < 0)
                return -EINVAL;
        r = sd_bus_message_new_method_call(connection->bus, &call, connection->destination, BUS_PATH,
                        BUS_INTERFACE_MANAGER, "ListJobsFiltered");
        g_assert(r >= 0);
        r = append_filter(call, choice, choice->owner ? &owner : NULL);
        g_assert(r >= 0);
        r = sd_bus_message_append(call, "tu", after, most);
        g_assert(r >= 0);
        r = connection_send(connection, call, &reply);
        if (r < 0)
                return r;
        r = read_rows(reply, rows, ret_next);
        if (r < 0)
                complain("the list of jobs cannot be read: %s", g_strerror(-r));
        return r;
}

GArray *job_list_new(void) {
        GArray *rows = g_array_new(FALSE, FALSE, sizeof(ListedJob));

        g_array_set_clear_func(rows, row_clear);
        return rows;
}

int job_list_fetch(Connection *connection, const JobChoice *choice, uint64_t most, GArray *rows) {
        uint64_t next = 0;

        do {
                uint32_t page = (uint32_t) MIN(most - rows->len, PAGE_ROWS);
                int r = fetch_page(connection, choice, next, page, rows, &next);

                if (r < 0)
                        return r;
        } while (next > 0 && rows->len < most);
        return 0;
}
