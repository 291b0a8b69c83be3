/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends actord's programs by sbcast to nodes that do not see the folder of the programs. The first such node
 * ends at once, with NODE_EXIT_NO_FILE. Then the programs are packed, and each node that is asked for later
 * gets them. */
#pragma once

#include "cluster/engine.h"
#include "cluster/parcel.h"
#include "cluster/text.h"

typedef struct Delivery {
        Parcel parcel;
        uint8_t *states;           /* [nodes]: DeliveryState */
        size_t receiving;          /* index of the node to which sbcast sends the parcel */
        uint32_t receiving_number; /* that node's number: another node may take the index meanwhile */
} Delivery;

int delivery_init(Delivery *delivery, size_t n_nodes);
void delivery_done(Delivery *delivery);

/* Whether the script of another node can be made now. False: the programs are not packed yet. */
bool delivery_is_ready(const Delivery *delivery);
/* Makes the script of engine->nodes[i], and notes whether that node awaits the programs. False: it cannot be
 * made, and engine_refuse() has the reason. */
bool delivery_script(Delivery *delivery, Engine *engine, size_t i, char ret[TEXT_SCRIPT_MAX]);
/* To be called when a node's script has ended. If the exit status says that the node does not see actord's
 * programs, this writes so into `words`, packs the programs for later nodes, and sets node->excused. If the
 * node had got the programs, it writes that a library is missing there. A node for which sbcast had no time
 * is excused, too. */
void delivery_node_ended(Delivery *delivery, Engine *engine, EngineNode *node, char words[256]);
/* Sends the programs to one node at a time. sbcast needs the node's id, which names a Slurm job or a
 * step of one. A node without an id has to wait. */
void delivery_step(Delivery *delivery, Engine *engine, uint64_t now_nsec);
