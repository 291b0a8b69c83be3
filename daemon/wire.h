/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the start of a D-Bus message: its size, its sender, the number of descriptors that it claims. Pure;
 * the bytes are not trusted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many bytes of a message are needed to know its size. */
#define WIRE_START_BYTES 16u

typedef struct WireFields {
        const char *sender; /* in the message; NULL: not given */
        uint8_t *n_fds;     /* the place of the number of descriptors in the message; NULL: there is none */
} WireFields;

/* The size of the part before the body (the start, the header's fields, padding), and the size of the body.
 * message: at least its first WIRE_START_BYTES bytes. */
size_t wire_head_bytes(const uint8_t *message);
size_t wire_body_bytes(const uint8_t *message);

/* Reads the fields in the first `size` bytes, as far as they are understood. */
void wire_read_fields(uint8_t *message, size_t size, WireFields *ret);
/* Overwrites the message's number of descriptors, if it has one. */
void wire_set_n_fds(const uint8_t *message, const WireFields *fields, uint32_t n);
