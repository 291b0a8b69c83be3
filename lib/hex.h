/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes n bytes as 2 n hexadecimal digits, and a NUL. */
static inline void hex_print(const uint8_t *bytes, size_t n, char *ret) {
        ret[0] = '\0';
        for (size_t i = 0; i < n; i++)
                (void) snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}
