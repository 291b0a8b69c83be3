/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "cluster/node.h"
#include "lib/words.h"

enum {
        /* A node gets a successor when a quarter of its time limit is left, within these bounds. */
        RENEW_SECONDS_LEAST = 20,
        RENEW_SECONDS_MOST = 600,
        RENEW_PART = 4,
};

void engine_refuse(Engine *engine, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(engine->words, sizeof(engine->words), format, ap);
        va_end(ap);
        words_clean(engine->words, sizeof(engine->words));
        engine->open = ENGINE_REFUSED;
}

bool engine_avoids(const Engine *engine, const char *host) {
        size_t n = strlen(host);

        for (const char *p = engine->avoid; *p; p += *p == ',') {
                size_t length = strcspn(p, ",");

                if (length == n && memcmp(p, host, n) == 0)
                        return true;
                p += length;
        }
        return false;
}

/* Adds the node's host to the list of hosts to avoid. If the list is full, a new one begins with this host:
 * the earlier hosts may work again by now. */
void engine_avoid(Engine *engine, const EngineNode *node) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
        size_t n = strlen(engine->avoid), length = strlen(node->name);

        if (!node_exit_sentence(node->exit_status)[0] || length == 0 || node->name[0] == '-' ||
                        strspn(node->name, letters) != length || engine_avoids(engine, node->name))
                return;
        if (n + length + 2 > sizeof(engine->avoid))
                n = 0;
        (void) snprintf(engine->avoid + n, sizeof(engine->avoid) - n, "%s%s", n > 0 ? "," : "", node->name);
}

void engine_arguments(const Engine *engine, const EngineNode *node, EngineArguments *ret) {
        (void) snprintf(ret->program, sizeof(ret->program), "%s/actord-cluster", engine->terms.directory);
        (void) snprintf(ret->port, sizeof(ret->port), "%u", engine->head_port % 65536);
        (void) snprintf(ret->number, sizeof(ret->number), "%" PRIu32, node->number);
        token_to_string(engine->terms.token, ret->token);
        ret->argv[0] = ret->program;
        ret->argv[1] = (char *) "--node";
        ret->argv[2] = (char *) engine->head_address;
        ret->argv[3] = ret->port;
        ret->argv[4] = ret->token;
        ret->argv[5] = ret->number;
        ret->argv[6] = NULL;
}

void engine_node_over(EngineNode *node, const char *words) {
        node->state = ENGINE_OVER;
        if (words[0])
                (void) snprintf(node->words, sizeof(node->words), "%s", words);
        words_clean(node->words, sizeof(node->words));
}

void engine_node_cost(const EngineNode *node, bool final, ClusterCost *ret) {
        int64_t until = final ? node->ended : node->seen;

        *ret = (ClusterCost){
                .final = final,
                .memory_bytes = node->memory_bytes,
                .n_cpus = node->n_cpus,
                .n_gpus = node->n_gpus,
                .billing = node->billing,
        };
        if (node->started > 0 && until > node->started)
                ret->allocated_usec = (uint64_t) (until - node->started) * 1000000;
        if (node->asked > 0 && node->started > node->asked)
                ret->waited_usec = (uint64_t) (node->started - node->asked) * 1000000;
}

bool engine_node_expires(const EngineNode *node, uint64_t time_limit_sec) {
        int64_t lead = (int64_t) (time_limit_sec / RENEW_PART);

        if (node->limit == 0)
                return false;
        if (lead < RENEW_SECONDS_LEAST)
                lead = RENEW_SECONDS_LEAST;
        if (lead > RENEW_SECONDS_MOST)
                lead = RENEW_SECONDS_MOST;
        return node->limit - (int64_t) time(NULL) < lead;
}

void engine_node_runs(EngineNode *node, int64_t clock) {
        if (node->seen > 0 && node->ended == 0 && !node->suspended && clock + node->ahead > node->seen)
                node->seen = clock + node->ahead;
}
