/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/settings/cpus.h"

#include <glib.h>
#include "lib/cleanup.h"
#include "lib/settings/settings.h"

char *cpus_reason(const JobSettings *settings) {
        g_autofree char *online = NULL;
        setting_cpuset host;

        if (!settings_present(settings, SETTING_Actor_AllowedCPUs) ||
                        !g_file_get_contents("/sys/devices/system/cpu/online", &online, NULL, NULL) ||
                        settings_parse_cpus(g_strstrip(online), &host) < 0)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(host.words); i++)
                if (settings->allowed_cpus.words[i] & host.words[i])
                        return NULL;
        return g_strdup_printf("this host has CPUs %s", online);
}
