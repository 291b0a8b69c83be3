/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends and receives records with descriptors over SEQPACKET sockets, for all programs. */
#pragma once

#include <stddef.h>

#define MESSAGE_FDS_MAX 64u

/* 0 or -errno. -ETIMEDOUT: no message came in time; -EPIPE: the other end is closed; -EMSGSIZE: the message
 * or its descriptors do not fit; -EMFILE: the limit of open files leaves no room for its descriptors.
 * Received descriptors close on exec. With a negative timeout a blocking socket waits without limit. */
int message_send(int fd, const void *data, size_t n, const int fds[], size_t n_fds);
int message_receive(int fd, int timeout_msec, void *ret, size_t size, size_t *ret_n, int ret_fds[],
                size_t fds_max, size_t *ret_n_fds);
