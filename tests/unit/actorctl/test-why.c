/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests how the reasons of a scheduler's decisions are shown: as sentences, and as lines that fit narrow and
 * wide screens. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "actorctl/view/why.h"
#include "include/charges.h"
#include "include/schedulers.h"

static char *const names[] = { "round", "actors", "before_actors", "reason", "charge", "share", "wanted",
        "progress", "money", "seen_before", "seen_progress", "seen_money", "expected_s", NULL };

enum { REQUESTS_ROW = 6 };

static void test_words(void) {
        const double grows[] = { 9, 8, 4, REASON_GROWS, REQUESTS_ROW, 0.612, NAN, 1.62, 1.81, 2, 1.7, 1.2,
                NAN },
                     stays[] = { 9, 8, 8, REASON_STAYS, REQUESTS_ROW, 0.612, NAN, NAN, NAN, NAN, NAN, NAN,
                             NAN },
                     back[] = { 9, 4, 8, REASON_TAKES_BACK, 0, 0.5, NAN, 0.9, 0.5, 4, 1.1, 1.9, NAN },
                     late[] = { 9, 8, 8, REASON_LATE, 0, 0.5, NAN, NAN, NAN, NAN, NAN, NAN, 95.25 },
                     starts[] = { 9, 2, 2, REASON_STARTS, 0, 0.5, 4, NAN, NAN, NAN, NAN, NAN, NAN },
                     other[] = { 9, 2, 1, REASON_NONE, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN },
                     settled[] = { 1, 12, NAN, REASON_SETTLED, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN },
                     first[] = { 1, 2, NAN, REASON_FIRST, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
        g_autofree char *text = NULL;

        text = why_words(names, grows, false, true);
        g_assert_cmpstr(text, ==,
                        "4 → 8 actors: requests are 61 % of a round's cost; the last doubling, from 2 to 4, "
                        "brought 1.7 × the progress for 1.2 × the money; expected: 1.6 × the progress for "
                        "1.8 × the money");
        g_free(text);
        text = why_words(names, back, false, false);
        g_assert_cmpstr(text, ==,
                        "8 -> 4 actors: the actors that were added last did not pay; actor execution is 50 "
                        "% of a round's cost; the last doubling, from 4 to 8, brought 1.1 x the progress "
                        "for 1.9 x the money; expected: 0.9 x the progress for 0.5 x the money");
        g_free(text);
        text = why_words(names, late, false, false);
        g_assert_nonnull(strstr(text,
                        "8 actors: Deadline= cannot be met: the fastest number of actors ends training "
                        "after 95.2 s"));
        g_free(text);
        text = why_words(names, first, false, false);
        g_assert_cmpstr(text, ==, "2 actors: it begins with MinActors=, before anything is measured");
        g_free(text);
        text = why_words(names, settled, false, false);
        g_assert_cmpstr(text, ==,
                        "12 actors: there is nothing to decide: a round costs the same with any number of "
                        "actors, so all of them act");
        g_free(text);
        text = why_words(names, starts, true, false);
        g_assert_nonnull(strstr(text,
                        "2 actors: 4 actors would be better, but starting them costs more than they save"));
        g_free(text);
        /* why_words() is silent if the number of actors stays the same, unless it is asked for all reasons.
         * It is always silent about schedulers that give no reasons. */
        text = why_words(names, stays, false, false);
        g_assert_null(text);
        text = why_words(names, stays, true, false);
        g_assert_nonnull(text);
        g_assert_null(why_words(names, other, true, false));
}

/* Each reason has a sentence. A row of an older daemon, without reasons, has none. */
static void test_all(void) {
        char *const few[] = { "round", "actors", NULL };
        const double row[] = { 1, 2 };

        for (double reason = REASON_FIRST; reason < _REASON_MAX; reason++) {
                const double one[] = { 9, 8, 4, reason, REQUESTS_ROW, 0.6, 4, 1.6, 1.8, 2, 1.7, 1.2, 10 };
                g_autofree char *text = why_words(names, one, true, true);

                g_assert_nonnull(text);
                g_assert_cmpuint(strlen(text), >, 20);
        }
        g_assert_null(why_words(few, row, true, true));
}

static void test_wrap(void) {
        const double grows[] = { 9, 8, 4, REASON_GROWS, REQUESTS_ROW, 0.612, NAN, 1.62, 1.81, 2, 1.7, 1.2,
                NAN };
        g_autofree char *text = why_words(names, grows, false, true);
        static const unsigned widths[] = { 60, 80, 120 };

        for (size_t i = 0; i < G_N_ELEMENTS(widths); i++) {
                g_autoptr(GString) to = g_string_new(NULL);
                g_auto(GStrv) lines = NULL;

                text_wrap(to, "round 123: ", text, widths[i]);
                lines = g_strsplit(to->str, "\n", -1);
                g_assert_cmpuint(g_strv_length(lines), >, 1);
                for (char **line = lines; *line; line++)
                        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, widths[i]);
                g_assert_true(g_str_has_prefix(lines[1], "           ") || lines[1][0] == '\0');
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/why/words", test_words);
        g_test_add_func("/why/all", test_all);
        g_test_add_func("/why/wrap", test_wrap);
        return g_test_run();
}
