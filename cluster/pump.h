/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries bytes between a TLS session and a stream of this host, both ways, until one of them ends. */
#pragma once

#include "cluster/tls.h"

typedef enum PumpEnd {
        PUMP_LOCAL,   /* this host's end was closed: the peer was told */
        PUMP_PEER,    /* the peer has closed properly */
        PUMP_CUT,     /* the connection broke, or nothing was heard from the peer's host */
        PUMP_STOPPED, /* stop_fd became readable: the peer was told */
} PumpEnd;

/* The connection counts as broken after so long without a sign of the peer's host. */
enum { PUMP_SILENCE_SECONDS = 20 };

/* Makes the kernel notice a host that is gone, also while nothing is sent. 0, or -errno. */
int pump_watch(int tcp_fd);
/* Both descriptors are non-blocking. stop_fd: -EBADF: none. */
PumpEnd pump_run(const Tls *tls, int local_fd, int stop_fd);
