/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Slurm's commands may print anything, and options may be anything. The parsers end, and what they return is
 * within its bounds. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "cluster/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const TextJob *job) {
        g_assert_cmpint(text_state(job->state), !=, TEXT_UNKNOWN);
        g_assert_cmpuint(strspn(job->id, "0123456789"), ==, strlen(job->id));
        g_assert_true(job->started >= 0 && job->ended >= 0 && job->asked >= 0);
        g_assert_true(job->billing >= 0 && job->billing <= 1e15);
        for (const char *p = job->reason; *p; p++)
                g_assert_true(*p >= ' ' && *p <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *options = g_strdup(text);
        char words[256], id[32], *list[TEXT_OPTIONS_MAX];
        TextJob job = {};
        int n;

        if (text_job_parse((const char *) data, size, &job)) {
                check_job(&job);
                text_end(&job, words);
        }
        if (text_submitted_parse(text, id))
                g_assert_cmpuint(strspn(id, "0123456789"), ==, strlen(id));
        text_tres_parse(text, &job);
        g_assert_cmpuint(text_count_nodes(text, false), <=, text_count_nodes(text, true));
        (void) text_time_parse(text);
        (void) text_refusal(text, "", "", words);
        g_assert_cmpuint(strlen(words), <, sizeof(words));
        text_best_line(text, words, sizeof(words));
        n = text_options_split(options, list);
        for (int i = 0; i < n; i++)
                g_assert_true(list[i] >= options && list[i] <= options + strlen(text));
        return 0;
}
