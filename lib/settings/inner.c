/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job inside a job: the outer job of Environment=job:FILE trains a scheduler by running the inner job FILE
 * again and again. The client appends the inner job to the outer job's text, as sections [Inner.Job],
 * [Inner.Learner] and so on. So the stored text of a job is complete, and no other program needs to read the
 * inner job's file. This file turns these sections into settings. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/environments.h"
#include "lib/fragment.h"
#include "lib/minions.h"
#include "lib/settings/internal.h"
#include "lib/settings/print.h"

#define PREFIX_LENGTH (sizeof(SETTINGS_INNER_PREFIX) - 1)

/* The inner job's text with all other lines blank, so that messages have the right line numbers. NULL: there
 * is none. */
static char *inner_text(const char *text) {
        GString *inner = g_string_new(NULL);
        bool inside = false, any = false;

        for (const char *line = text; *line;) {
                size_t length = strcspn(line, "\n"), indent = strspn(line, " \t");
                const char *name = line + indent + 1;

                if (line[indent] == '[') {
                        inside = strncmp(name, SETTINGS_INNER_PREFIX, PREFIX_LENGTH) == 0;
                        any = any || inside;
                        if (inside) {
                                const char *from = name + PREFIX_LENGTH;

                                g_string_append_c(inner, '[');
                                g_string_append_len(inner, from, line + length - from);
                        }
                } else if (inside)
                        g_string_append_len(inner, line, (gssize) length);
                line += length;
                if (*line) {
                        g_string_append_c(inner, '\n');
                        line++;
                }
        }
        return g_string_free(inner, !any);
}

static int refuse(
                char **ret_message, const char *text, const char *file_name, Setting i, const char *reason) {
        const SettingRow *row = setting_row(i);
        unsigned line = settings_locate(text, row->section, row->key);

        if (line > 0)
                *ret_message = g_strdup_printf(
                                "%s:%u: [%s] %s: %s", file_name, line, row->section, row->key, reason);
        else
                *ret_message = g_strdup_printf("%s: [%s] %s: %s", file_name, row->section, row->key, reason);
        return -EINVAL;
}

int settings_check_inner(const JobSettings *outer, const JobSettings *inner, const char *text,
                const char *file_name, char **ret_message) {
        g_assert(outer);
        g_assert(inner);
        g_assert(text);
        g_assert(ret_message);

        if (environment_is_job(inner->environment) || environment_is_foreign(inner->environment))
                return refuse(ret_message, text, file_name, SETTING_Job_Environment,
                                "an inner job's environment is one that `actorctl env list` shows and that "
                                "needs no packages");
        if (settings_actors_max(inner) < 2)
                return refuse(ret_message, text, file_name, SETTING_Scaling_MaxActors,
                                "with one actor there is nothing to choose: set it to 2 or more");
        if (settings_present(inner, SETTING_Job_Budget))
                return refuse(ret_message, text, file_name, SETTING_Job_Budget,
                                "an inner job has no bill; its StopSteps= is its budget");
        if (settings_present(inner, SETTING_Job_RuntimeMaxSec))
                return refuse(ret_message, text, file_name, SETTING_Job_RuntimeMaxSec,
                                "an inner job has no wall clock; Rounds= in [Environment] ends it");
        if (inner->shares.kind != SHARES_KIND_EQUAL)
                return refuse(ret_message, text, file_name, SETTING_Scaling_Shares,
                                "an inner job has no CPU weight of its own; the outer job may have Shares=");
        if (distribution_overlaps(distribution_of(inner)))
                return refuse(ret_message, text, file_name, SETTING_Distribution_Policy,
                                "an inner job cannot use Policy=async: a scheduler is trained on rounds "
                                "that wait for all their actors");
        if (inner->dataset[0])
                return refuse(ret_message, text, file_name, SETTING_Learner_Dataset,
                                "an inner job plays its episodes itself, and would learn from its own steps "
                                "instead: use an Algorithm= that acts, and leave this key out");
        if (!settings_option(outer, "Target") && !isfinite(minions_target(inner)))
                return refuse(ret_message, text, file_name, SETTING_Job_StopReturn,
                                "the return that the inner job must reach is not known: "
                                "set it, or Target= in [Environment]");
        return 0;
}

int settings_parse_inner(const char *text, const char *file_name, const JobSettings *outer, JobSettings *ret,
                char **ret_message) {
        g_autofree JobSettings *inner = g_new0(JobSettings, 1);
        g_autofree char *own = inner_text(text);
        int r;

        g_assert(file_name);
        g_assert(ret);

        if (!own) {
                *ret_message = g_strdup_printf(
                                "%s: [Job] Environment=%s: the inner job's text is missing: sections "
                                "[" SETTINGS_INNER_PREFIX "Job] and so on, which actorctl puts here",
                                file_name, outer->environment);
                return -ENOENT;
        }
        r = settings_parse_stored(own, file_name, NULL, 0, inner, ret_message);
        if (r < 0)
                return r;
        r = settings_check_inner(outer, inner, own, file_name, ret_message);
        if (r < 0)
                return r;
        *ret = *inner;
        return 0;
}

char *settings_print_inner(const JobSettings *settings) {
        GString *text = g_string_new(NULL);
        const char *section = "";
        char value[SETTING_TEXT_MAX];

        g_assert(settings);

        for (int i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);

                if (!settings_present(settings, i))
                        continue;
                if (strcmp(row->section, section) != 0)
                        g_string_append_printf(text, "[" SETTINGS_INNER_PREFIX "%s]\n", row->section);
                section = row->section;
                setting_print(settings, i, value);
                g_string_append_printf(text, "%s=%s\n", row->key, value);
        }
        if (settings->n_options > 0)
                g_string_append(text, "[" SETTINGS_INNER_PREFIX "Environment]\n");
        for (uint32_t i = 0; i < settings->n_options; i++)
                g_string_append_printf(
                                text, "%s=%s\n", settings->options[i].key, settings->options[i].value);
        return g_string_free(text, FALSE);
}
