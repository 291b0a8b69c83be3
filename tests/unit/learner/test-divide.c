/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loss of an actor-critic is divided into the value's part and the policy's. */
#include "tests/unit/tape-fixture.h"

/* Two losses that share a column; `value` and `other` say whether the tape has the one and the other. */
static void record_halves(Tape *t, bool value, bool other) {
        Node c, ratio, x, moved;

        tape_begin(t);
        c = tape_column(t, COLUMN_ADVANTAGE);
        if (other) {
                ratio = tape_exp(t, tape_term_late(t, TERM_LOG_PROBABILITY));
                x = tape_min(t, tape_multiply(t, c, tape_clip(t, ratio, 0.2)), tape_multiply(t, c, ratio));
                tape_loss(t, x, -1);
                tape_sum(t, 0, x, -1);
                tape_loss(t, tape_divergence_by_exp(t, ratio), 0.5);
        }
        if (value) {
                moved = tape_subtract(t, tape_term(t, TERM_VALUE), c);
                x = tape_where(t, tape_exceeds(t, tape_abs(t, moved), 0.3), tape_half_square(t, moved),
                                moved);
                tape_loss(t, x, 0.7);
                tape_sum(t, 1, x, 1);
        }
        if (other)
                tape_loss(t, tape_term(t, TERM_ENTROPY), -0.01);
}

/* The two parts of a tape compute what the tape computes, bit for bit. Both have the column that they
 * read. */
static void test_divide(void) {
        Bench whole, value, other;
        Tape tape, parts[2];

        record_halves(&tape, true, true);
        g_assert_true(tape_divide(&tape, parts));
        g_assert_cmpuint(parts[0].n_nodes + parts[1].n_nodes, ==, tape.n_nodes + 1);
        bench_fill(&whole);
        bench_execute(&whole, &tape, ROWS);
        bench_fill(&value);
        bench_execute(&value, &parts[0], ROWS);
        bench_fill(&other);
        bench_execute(&other, &parts[1], ROWS);

        g_assert_cmpmem(whole.d_terms[TERM_VALUE], sizeof(whole.d_terms[0]), value.d_terms[TERM_VALUE],
                        sizeof(whole.d_terms[0]));
        for (unsigned k = TERM_LOG_PROBABILITY; k <= TERM_ENTROPY; k++)
                g_assert_cmpmem(whole.d_terms[k], sizeof(whole.d_terms[0]), other.d_terms[k],
                                sizeof(whole.d_terms[0]));
        g_assert_true(whole.sums[0] == other.sums[0] && whole.sums[1] == value.sums[1]);
        g_assert_true(value.sums[0] == 0 && other.sums[1] == 0);
}

static void test_indivisible(void) {
        Tape tape, parts[2];

        /* One part would be empty. */
        record_halves(&tape, true, false);
        g_assert_false(tape_divide(&tape, parts));
        record_halves(&tape, false, true);
        g_assert_false(tape_divide(&tape, parts));

        record_halves(&tape, true, true);
        tape_loss(&tape, tape_multiply(&tape, tape_term(&tape, TERM_VALUE), tape_term(&tape, TERM_ENTROPY)),
                        1);
        g_assert_false(tape_divide(&tape, parts));

        record_halves(&tape, true, true);
        tape_sum(&tape, 1, tape_add(&tape, tape_term(&tape, TERM_VALUE), tape_term(&tape, TERM_ENTROPY)), 1);
        g_assert_false(tape_divide(&tape, parts));

        /* Both parts would add to sum 1. */
        record_halves(&tape, true, true);
        tape_sum(&tape, 1, tape_term(&tape, TERM_ENTROPY), 1);
        g_assert_false(tape_divide(&tape, parts));
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/divide/parts", test_divide);
        g_test_add_func("/divide/indivisible", test_indivisible);
        return g_test_run();
}
