/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A fuzzer of a model's Reward= and Terminate=. Any line is refused with a sentence, or becomes a list
 * within its limits. */
#include <glib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/terms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_terms(const Terms *terms) {
        g_assert_cmpuint(terms->n, <=, TERMS_MAX);
        for (uint32_t i = 0; i < terms->n; i++) {
                const Term *t = &terms->terms[i];

                g_assert(quantity_to_string(t->quantity) && t->transform < _TERM_TRANSFORM_MAX);
                g_assert(t->comparison < _TERM_COMPARISON_MAX && fabs(t->number) <= TERM_LIMIT);
                for (uint32_t k = 0; k < quantity_names(t->quantity); k++)
                        g_assert(t->names[k][0] != '\0' && memchr(t->names[k], '\0', TERM_NAME_MAX));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const TermsKind kinds[] = { TERMS_REWARD, TERMS_TERMINATE };
        g_autofree char *text = g_strndup((const char *) data, size);
        char message[256];
        Terms terms;

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                message[0] = '\0';
                if (terms_parse(text, kinds[i], &terms, message, sizeof(message)) < 0)
                        g_assert(message[0] != '\0' && memchr(message, '\0', sizeof(message)));
                else
                        check_terms(&terms);
        }
        return 0;
}
