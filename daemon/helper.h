/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process of the daemon's own for what may hang: a caller's file, the host's user database. It says how it
 * went on a channel of records (SOCK_SEQPACKET), and may be left behind at any time. */
#pragma once

/* As fork(): 1 in the child, which closes what it does not need and does not return; 0 in the daemon;
 * negative. Both have their end of the channel. The daemon's SIGCHLD source reaps it. */
int helper_start(int *ret_channel, int *ret_pid_fd);

/* Both may be negative. A child that has not ended is killed. */
void helper_end(int channel, int pid_fd);
