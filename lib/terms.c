/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses terms: TERM = ["abs" | "square"] QUANTITY NAME... (WEIGHT | COMPARISON THRESHOLD), separated by
 * commas. */
#include "lib/terms.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8 };

static const struct {
        const char *word;
        uint32_t n_names;
} quantities[] = {
#define X(name, word, n_names, help) { word, n_names },
        QUANTITIES(X)
#undef X
};

static const char *const transforms[] = { "", "abs", "square" };
static const char *const comparisons[] = { "<", "<=", ">", ">=" };

const char *quantity_to_string(uint32_t quantity) {
        assert(quantity < _QUANTITY_MAX);

        return quantities[quantity].word;
}

uint32_t quantity_names(uint32_t quantity) {
        assert(quantity < _QUANTITY_MAX);

        return quantities[quantity].n_names;
}

typedef struct Reader {
        TermsKind kind;
        uint32_t n; /* the number of terms before this one */
        const char *text;
        int n_text; /* the bytes of this term in `text` */
        char words[WORDS_MAX][TERM_NAME_MAX];
        uint32_t n_words;
        char *message;
        size_t n_message;
} Reader;

__attribute__((format(printf, 2, 3))) static int complain(const Reader *reader, const char *format, ...) {
        va_list values;
        int n;

        n = snprintf(reader->message, reader->n_message, "term %u (\"%.*s\"): ", reader->n + 1,
                        reader->n_text, reader->text);
        if (n >= 0 && (size_t) n < reader->n_message) {
                va_start(values, format);
                (void) vsnprintf(reader->message + n, reader->n_message - (size_t) n, format, values);
                va_end(values);
        }
        return -EINVAL;
}

static int split(Reader *reader) {
        const char *end = reader->text + reader->n_text;

        reader->n_words = 0;
        for (const char *p = reader->text; p < end;) {
                size_t n = strcspn(p, " \t,");

                if (n >= TERM_NAME_MAX)
                        return complain(reader, "a word of %zu characters; the limit is %u", n,
                                        TERM_NAME_MAX - 1);
                if (reader->n_words == WORDS_MAX)
                        return complain(reader, "it has more than %d words; put a comma between two terms",
                                        WORDS_MAX);
                memcpy(reader->words[reader->n_words], p, n);
                reader->words[reader->n_words++][n] = 0;
                p += n;
                p += strspn(p, " \t");
        }
        return 0;
}

static uint32_t index_of(const char *word, const char *const *list, uint32_t n) {
        uint32_t i = 0;

        while (i < n && strcmp(list[i], word) != 0)
                i++;
        return i;
}

static int read_quantity(Reader *reader, uint32_t *at, Term *ret) {
        uint32_t transform = index_of(reader->words[0], transforms, _TERM_TRANSFORM_MAX);
        char known[256] = "";

        if (transform < _TERM_TRANSFORM_MAX && *transforms[transform])
                ret->transform = transform;
        *at = ret->transform != TERM_AS_IS;
        if (*at >= reader->n_words)
                return complain(reader, "a quantity must follow %s", transforms[ret->transform]);

        for (ret->quantity = 0; ret->quantity < _QUANTITY_MAX; ret->quantity++)
                if (strcmp(quantities[ret->quantity].word, reader->words[*at]) == 0)
                        break;
        if (ret->quantity == _QUANTITY_MAX) {
                for (uint32_t i = 0; i < _QUANTITY_MAX; i++)
                        (void) strncat(strncat(known, i > 0 ? " " : "", 2), quantities[i].word, 15);
                return complain(reader, "unknown quantity %s; known: %s", reader->words[*at], known);
        }
        if (reader->kind == TERMS_TERMINATE &&
                        (ret->quantity == QUANTITY_ALIVE || ret->quantity == QUANTITY_HEALTHY))
                return complain(reader, "%s can be part of the reward, but cannot end an episode",
                                reader->words[*at]);
        (*at)++;
        return 0;
}

static bool read_number(const char *word, double *ret) {
        char *end;

        *ret = strtod(word, &end);
        return end != word && !*end && fabs(*ret) <= TERM_LIMIT; /* written so that a NaN is refused */
}

static int read_rest(Reader *reader, uint32_t at, Term *ret) {
        const char *word = quantities[ret->quantity].word;
        static const char *const words[TERM_NAMES_MAX + 1] = { "", "one name and ", "two names and " };
        static const char *const examples[TERM_NAMES_MAX + 1] = { "", " NAME", " NAME NAME" };
        uint32_t n_names = quantities[ret->quantity].n_names, n_after = reader->kind == TERMS_REWARD ? 1 : 2;

        if (reader->n_words != at + n_names + n_after)
                return complain(reader, "%s is followed by %s%s, as in \"%s%s%s\"", word, words[n_names],
                                n_after == 1 ? "its weight" : "a comparison and a number", word,
                                examples[n_names], n_after == 1 ? " 0.5" : " < 0.5");

        for (uint32_t i = 0; i < n_names; i++)
                memcpy(ret->names[i], reader->words[at + i], TERM_NAME_MAX);
        at += n_names;
        if (reader->kind == TERMS_TERMINATE) {
                ret->comparison = index_of(reader->words[at], comparisons, _TERM_COMPARISON_MAX);
                if (ret->comparison == _TERM_COMPARISON_MAX)
                        return complain(reader,
                                        "%s is not a comparison; known: < <= > >=", reader->words[at]);
                at++;
        }
        if (!read_number(reader->words[at], &ret->number))
                return complain(reader, "%s is not a number up to a million", reader->words[at]);
        return 0;
}

int terms_parse(const char *text, TermsKind kind, Terms *ret, char *message, size_t n_message) {
        Reader reader = { .kind = kind, .message = message, .n_message = n_message };
        Terms terms = {};
        const char *p;
        int r;

        assert(text);
        assert(ret);
        assert(message);

        p = text + strspn(text, " \t");
        while (*p) {
                Term *term = &terms.terms[terms.n];
                uint32_t at;
                size_t n = strcspn(p, ",");

                reader.n = terms.n;
                reader.text = p;
                reader.n_text = (int) n;
                while (reader.n_text > 0 && strchr(" \t", p[reader.n_text - 1]))
                        reader.n_text--;
                if (terms.n == TERMS_MAX)
                        return complain(&reader, "more than %u terms", TERMS_MAX);
                if (reader.n_text == 0)
                        return complain(&reader, "a term is missing before or after a comma");
                r = split(&reader);
                if (r < 0)
                        return r;
                r = read_quantity(&reader, &at, term);
                if (r < 0)
                        return r;
                r = read_rest(&reader, at, term);
                if (r < 0)
                        return r;
                terms.n++;

                p += n;
                if (!*p)
                        break;
                p++;
                p += strspn(p, " \t");
                if (!*p) {
                        reader.n = terms.n;
                        reader.n_text = 0;
                        return complain(&reader, "a term is missing before or after a comma");
                }
        }
        *ret = terms;
        return 0;
}
