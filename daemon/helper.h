/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A helper is a child process for work that may hang, or that the daemon must not do itself. It copies a
 * caller's file, asks the host's user database, or is the gate (daemon/gate.h). It talks with the daemon on
 * a channel. */
#pragma once

/* Forks. 1: this is the child, which closes the descriptors that it does not need and never returns; 0: this
 * is the daemon; or a negative errno. Both get their end of the channel, a socket of this type
 * (SOCK_SEQPACKET for records). ret_pid_fd NULL: the daemon does not need it. The daemon's SIGCHLD source
 * reaps the child. */
int helper_start(int socket_type, int *ret_channel, int *ret_pid_fd);

/* Ends a helper. Both descriptors may be negative. A child with a pid_fd is killed if it still runs. */
void helper_end(int channel, int pid_fd);
