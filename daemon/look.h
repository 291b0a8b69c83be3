/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at the next message of a connection to a bus without taking it, and whether descriptors come with
 * it: the kernel says that something was cut off to a reader that leaves no room for them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As many bytes as are there, `size` (WIRE_START_BYTES or more) at most, from the start of a message.
 * 1: descriptors come with that message, or may do so: with more bytes than were looked at, or in a message
 * that is not all there yet, it is not known whose they are. 0: none do. -EAGAIN: nothing has come.
 * -EPIPE: the connection has ended. */
int look_at_message(int fd, uint8_t *bytes, size_t size, size_t *ret_n);
