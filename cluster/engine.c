/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void engine_refuse(Engine *engine, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(engine->words, sizeof(engine->words), format, ap);
        va_end(ap);
        words_clean(engine->words, sizeof(engine->words));
        engine->open = ENGINE_REFUSED;
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
