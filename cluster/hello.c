/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/hello.h"

#include <stdio.h>
#include <string.h>
#include "include/cluster.h"
#include "include/launch.h"
#include "include/settings.h"
#include "lib/hex.h"
#include "lib/words.h"

/* The versions of the layouts that head and node must share before the stream begins, as one number. If a
 * layout changes, so does its version. The stream has its own version (STREAM_ABI in invoker/frame.h). */
static uint32_t contracts(void) {
        return CLUSTER_ABI << 24 | LAUNCH_ABI << 16 | SETTINGS_ABI << 8;
}

void hello_make(const uint8_t token[TOKEN_BYTES], uint32_t node, uint32_t n_credential, Hello *ret) {
        *ret = (Hello){ .magic = HELLO_MAGIC,
                .abi = HELLO_ABI,
                .n_credential = n_credential,
                .version = ACTORD_VERSION,
                .node = node,
                .contracts = contracts() };
        memcpy(ret->token, token, TOKEN_BYTES);
}

const char *hello_check(const Hello *hello, const uint8_t token[TOKEN_BYTES]) {
        if (memcmp(hello->magic, HELLO_MAGIC, sizeof(HELLO_MAGIC)) != 0 || hello->abi != HELLO_ABI ||
                        !memchr(hello->version, 0, sizeof(hello->version)))
                return "it does not speak the protocol of a node";
        if (memcmp(hello->token, token, TOKEN_BYTES) != 0)
                return "it belongs to another job";
        if (hello->node == 0)
                return "it gives no node number";
        if (hello->n_credential == 0 || hello->n_credential > HELLO_CREDENTIAL_MAX)
                return "its credential has an impossible length";
        return NULL;
}

bool hello_is_ours(const Hello *hello) {
        return strcmp(hello->version, ACTORD_VERSION) == 0 && hello->contracts == contracts();
}

bool sealed_check(const void *content, size_t n, const Hello *hello) {
        const Sealed *sealed = content;

        return n == sizeof(*sealed) && memcmp(sealed->magic, HELLO_MAGIC, sizeof(HELLO_MAGIC)) == 0 &&
               memcmp(sealed->token, hello->token, TOKEN_BYTES) == 0 && sealed->node == hello->node;
}

bool work_check(const Work *work) {
        return work->abi == HELLO_ABI && work->n_launch == sizeof(Launch) && work->n_settings > 0 &&
               work->n_settings <= HELLO_SETTINGS_MAX && work->n_plugin <= CLUSTER_PLUGIN_MAX;
}

bool node_facts_check(NodeFacts *facts) {
        if (facts->abi != HELLO_ABI || facts->n_cpus == 0 || facts->n_cpus > 1u << 16)
                return false;
        words_clean(facts->name, sizeof(facts->name));
        return facts->name[0] != 0;
}

bool node_ready_check(NodeReady *ready) {
        words_clean(ready->words, sizeof(ready->words));
        return ready->abi == HELLO_ABI && ready->error <= 0;
}

void token_to_string(const uint8_t token[TOKEN_BYTES], char ret[TOKEN_TEXT_BYTES]) {
        hex_print(token, TOKEN_BYTES, ret);
}

static int digit_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool token_from_string(const char *text, uint8_t ret[TOKEN_BYTES]) {
        uint8_t token[TOKEN_BYTES];

        if (strlen(text) != 2 * TOKEN_BYTES)
                return false;
        for (size_t i = 0; i < TOKEN_BYTES; i++) {
                int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);

                if (high < 0 || low < 0)
                        return false;
                token[i] = (uint8_t) (high << 4 | low);
        }
        memcpy(ret, token, sizeof(token));
        return true;
}
