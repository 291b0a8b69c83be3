/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/delivery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cluster/node.h"

typedef enum DeliveryState { DELIVERY_NONE, DELIVERY_AWAITED, DELIVERY_TRIED, DELIVERY_OVER } DeliveryState;

int delivery_init(Delivery *delivery, size_t n_nodes) {
        *delivery = (Delivery){ .parcel = PARCEL_NONE };
        delivery->states = calloc(n_nodes, 1);
        return delivery->states ? 0 : -ENOMEM;
}

void delivery_done(Delivery *delivery) {
        parcel_done(&delivery->parcel);
        free(delivery->states);
        delivery->states = NULL;
}

bool delivery_is_ready(const Delivery *delivery) {
        return !delivery->parcel.wanted || delivery->parcel.digest[0];
}

bool delivery_script(Delivery *delivery, Engine *engine, size_t i, char ret[TEXT_SCRIPT_MAX]) {
        const Parcel *parcel = &delivery->parcel;
        char folder[PARCEL_FOLDER_BYTES];
        EngineArguments arguments;
        int r;

        engine_arguments(engine, engine->nodes + i, &arguments);
        parcel_folder(arguments.token, engine->nodes[i].number, folder);
        delivery->states[i] = parcel->wanted ? DELIVERY_AWAITED : DELIVERY_NONE;
        engine->nodes[i].awaits = parcel->wanted;
        r = parcel->wanted ? text_parcel_script(arguments.argv, folder, parcel->digest, ret)
                           : text_script(arguments.argv, ret);
        if (r < 0)
                engine_refuse(engine,
                                "a script cannot contain the path of actord's folder, %.150s: move "
                                "actord to another folder",
                                engine->terms.directory);
        return r >= 0;
}

void delivery_node_ended(Delivery *delivery, Engine *engine, EngineNode *node, char words[256]) {
        Parcel *parcel = &delivery->parcel;
        uint8_t state = delivery->states[node - engine->nodes];

        if (node->exit_status == NODE_EXIT_NO_FILE && state == DELIVERY_NONE) {
                if (!parcel->wanted && parcel_pack(parcel, engine->terms.directory, words) < 0)
                        engine_refuse(engine, "%s", words);
                parcel->wanted = node->excused = true;
                (void) snprintf(words, 256,
                                "it does not see %.120s, so later nodes get the programs by "
                                "sbcast",
                                engine->terms.directory);
        } else if (node->exit_status == NODE_EXIT_NO_FILE)
                (void) snprintf(words, 256,
                                "a library that actord-cluster needs is missing on the node (Slurm job %s)",
                                node->id);
        /* sbcast was busy with other nodes all the time, so this node did not fail */
        if (node->exit_status == NODE_EXIT_LATE && state == DELIVERY_AWAITED)
                node->excused = true;
}

/* The next node in turn whose script waits for the programs; n_nodes: there is none. */
static size_t find_next(const Delivery *delivery, const Engine *engine) {
        for (size_t k = 0; k < engine->n_nodes; k++) {
                size_t i = (delivery->receiving + 1 + k) % engine->n_nodes;
                const EngineNode *node = engine->nodes + i;

                if (node->state == ENGINE_RUNNING && !node->stop && node->awaits && node->id[0])
                        return i;
        }
        return engine->n_nodes;
}

/* An sbcast that hangs is killed at its deadline, so that other nodes need not wait longer. */
void delivery_step(Delivery *delivery, Engine *engine, uint64_t now) {
        char folder[PARCEL_FOLDER_BYTES], token[TOKEN_TEXT_BYTES], words[256];
        Parcel *parcel = &delivery->parcel;
        size_t i;
        int r;

        if (parcel_step(parcel, now, words) < 0)
                engine_refuse(engine, "%s", words);
        if (parcel_sent(parcel, now) > 0 &&
                        engine->nodes[delivery->receiving].number == delivery->receiving_number) {
                delivery->states[delivery->receiving] = DELIVERY_OVER;
                engine->nodes[delivery->receiving].awaits = false;
        }
        i = find_next(delivery, engine);
        if (i == engine->n_nodes)
                return;
        token_to_string(engine->terms.token, token);
        parcel_folder(token, engine->nodes[i].number, folder);
        r = parcel_send(parcel, engine->nodes[i].id, folder, now);
        /* Otherwise each node would wait for the programs until it gives up, and be replaced by another. */
        if (r == -ENOENT || r == -EACCES)
                engine_refuse(engine,
                                "sbcast, which sends the programs to nodes, cannot be started: %s; install "
                                "Slurm's client programs, or install actord on the nodes",
                                strerror(-r));
        if (r <= 0)
                return;
        delivery->states[i] = DELIVERY_TRIED;
        delivery->receiving = i;
        delivery->receiving_number = engine->nodes[i].number;
}
