/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes messages of Protocol Buffers: each field is a key (number and kind) and its value. An inner message
 * is made first, and then appended as bytes. */
#pragma once

#include <glib.h>
#include <stdint.h>

void proto_unsigned(GByteArray *message, uint32_t field, uint64_t value);
void proto_float(GByteArray *message, uint32_t field, float value);
void proto_double(GByteArray *message, uint32_t field, double value);
void proto_string(GByteArray *message, uint32_t field, const char *value);
void proto_bytes(GByteArray *message, uint32_t field, const void *value, size_t n);
/* Appends a field with the message `inner`, and frees `inner`. */
void proto_message(GByteArray *message, uint32_t field, GByteArray *inner);
