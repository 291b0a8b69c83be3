/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the place of a setting: in the job file, in --set, or in an experiment. Messages name this place,
 * and paths are relative to it. */
#include "actorctl/job-file.h"

#include <string.h>

const char *job_file_override(const JobFile *job_file, const char *key) {
        for (guint i = job_file->overrides->len; i > 0; i--)
                if (strcmp(g_array_index(job_file->overrides, SettingOverride, i - 1).key, key) == 0)
                        return g_array_index(job_file->overrides, SettingOverride, i - 1).value;
        return NULL;
}

void job_file_complain(const JobFile *job_file, const char *section, const char *key, const char *value,
                const char *reason) {
        unsigned line = settings_locate(job_file->text, section, key);
        g_autofree char *place = NULL, *sentence = NULL, *whole = g_strconcat(section, ".", key, NULL);
        bool overridden = job_file_override(job_file, whole);

        if (overridden)
                place = g_strdup_printf("--set %s.", section);
        else
                place = line > 0 ? g_strdup_printf("%s:%u: [%s] ", job_file->file_name, line, section)
                                 : g_strdup_printf("%s: [%s] ", job_file->file_name, section);
        sentence = g_strdup_printf("%s%s=%s: %s", place, key, value, reason);
        if (overridden && job_file->source)
                job_file->source->complain(job_file->source, sentence);
        else
                complain_bare(sentence);
}

void job_file_complain_environment(const JobFile *job_file, const char *reason) {
        const char *environment = job_file->settings.environment;

        if (job_file->no_file)
                complain("%s: %s", environment, reason);
        else
                job_file_complain(job_file, "Job", "Environment", environment, reason);
}

char *job_file_path(const JobFile *job_file, const char *key, const char *name) {
        const char *file = job_file->file_name;
        g_autofree char *directory = NULL;

        if (job_file_override(job_file, key))
                file = job_file->source ? job_file->source->file_name : NULL;
        if (g_path_is_absolute(name) || !file)
                return g_strdup(name);
        directory = g_path_get_dirname(file);
        return g_build_filename(directory, name + (g_str_has_prefix(name, "./") ? strlen("./") : 0), NULL);
}
