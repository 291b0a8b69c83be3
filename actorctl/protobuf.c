/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This file writes four kinds of values of the wire format: varints with seven bits in each byte, eight
 * bytes, four bytes, and bytes after their length. Values of fixed width are little-endian. */
#include "actorctl/protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void append_varint(GByteArray *message, uint64_t value) {
        uint8_t byte;

        do {
                byte = value & 0x7f;
                value >>= 7;
                if (value > 0)
                        byte |= 0x80;
                g_byte_array_append(message, &byte, 1);
        } while (value > 0);
}

static void append_key(GByteArray *message, uint32_t field, unsigned wire) {
        g_assert(field > 0);
        append_varint(message, (uint64_t) field << 3 | wire);
}

void proto_unsigned(GByteArray *message, uint32_t field, uint64_t value) {
        append_key(message, field, WIRE_VARINT);
        append_varint(message, value);
}

void proto_float(GByteArray *message, uint32_t field, float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        bits = GUINT32_TO_LE(bits);
        append_key(message, field, WIRE_FIXED32);
        g_byte_array_append(message, (const uint8_t *) &bits, sizeof(bits));
}

void proto_double(GByteArray *message, uint32_t field, double value) {
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        bits = GUINT64_TO_LE(bits);
        append_key(message, field, WIRE_FIXED64);
        g_byte_array_append(message, (const uint8_t *) &bits, sizeof(bits));
}

void proto_bytes(GByteArray *message, uint32_t field, const void *value, size_t n) {
        append_key(message, field, WIRE_BYTES);
        append_varint(message, n);
        g_byte_array_append(message, value, (guint) n);
}

void proto_string(GByteArray *message, uint32_t field, const char *value) {
        proto_bytes(message, field, value, strlen(value));
}

void proto_message(GByteArray *message, uint32_t field, GByteArray *inner) {
        proto_bytes(message, field, inner->data, inner->len);
        g_byte_array_unref(inner);
}
