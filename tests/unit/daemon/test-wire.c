/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The start of a D-Bus message, as the gate reads it, in both byte orders. At a field that is cut off or
 * invalid the search ends, without reading behind the bytes. */
#include "daemon/wire.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

enum { BYTES_MAX = 128 };

typedef struct Written {
        uint8_t bytes[BYTES_MAX];
        size_t n;
        bool big;
} Written;

static void put_word(Written *w, size_t at, uint32_t word) {
        uint32_t n = w->big ? GUINT32_TO_BE(word) : GUINT32_TO_LE(word);

        memcpy(w->bytes + at, &n, sizeof(n));
}

static void put_code(Written *w, uint8_t code, char signature) {
        w->n = (w->n + 7) & ~(size_t) 7;
        w->bytes[w->n] = code;
        w->bytes[w->n + 1] = 1;
        w->bytes[w->n + 2] = (uint8_t) signature;
        w->n += 4;
}

/* A D-Bus message with three header fields: a path, the sender, and the number of its descriptors, which is
 * three. Its body has six bytes. */
static Written write_message(bool big) {
        Written w = { .n = WIRE_START_BYTES, .big = big };

        w.bytes[0] = big ? 'B' : 'l';
        put_code(&w, 1, 'o');
        put_word(&w, w.n, 4);
        memcpy(w.bytes + w.n + 4, "/org", 5);
        w.n += 9;
        put_code(&w, 7, 's');
        put_word(&w, w.n, 4);
        memcpy(w.bytes + w.n + 4, ":1.5", 5);
        w.n += 9;
        put_code(&w, 9, 'u');
        put_word(&w, w.n, 3);
        w.n += 4;
        put_word(&w, 4, 6);
        put_word(&w, 12, (uint32_t) (w.n - WIRE_START_BYTES));
        return w;
}

static uint32_t count_of(const Written *w, const WireFields *fields) {
        uint32_t n;

        memcpy(&n, fields->n_fds, sizeof(n));
        return w->big ? GUINT32_FROM_BE(n) : GUINT32_FROM_LE(n);
}

static void test_fields(void) {
        for (int big = 0; big < 2; big++) {
                Written w = write_message(big);
                WireFields fields = {};

                g_assert_cmpuint(wire_head_bytes(w.bytes), ==, (w.n + 7) & ~(size_t) 7);
                g_assert_cmpuint(wire_body_bytes(w.bytes), ==, 6);
                wire_read_fields(w.bytes, wire_head_bytes(w.bytes), &fields);
                g_assert_cmpstr(fields.sender, ==, ":1.5");
                g_assert_nonnull(fields.n_fds);
                g_assert_cmpuint(count_of(&w, &fields), ==, 3);

                wire_set_n_fds(w.bytes, &fields, 1);
                g_assert_cmpuint(count_of(&w, &fields), ==, 1);
        }
}

/* The daemon may see only the beginning of a message in a socket. It never reads behind the bytes that it
 * has. */
static void test_cut(void) {
        for (size_t size = WIRE_START_BYTES; size < BYTES_MAX; size++) {
                Written w = write_message(false);
                g_autofree uint8_t *exact = g_memdup2(w.bytes, size);
                WireFields fields = {};

                wire_read_fields(exact, size, &fields);
                if (fields.sender)
                        g_assert_cmpstr(fields.sender, ==, ":1.5");
                if (fields.n_fds)
                        g_assert_true(fields.n_fds + sizeof(uint32_t) <= exact + size);
                g_assert_true(!!fields.n_fds == (size >= w.n));
        }
}

static void test_hostile(void) {
        Written w = write_message(false);
        WireFields fields = {};

        /* The path's length reaches far beyond the end of the message. */
        put_word(&w, WIRE_START_BYTES + 4, UINT32_MAX);
        wire_read_fields(w.bytes, w.n, &fields);
        g_assert_null(fields.sender);
        g_assert_null(fields.n_fds);

        /* A message that counts no descriptors stays as it is. */
        wire_set_n_fds(w.bytes, &fields, 7);

        /* A header field whose signature has two types is not read. */
        w = write_message(false);
        w.bytes[WIRE_START_BYTES + 1] = 2;
        wire_read_fields(w.bytes, w.n, &fields);
        g_assert_null(fields.sender);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/wire/fields", test_fields);
        g_test_add_func("/wire/cut", test_cut);
        g_test_add_func("/wire/hostile", test_hostile);
        return g_test_run();
}
