/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds the importer arbitrary bytes as a file of RL Zoo, for each algorithm of which RL Zoo has entries. It
 * must return either a job file or a sentence that says why there is none. The only control characters of a
 * job file are ends of lines and tabs, so no text of the input becomes a line of its own. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "actorctl/import/zoo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const char *job) {
        for (const char *c = job; *c; c++)
                g_assert(*c == '\n' || *c == '\t' || !g_ascii_iscntrl(*c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const algorithms[] = { "ppo", "a2c", "dqn", "ddpg", "td3", "sac" };
        g_autofree char *text = g_strndup((const char *) data, size);

        for (size_t i = 0; i < G_N_ELEMENTS(algorithms); i++) {
                const ZooRequest request = {
                        .text = text, .n = size, .file = "FILE", .algorithm = algorithms[i]
                };
                g_autofree char *reason = NULL, *job = zoo_to_job(&request, &reason);

                g_assert(!job == !!reason);
                if (job)
                        check_job(job);
                else
                        g_assert(g_str_has_prefix(reason, "FILE"));
        }
        return 0;
}
