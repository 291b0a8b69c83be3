/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at the next message of a bus connection without taking it, and finds out whether descriptors come
 * with it: if a reader has no room for descriptors, the kernel sets a flag which says that some were cut off
 * (MSG_CTRUNC). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes that have arrived, at most `size` (WIRE_START_BYTES or more), from the start of a message.
 * 1: descriptors come with this message, or may come: they may belong to bytes that were not looked at, or
 * the message is not complete yet. 0: none come. -EAGAIN: nothing has arrived. -EPIPE: the connection has
 * ended. */
int look_at_message(int fd, uint8_t *bytes, size_t size, size_t *ret_n);
