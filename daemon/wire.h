/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The start of a message as D-Bus writes it: its size, its sender, how many descriptors it says it has.
 * Pure; nothing in the bytes is believed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first bytes of each message, from which a reader knows its size. */
#define WIRE_START_BYTES 16u

typedef struct WireFields {
        const char *sender; /* in the message; NULL: it does not say */
        uint8_t *n_fds;     /* where the descriptors are counted; NULL: nowhere */
} WireFields;

/* The bytes of the start and the fields with their padding, and those of the body. message:
 * WIRE_START_BYTES or more. */
size_t wire_head_bytes(const uint8_t *message);
size_t wire_body_bytes(const uint8_t *message);

/* Looks through the fields in the first `size` bytes, as far as it understands them. */
void wire_read_fields(uint8_t *message, size_t size, WireFields *ret);
/* Where the message counts its descriptors, it counts so many from now on. */
void wire_set_n_fds(const uint8_t *message, const WireFields *fields, uint32_t n);
