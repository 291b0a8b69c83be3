/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads any bytes as a file of a trained scheduler. The reader refuses the file with a reason, or the
 * scheduler decides and its texts can be printed. The length of a file follows from its number of choices,
 * and most of its bytes do not matter, so the input is only the head and the first parameters. The first
 * byte of the input says by how much the file is too long or too short. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "lib/minions.h"
#include "lib/sanitise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHOICES_TRIED = 16 };

static void check_words(const char *text, size_t size) {
        g_autofree char *safe = NULL;

        g_assert(memchr(text, 0, size) && g_utf8_validate(text, -1, NULL));
        safe = sanitise_for_journal(text);
        g_assert_nonnull(safe);
}

static void check_taken(const uint8_t *bytes, size_t n) {
        static const float rows[][MINIONS_N_FEATURES] = { { 0 }, { 1, 1, 1, 1, 1, 1, 1, 1 },
                { -1, -1, -1, -1, -1, -1, -1, -1 } };
        MinionsModel m;
        uint32_t choice;

        memcpy(&m, bytes, sizeof(m));
        check_words(m.job, sizeof(m.job));
        check_words(m.environment, sizeof(m.environment));
        check_words(m.currency, sizeof(m.currency));
        check_words(m.price_sheet, sizeof(m.price_sheet));
        check_words(m.start, sizeof(m.start));
        check_words(m.start_environment, sizeof(m.start_environment));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_assert_cmpint(minions_decide(bytes, n, rows[i], &choice), ==, 0);
                g_assert(choice >= 1 && choice <= m.n_choices);
        }
}

static void try_bytes(const uint8_t *bytes, size_t n) {
        const char *reason = NULL;

        if (minions_check(bytes, n, &reason) < 0)
                g_assert(reason && strlen(reason) > 10);
        else
                check_taken(bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree uint8_t *bytes = NULL;
        MinionsModel m = {};
        size_t n;

        try_bytes(data, size);
        if (size < 1 + sizeof(m))
                return 0;
        memcpy(&m, data + 1, sizeof(m));
        m.n_choices = m.n_choices <= CHOICES_TRIED ? m.n_choices : CHOICES_TRIED;
        n = sizeof(m) + MINIONS_PARAMETERS(m.n_choices) * sizeof(float) + (size_t) (int8_t) data[0];
        bytes = g_malloc0(n);
        memcpy(bytes, data + 1, MIN(size - 1, n));
        memcpy(bytes, &m, sizeof(m));
        try_bytes(bytes, n);
        return 0;
}
