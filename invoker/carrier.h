/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head's end of a node's stream: a process of its own for each node. It carries frames between the
 * stream and the relays of the node's containers, sends each policy version once, and finds out that a node
 * has gone or is stalled. The invoker itself never waits for a network. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "invoker/placement.h"

/* What passes through one node's carrier, in memory that the invoker reads: the carrier may be killed at any
 * time, and what it has counted stays. */
typedef struct CarrierMeter {
        _Atomic uint64_t sent_bytes, received_bytes;
        _Atomic uint64_t busy_nsec;  /* for how long the node had an order */
        _Atomic uint64_t since_nsec; /* it has one since then, which busy_nsec lacks; 0: it has none */
} CarrierMeter;

typedef enum CarrierWordKind {
        CARRIER_ATTACH = 1, /* invoker: container's next relay, with its descriptor */
        CARRIER_READY,      /* carrier: the node takes orders */
        CARRIER_LOST,       /* carrier: words say why; it ends */
} CarrierWordKind;

/* Between invoker and carrier, over a SEQPACKET socket. */
typedef struct CarrierWord {
        uint32_t kind, container;
        char words[192]; /* LOST */
} CarrierWord;

/* For how long a node may be silent while it has an order: a node that works answers pings at once, so this
 * is time for a busy host and a slow way. It grows with the node's own rounds, never beyond the time that
 * an order may take. Pure. */
#define CARRIER_PATIENCE_NSEC (5ull * 1000000000u)
#define CARRIER_ROUNDS        4u
uint64_t carrier_patience_nsec(uint64_t longest_nsec, uint64_t timeout_nsec);

_Noreturn void carrier_run(const Placement *place, int stream_fd, int control_fd, CarrierMeter *meter);
