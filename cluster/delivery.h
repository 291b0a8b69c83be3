/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which nodes get the programs by sbcast, and whose turn it is. A node that does not see our folder ends at
 * once, with a status of its own. Then the programs are packed, and each node that is asked for later gets
 * them. */
#pragma once

#include "cluster/engine.h"
#include "cluster/parcel.h"
#include "cluster/text.h"

typedef struct Delivery {
        Parcel parcel;
        uint8_t *states;  /* [nodes]: DeliveryState */
        size_t receiving; /* the node that sbcast sends the parcel to, and its number */
        uint32_t receiving_number;
} Delivery;

int delivery_init(Delivery *delivery, size_t n_nodes);
void delivery_done(Delivery *delivery);

/* Whether the script of another node can be made now. False: the programs are not packed yet. */
bool delivery_is_ready(const Delivery *delivery);
/* Makes the script of engine->nodes[i], and notes whether that node awaits the programs. False: the engine
 * is refused. */
bool delivery_script(Delivery *delivery, Engine *engine, size_t i, char ret[TEXT_SCRIPT_MAX]);
/* What the exit status of a node's script says about the programs. It replaces the words if it says
 * something, may excuse the node, and may start to pack. */
void delivery_node_ended(Delivery *delivery, Engine *engine, EngineNode *node, char words[256]);
/* Sends the programs to one node at a time. The node's id is what sbcast takes: a job, or a step of it; a
 * node without one is not sent to. */
void delivery_step(Delivery *delivery, Engine *engine, uint64_t now_nsec);
