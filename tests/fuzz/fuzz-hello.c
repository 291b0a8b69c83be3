/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the checks of the messages that a stranger sends who connects to a cluster job. Each message that
 * passes the checks must have lengths and texts within their bounds. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "cluster/hello.h"
#include "include/cluster.h"
#include "include/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t token[TOKEN_BYTES] = "0123456789abcde";
        Hello hello = {};
        NodeFacts facts = {};
        NodeReady ready = {};
        Work work = {};

        memcpy(&hello, data, MIN(size, sizeof(hello)));
        if (!hello_check(&hello, token)) {
                g_assert_cmpuint(hello.n_credential, <=, HELLO_CREDENTIAL_MAX);
                g_assert_cmpuint(strnlen(hello.version, sizeof(hello.version)), <, sizeof(hello.version));
                (void) hello_is_ours(&hello);
                if (size > sizeof(hello))
                        (void) sealed_check(data + sizeof(hello), size - sizeof(hello), &hello);
        }
        memcpy(&facts, data, MIN(size, sizeof(facts)));
        if (node_facts_check(&facts))
                g_assert_true(strlen(facts.name) < sizeof(facts.name) && facts.n_cpus > 0);
        memcpy(&work, data, MIN(size, sizeof(work)));
        if (work_check(&work)) {
                g_assert_cmpuint(work.n_settings, <=, HELLO_SETTINGS_MAX);
                g_assert_cmpuint(work.n_launch, ==, sizeof(Launch));
                g_assert_cmpuint(work.n_plugin, <=, CLUSTER_PLUGIN_MAX);
        }
        memcpy(&ready, data, MIN(size, sizeof(ready)));
        if (node_ready_check(&ready))
                g_assert_cmpuint(strlen(ready.words), <, sizeof(ready.words));
        return 0;
}
