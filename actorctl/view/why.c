/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/why.h"

#include <math.h>

#include "actorctl/bus.h"
#include "include/charges.h"
#include "include/schedulers.h"
#include "lib/cleanup.h"

static const char *const charge_words[] = {
#define X(name, word, ...) word,
        CHARGES(X)
#undef X
};

/* A figure of a decision. NaN: an older daemon does not have it. */
static double figure(char *const *names, const double *row, const char *name) {
        int column = bus_column(names, name);

        return column < 0 ? NAN : row[column];
}

static void append_part(GString *text, const char *part) {
        if (text->len > 0)
                g_string_append(text, "; ");
        g_string_append(text, part);
}

/* Appends the largest part of a round's cost: "requests are 61 % of a round's cost". */
static void append_charge(GString *text, char *const *names, const double *row) {
        double charge = figure(names, row, "charge"), share = figure(names, row, "share");
        size_t n = ELEMENTSOF(charge_words);
        g_autofree char *part = NULL, *word = NULL;

        if (!(charge >= 0) || charge >= (double) n || !(share > 0))
                return;
        word = g_strdelimit(g_strdup(charge_words[(size_t) charge]), "-", ' ');
        part = g_strdup_printf("%s %s %.0f %% of a round's cost", word,
                        g_str_has_suffix(word, "s") ? "are" : "is", share * 100);
        append_part(text, part);
}

static char *change_words(double progress, double money, const char *times) {
        return g_strdup_printf("%.2g %s the progress for %.2g %s the money", progress, times, money, times);
}

/* Appends the effect of the last change of the number of actors, and the expected effect of the new one. */
static void append_changes(GString *text, char *const *names, const double *row, const char *times) {
        double now = figure(names, row, "before_actors"), before = figure(names, row, "seen_before"),
               progress = figure(names, row, "progress"), seen = figure(names, row, "seen_progress");

        if (before > 0 && seen >= 0) {
                g_autofree char *words = change_words(seen, figure(names, row, "seen_money"), times);
                g_autofree char *part = g_strdup_printf("%s, from %.0f to %.0f, brought %s",
                                now == 2 * before ? "the last doubling" : "the last change", before, now,
                                words);

                append_part(text, part);
        }
        if (progress > 0) {
                g_autofree char *words = change_words(progress, figure(names, row, "money"), times);
                g_autofree char *part = g_strdup_printf("expected: %s", words);

                append_part(text, part);
        }
}

static char *starts_words(char *const *names, const double *row) {
        return g_strdup_printf("%.0f actors would be better, but starting them costs more than they save",
                        figure(names, row, "wanted"));
}

static char *late_words(char *const *names, const double *row) {
        return g_strdup_printf(
                        "Deadline= cannot be met: the fastest number of actors ends training after %.3g s",
                        figure(names, row, "expected_s"));
}

static void append_reason(GString *text, enum Reason_ reason, char *const *names, const double *row) {
        g_autofree char *part = NULL;

        switch (reason) {
        case REASON_FIRST:
                append_part(text, "it begins with MinActors=, before anything is measured");
                return;
        case REASON_SETTLED:
                append_part(text, "there is nothing to decide: a round costs the same with any number of "
                                  "actors, so all of them act");
                return;
        case REASON_LOOKS: append_part(text, "this number of actors is still being measured"); return;
        case REASON_STAYS: append_part(text, "no other number of actors is better by enough"); return;
        case REASON_STARTS:
                part = starts_words(names, row);
                append_part(text, part);
                return;
        case REASON_TAKES_BACK: append_part(text, "the actors that were added last did not pay"); return;
        case REASON_LATE:
                part = late_words(names, row);
                append_part(text, part);
                return;
        case REASON_NONE:
        case REASON_GROWS:
        case REASON_SHRINKS:
        case _REASON_MAX: return;
        }
}

char *why_words(char *const *names, const double *row, bool all, bool utf8) {
        double code = figure(names, row, "reason"), before = figure(names, row, "before_actors"),
               actors = figure(names, row, "actors");
        g_autoptr(GString) reasons = g_string_new(NULL);
        enum Reason_ reason;

        if (!(code > 0) || code >= _REASON_MAX)
                return NULL;
        reason = (enum Reason_) code;
        if (!all && actors == before && reason != REASON_LATE)
                return NULL;
        append_reason(reasons, reason, names, row);
        append_charge(reasons, names, row);
        append_changes(reasons, names, row, utf8 ? "\303\227" : "x");
        if (!(before > 0) || before == actors)
                return g_strdup_printf("%.0f actor%s: %s", actors, actors == 1 ? "" : "s", reasons->str);
        return g_strdup_printf("%.0f %s %.0f actors: %s", before, utf8 ? "\342\206\222" : "->", actors,
                        reasons->str);
}

void text_wrap(GString *to, const char *first, const char *text, unsigned columns) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        glong indent = g_utf8_strlen(first, -1), column = indent;

        g_string_append(to, first);
        for (char **word = words; *word; word++) {
                glong width = g_utf8_strlen(*word, -1);

                if (word > words && column + 1 + width > (glong) columns) {
                        g_string_append_printf(to, "\n%*s", (int) indent, "");
                        column = indent;
                } else if (word > words) {
                        g_string_append_c(to, ' ');
                        column++;
                }
                g_string_append(to, *word);
                column += width;
        }
        g_string_append_c(to, '\n');
}
