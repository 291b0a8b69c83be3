/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics= of a job file, a key that only the client reads. */
#include <string.h>

#include "actorctl/job-file.h"
#include "actorctl/metrics/metrics.h"

/* The daemon does not read Metrics=, so its words are checked here. */
ExitStatus job_file_check_metrics(const JobFile *job_file) {
        g_auto(GStrv) words = g_strsplit_set(job_file->settings.metrics, " \t", 0);

        for (size_t i = 0; words[i]; i++) {
                g_autofree char *reason = NULL;

                if (!words[i][0] || metrics_word_check(words[i], &reason))
                        continue;
                job_file_complain(job_file, "Job", "Metrics", words[i], reason);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

GPtrArray *job_file_metrics(const JobFile *job_file) {
        GPtrArray *metrics = g_ptr_array_new_with_free_func(g_free);
        g_auto(GStrv) words = g_strsplit_set(job_file->settings.metrics, " \t", 0);

        for (size_t i = 0; words[i]; i++) {
                g_autofree char *path = NULL;
                char *colon = strchr(words[i], ':');

                if (!colon)
                        continue;
                path = job_file_path(job_file, "Job.Metrics", colon + 1);
                *colon = '\0';
                g_ptr_array_add(metrics, g_strconcat(words[i], ":", path, NULL));
        }
        return metrics;
}
