/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/job-settings.h"

#include "include/bus.h"
#include "lib/cleanup.h"

static void setting_done(void *data) {
        JobSetting *setting = data;

        g_free(setting->section);
        g_free(setting->key);
        g_free(setting->value);
}

static int read_rows(sd_bus_message *reply, GArray **ret) {
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(JobSetting));
        const char *section, *key, *value;
        int r, given;

        g_array_set_clear_func(rows, setting_done);
        r = sd_bus_message_enter_container(reply, 'a', "(sssb)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(reply, "(sssb)", &section, &key, &value, &given)) > 0) {
                const JobSetting row = { g_strdup(section), g_strdup(key), g_strdup(value), given };

                g_array_append_val(rows, row);
        }
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&rows);
        return 0;
}

int job_settings_fetch(Connection *connection, const char *path, const char *called, GArray **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetSettings", &reply, NULL);
        if (r < 0)
                return r;
        r = read_rows(reply, ret);
        if (r < 0)
                complain("the settings of %s cannot be read: %s", called, g_strerror(-r));
        return r;
}

int job_settings_ask(Connection *connection, const char *path, GArray **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_call_method(connection->bus, connection->destination, path, BUS_INTERFACE_JOB,
                        "GetSettings", NULL, &reply, NULL);
        return r < 0 ? r : read_rows(reply, ret);
}
