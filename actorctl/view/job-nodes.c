/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Describes in words which nodes of a cluster a job has. */
#include <string.h>

#include "actorctl/job-status.h"
#include "actorctl/view/table.h"

#define MIB 1048576.0

/* The reason of the first pending node; NULL: none is pending. *ret_n: how many are pending. */
static const char *pending(const JobStatus *job, guint *ret_n) {
        const char *reason = NULL;

        *ret_n = 0;
        for (size_t i = 0; job->nodes[i]; i++) {
                const char *state = strchr(job->nodes[i], ' ');

                if (!state || !g_str_has_prefix(state, " pending "))
                        continue;
                if ((*ret_n)++ == 0)
                        reason = state + strlen(" pending ");
        }
        return reason;
}

char *job_nodes_words(const JobStatus *job) {
        guint n;
        const char *reason = pending(job, &n);
        g_autofree char *waits = n > 0 ? g_strdup_printf(", %u pending (%s)", n, reason) : NULL;

        if (n == 0 && job->n_nodes_max == 0 && job->n_nodes_lost == 0)
                return NULL;
        return g_strdup_printf("%u up%s, %u lost", job->n_nodes_up, waits ?: "", job->n_nodes_lost);
}

char *job_nodes_use(const JobStatus *job) {
        char whole[32], idle[32], waited[32], money[48];

        if (job->n_nodes_max == 0 && job->nodes_nsec == 0)
                return NULL;
        return g_strdup_printf(
                        "%s allocated, %s of that idle, for %s; waited for %s; %.1f MiB sent, %.1f MiB "
                        "received",
                        format_duration(job->nodes_nsec, whole), format_duration(job->nodes_idle_nsec, idle),
                        format_money(job->nodes_cost, job->currency, money),
                        format_duration(job->nodes_waited_nsec, waited),
                        (double) job->nodes_sent_bytes / MIB, (double) job->nodes_received_bytes / MIB);
}
