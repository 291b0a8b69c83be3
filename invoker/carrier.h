/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A node's stream ends at the job's own host (the head) in a separate process for each node, the carrier. It
 * carries frames between the stream and the relays of the node's containers, sends each policy version once,
 * and notices when a node is gone or hangs. The invoker itself never waits for a network. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "invoker/placement.h"

/* What one node's carrier has sent, received and waited for, in memory that the invoker reads. So the
 * numbers are not lost if the carrier is killed. */
typedef struct CarrierMeter {
        _Atomic uint64_t sent_bytes, received_bytes;
        _Atomic uint64_t busy_nsec; /* how long the node has had an order */
        /* the beginning of the present order, which busy_nsec does not count yet; 0: it has no order */
        _Atomic uint64_t since_nsec;
} CarrierMeter;

typedef enum CarrierWordKind {
        CARRIER_ATTACH = 1, /* invoker to carrier: a container's next relay, with its descriptor */
        CARRIER_READY,      /* carrier to invoker: the node takes orders */
        CARRIER_LOST,       /* carrier to invoker: `words` say why; the carrier ends */
} CarrierWordKind;

/* A message between invoker and carrier, over a SEQPACKET socket. */
typedef struct CarrierWord {
        uint32_t kind, container;
        char words[192]; /* LOST */
} CarrierWord;

/* How long a node may be silent while it has an order. A working node answers pings at once, so this time is
 * only for a busy host and a slow network. It grows with the times of the node's own rounds, up to the
 * longest time of an order. Pure. */
#define CARRIER_PATIENCE_NSEC (5ull * 1000000000u)
#define CARRIER_ROUNDS        4u
uint64_t carrier_patience_nsec(uint64_t longest_nsec, uint64_t timeout_nsec);

/* How long a node has been silent. The head's host may have been stopped meanwhile, and then it sent no
 * pings. So the carrier counts not time but its own looks at the stream. It looks CARRIER_LOOKS times within
 * its patience (the longest silence that it allows). With each look except the last it sends a ping, once
 * the node has begun. Pure. */
#define CARRIER_LOOKS 4u
typedef struct Silence {
        uint64_t since_nsec; /* since the last message or look */
        uint32_t n_looks;    /* since the last message; the node is given up when it is CARRIER_LOOKS */
} Silence;

/* Call this when the node has sent something, or gets an order while it has none. */
void silence_broken(Silence *silence, uint64_t now_nsec);
/* Whether it is time for the next look. If so, counts the look as one more without a message. */
bool silence_grows(Silence *silence, uint64_t now_nsec, uint64_t patience_nsec);

_Noreturn void carrier_run(const Placement *place, int stream_fd, int control_fd, CarrierMeter *meter);
