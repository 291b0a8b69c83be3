/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/wire.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

static bool is_big(const uint8_t *message) {
        return message[0] == 'B';
}

static uint32_t word_at(const uint8_t *message, size_t at) {
        uint32_t n;

        memcpy(&n, message + at, sizeof(n));
        return is_big(message) ? GUINT32_FROM_BE(n) : GUINT32_FROM_LE(n);
}

size_t wire_head_bytes(const uint8_t *message) {
        return WIRE_START_BYTES + (((size_t) word_at(message, 12) + 7) & ~(size_t) 7);
}

size_t wire_body_bytes(const uint8_t *message) {
        return word_at(message, 4);
}

/* A field is (code, variant), aligned to 8. The bus itself has written the sender. The search ends at a
 * field of an unknown form. */
void wire_read_fields(uint8_t *message, size_t size, WireFields *ret) {
        enum { FIELD_SENDER = 7, FIELD_UNIX_FDS = 9 };
        size_t at = WIRE_START_BYTES;

        while (at + 8 <= size) {
                uint8_t code = message[at], signature = message[at + 2];
                uint32_t n;

                if (message[at + 1] != 1 || message[at + 3] != 0)
                        return;
                at += 4;
                if (signature == 'g') {
                        at += 2u + message[at];
                } else {
                        n = word_at(message, at);
                        at += 4;
                        if (signature == 's' || signature == 'o') {
                                if (n >= size - at || message[at + n] != 0)
                                        return;
                                if (code == FIELD_SENDER)
                                        ret->sender = (const char *) message + at;
                                at += n + 1;
                        } else if (signature != 'u')
                                return;
                        else if (code == FIELD_UNIX_FDS)
                                ret->n_fds = message + at - 4;
                }
                at = (at + 7) & ~(size_t) 7;
        }
}

void wire_set_n_fds(const uint8_t *message, const WireFields *fields, uint32_t n) {
        uint32_t written = is_big(message) ? GUINT32_TO_BE(n) : GUINT32_TO_LE(n);

        if (fields->n_fds)
                memcpy(fields->n_fds, &written, sizeof(written));
}
