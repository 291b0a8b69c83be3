/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammar of Reward= and Terminate=: texts that it takes, and the sentence for each that it refuses. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/terms.h"

static Terms parsed(const char *text, TermsKind kind) {
        char message[512] = "";
        Terms terms;

        if (terms_parse(text, kind, &terms, message, sizeof(message)) < 0)
                g_error("%s: %s", text, message);
        return terms;
}

static void test_reward(void) {
        Terms t = parsed(" velocity slide 1.25,alive 1 ,\tabs control -1e-3, square distance a b:c/d 2 ",
                        TERMS_REWARD);

        g_assert_cmpuint(t.n, ==, 4);
        g_assert_cmpuint(t.terms[0].quantity, ==, QUANTITY_VELOCITY);
        g_assert_cmpstr(t.terms[0].names[0], ==, "slide");
        g_assert_cmpfloat(t.terms[0].number, ==, 1.25);
        g_assert_cmpuint(t.terms[1].quantity, ==, QUANTITY_ALIVE);
        g_assert_cmpuint(t.terms[2].transform, ==, TERM_ABS);
        g_assert_cmpfloat(t.terms[2].number, ==, -1e-3);
        g_assert_cmpuint(t.terms[3].transform, ==, TERM_SQUARE);
        g_assert_cmpstr(t.terms[3].names[0], ==, "a");
        g_assert_cmpstr(t.terms[3].names[1], ==, "b:c/d");
        g_assert_cmpuint(parsed("", TERMS_REWARD).n, ==, 0);
}

static void test_terminate(void) {
        Terms t = parsed("z torso < 0.7, abs position hinge >= 0.2, largest > 100, upright torso <= 0",
                        TERMS_TERMINATE);

        g_assert_cmpuint(t.n, ==, 4);
        g_assert_cmpuint(t.terms[0].comparison, ==, TERM_LESS);
        g_assert_cmpuint(t.terms[1].comparison, ==, TERM_GREATER_OR_EQUAL);
        g_assert_cmpuint(t.terms[1].transform, ==, TERM_ABS);
        g_assert_cmpuint(t.terms[2].comparison, ==, TERM_GREATER);
        g_assert_cmpuint(t.terms[3].comparison, ==, TERM_LESS_OR_EQUAL);
}

static void test_complaints(void) {
        static const struct {
                TermsKind kind;
                const char *text, *says;
        } cases[] = {
                { TERMS_REWARD, "alive 1, velocty slide 1",
                                "term 2 (\"velocty slide 1\"): unknown quantity velocty; known: alive "
                                "healthy control " },
                { TERMS_REWARD, "velocity 1",
                                "term 1 (\"velocity 1\"): velocity is followed by one name and its weight, "
                                "as in \"velocity NAME 0.5\"" },
                { TERMS_REWARD, "alive 1 2", "term 1 (\"alive 1 2\"): alive is followed by its weight" },
                { TERMS_REWARD, "alive x", "x is not a number up to a million" },
                { TERMS_REWARD, "alive nan", "nan is not a number" },
                { TERMS_REWARD, "alive inf", "inf is not a number" },
                { TERMS_REWARD, "alive 1e7", "1e7 is not a number" },
                { TERMS_REWARD, "alive 1,", "term 2 (\"\"): a term is missing before or after a comma" },
                { TERMS_REWARD, ",alive 1", "term 1 (\"\"): a term is missing" },
                { TERMS_REWARD, "alive 1,,alive 1", "term 2 (\"\"): a term is missing" },
                { TERMS_REWARD, "abs", "a quantity must follow abs" },
                { TERMS_REWARD, "z a < 1", "z is followed by one name and its weight" },
                { TERMS_TERMINATE, "z a 1",
                                "z is followed by one name and a comparison and a number, as in \"z NAME < "
                                "0.5\"" },
                { TERMS_TERMINATE, "z a = 1", "= is not a comparison; known: < <= > >=" },
                { TERMS_TERMINATE, "distance a < 1", "distance is followed by two names and a comparison" },
                { TERMS_TERMINATE, "alive > 0",
                                "alive can be part of the reward, but cannot end an episode" },
                { TERMS_TERMINATE, "healthy > 0",
                                "healthy can be part of the reward, but cannot end an episode" },
                { TERMS_REWARD, "a b c d e f g h i",
                                "it has more than 8 words; put a comma between two terms" },
                { TERMS_REWARD,
                                "alive 1,alive 1,alive 1,alive 1,alive 1,alive 1,alive 1,alive 1,alive "
                                "1,alive 1,alive 1,alive 1,alive 1,alive 1,alive 1,alive 1,alive 1",
                                "more than 16 terms" },
        };
        g_autofree char *longer = g_strnfill(64, 'q'), *text = g_strconcat("z ", longer, " 1", NULL);
        Terms untouched = { .n = 7 };
        char message[512];

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_assert_cmpint(terms_parse(cases[i].text, cases[i].kind, &untouched, message,
                                                sizeof(message)),
                                ==, -EINVAL);
                if (!strstr(message, cases[i].says))
                        g_error("%s: %s", cases[i].text, message);
        }
        g_assert_cmpint(terms_parse(text, TERMS_REWARD, &untouched, message, sizeof(message)), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "a word of 64 characters; the limit is 63"));
        g_assert_cmpuint(untouched.n, ==, 7);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/terms/reward", test_reward);
        g_test_add_func("/terms/terminate", test_terminate);
        g_test_add_func("/terms/complaints", test_complaints);
        return g_test_run();
}
