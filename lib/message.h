/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends one record with descriptors over a SEQPACKET socket; used by daemon, spawner and invoker. */
#pragma once

#include <stddef.h>

#define MESSAGE_FDS_MAX 64u

/* -errno; -ETIMEDOUT; -EPIPE: the other end closed. Received descriptors close on exec; more than fit are
 * an error. A timeout below 0 waits for as long as it takes, in a socket that blocks. */
int message_send(int fd, const void *data, size_t n, const int fds[], size_t n_fds);
int message_receive(int fd, int timeout_msec, void *ret, size_t size, size_t *ret_n, int ret_fds[],
                size_t fds_max, size_t *ret_n_fds);
