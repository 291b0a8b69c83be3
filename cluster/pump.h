/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries bytes between a TLS session and a stream of this host, both ways, until one of them ends. */
#pragma once

#include "cluster/tls.h"

typedef enum PumpEnd {
        PUMP_LOCAL,   /* the local end was closed, and the peer was told */
        PUMP_PEER,    /* the peer has closed the session properly */
        PUMP_CUT,     /* the connection broke, or the peer's host was silent */
        PUMP_STOPPED, /* stop_fd became readable, and the peer was told */
} PumpEnd;

/* The connection counts as broken when the peer's host has been silent for this long. */
enum { PUMP_SILENCE_SECONDS = 20 };

/* Makes the kernel notice a host that is gone, even while nothing is sent. 0, or -errno. */
int pump_watch(int tcp_fd);
/* Both descriptors must be non-blocking. stop_fd -EBADF: there is none. */
PumpEnd pump_run(const Tls *tls, int local_fd, int stop_fd);
