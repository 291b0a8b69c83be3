/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of CPUs are written as the kernel writes them: 0-3,8. */
#include "lib/settings/cpus.h"

#include <errno.h>
#include <glib.h>

#include "lib/cleanup.h"
#include "lib/settings/settings.h"

#define NOT_A_SET "not a set of CPUs: write it as 0-3,8"

/* "3" or "0-3". */
static int range_parse(const char *text, setting_cpuset *set, char **ret_reason) {
        guint64 first, last, n_most = 64 * ELEMENTSOF(set->words);
        char *end;

        if (!g_ascii_isdigit(*text)) {
                *ret_reason = g_strdup(NOT_A_SET);
                return -EINVAL;
        }
        first = last = g_ascii_strtoull(text, &end, 10);
        if (*end == '-' && g_ascii_isdigit(end[1]))
                last = g_ascii_strtoull(end + 1, &end, 10);
        if (*end || last < first) {
                *ret_reason = g_strdup(NOT_A_SET);
                return -EINVAL;
        }
        if (last >= n_most) {
                *ret_reason = g_strdup_printf(
                                "out of range: CPUs are from 0 to %" G_GUINT64_FORMAT, n_most - 1);
                return -EINVAL;
        }
        for (guint64 cpu = first; cpu <= last; cpu++)
                set->words[cpu / 64] |= 1ull << (cpu % 64);
        return 0;
}

int cpus_parse(const char *text, setting_cpuset *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit_set(text, " \t,", -1);
        setting_cpuset set = {};
        bool any = false;
        int r;

        for (char **part = parts; *part; part++) {
                if (**part == '\0')
                        continue;
                r = range_parse(*part, &set, ret_reason);
                if (r < 0)
                        return r;
                any = true;
        }
        if (!any) {
                *ret_reason = g_strdup(NOT_A_SET);
                return -EINVAL;
        }
        *ret = set;
        return 0;
}

char *cpus_reason(const JobSettings *settings) {
        g_autofree char *online = NULL, *reason = NULL;
        setting_cpuset host;

        if (!settings_present(settings, SETTING_Actor_AllowedCPUs) ||
                        !g_file_get_contents("/sys/devices/system/cpu/online", &online, NULL, NULL) ||
                        cpus_parse(g_strstrip(online), &host, &reason) < 0)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(host.words); i++)
                if (settings->allowed_cpus.words[i] & host.words[i])
                        return NULL;
        return g_strdup_printf("this host has CPUs %s", online);
}
