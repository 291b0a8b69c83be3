/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the generator with the published known-answer vectors, the packing of stream names, and the
 * distributions. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/normals.h"
#include "lib/rng.h"
#include "lib/width.h"

/* Random123's kat_vectors file, the three lines "philox4x32 10". */
static const struct {
        uint32_t counter[4], key[2], expected[4];
} known_answers[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
                        { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
                        { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

typedef struct StreamName {
        uint32_t purpose, slot;
        uint64_t ordinal;
        uint32_t step;
} StreamName;

static void pack(const StreamName *name, uint32_t ret[4]) {
        random_pack((RandomPurpose) name->purpose, name->slot, name->ordinal, name->step, ret);
}

/* The inverse of random_pack(). It can exist only because no two names have the same counter. */
static StreamName unpack(const uint32_t counter[4]) {
        return (StreamName){
                .purpose = counter[1] >> 24,
                .slot = counter[2] & RANDOM_SLOT_MAX,
                .ordinal = (uint64_t) counter[3] << 8 | counter[2] >> 24,
                .step = counter[1] & RANDOM_STEP_MAX,
        };
}

static void assert_packs(const StreamName *name) {
        uint32_t counter[4];
        StreamName back;

        pack(name, counter);
        back = unpack(counter);
        g_assert_cmpuint(counter[0], ==, 0);
        g_assert_cmpuint(back.purpose, ==, name->purpose);
        g_assert_cmpuint(back.slot, ==, name->slot);
        g_assert_cmpuint(back.ordinal, ==, name->ordinal);
        g_assert_cmpuint(back.step, ==, name->step);
}

static void test_known_answers(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(known_answers); i++) {
                uint32_t got[4];

                philox4x32(known_answers[i].counter, known_answers[i].key, got);
                g_assert_cmpmem(got, sizeof(got), known_answers[i].expected, sizeof(got));
        }
}

static void test_pack_extremes(void) {
        static const uint32_t slots[] = { 0, 1, 0xff, 0x100, RANDOM_SLOT_MAX };
        static const uint64_t ordinals[] = { 0, 1, 0xff, 0x100, UINT32_MAX, RANDOM_ORDINAL_MAX };
        static const uint32_t steps[] = { 0, 1, 0xffff, RANDOM_STEP_MAX };

        for (uint32_t purpose = 1; purpose < _RANDOM_PURPOSE_MAX; purpose++)
                for (size_t s = 0; s < G_N_ELEMENTS(slots); s++)
                        for (size_t o = 0; o < G_N_ELEMENTS(ordinals); o++)
                                for (size_t t = 0; t < G_N_ELEMENTS(steps); t++)
                                        assert_packs(&(StreamName){
                                                        purpose, slots[s], ordinals[o], steps[t] });
}

static void test_pack_random(void) {
        for (int i = 0; i < 100000; i++)
                assert_packs(&(StreamName){
                                .purpose = (uint32_t) g_test_rand_int_range(1, _RANDOM_PURPOSE_MAX),
                                .slot = (uint32_t) g_test_rand_int() & RANDOM_SLOT_MAX,
                                .ordinal = ((uint64_t) (uint32_t) g_test_rand_int() << 8 |
                                                ((uint32_t) g_test_rand_int() & 0xff)),
                                .step = (uint32_t) g_test_rand_int() & RANDOM_STEP_MAX,
                });
}

/* Draws from streams whose names differ by one in a field, as a job's streams do. All blocks must differ. */
static void test_streams_differ(void) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(
                        g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);

        for (uint32_t purpose = 1; purpose < _RANDOM_PURPOSE_MAX; purpose++)
                for (uint32_t slot = 0; slot < 8; slot++)
                        for (uint32_t ordinal = 0; ordinal < 8; ordinal++)
                                for (uint32_t step = 0; step < 8; step++) {
                                        ActordRandom random;

                                        random_begin(&random, 7, (RandomPurpose) purpose, slot, ordinal,
                                                        step);
                                        for (int block = 0; block < 2; block++) {
                                                uint32_t words[4];

                                                for (int i = 0; i < 4; i++)
                                                        words[i] = actord_random_u32(&random);
                                                g_assert_true(g_hash_table_add(
                                                                seen, g_bytes_new(words, sizeof(words))));
                                        }
                                }
}

static void test_stream_is_a_function_of_its_name(void) {
        ActordRandom a, b, other;
        uint32_t raw[4], counter[4];

        random_begin(&a, 0x0123456789abcdef, RANDOM_RESET, 5, 77, 3);
        random_begin(&b, 0x0123456789abcdef, RANDOM_RESET, 5, 77, 3);
        random_begin(&other, 0x1123456789abcdef, RANDOM_RESET, 5, 77, 3);

        /* The draws are the words of the blocks, in order. Word 0 of the counter is the block's number. */
        random_pack(RANDOM_RESET, 5, 77, 3, counter);
        for (uint32_t block = 0; block < 3; block++) {
                counter[0] = block;
                philox4x32(counter, (uint32_t[]){ 0x89abcdef, 0x01234567 }, raw);
                for (int i = 0; i < 4; i++) {
                        uint32_t x = actord_random_u32(&a);

                        g_assert_cmphex(x, ==, raw[i]);
                        g_assert_cmphex(x, ==, actord_random_u32(&b));
                        g_assert_cmphex(x, !=, actord_random_u32(&other));
                }
        }
}

static void test_uniform(void) {
        enum { N = 200000, BINS = 50 };
        unsigned bins[BINS] = {};
        double sum = 0, chi2 = 0;
        ActordRandom random;

        random_begin(&random, 1, RANDOM_STEP, 0, 0, 0);
        for (int i = 0; i < N; i++) {
                double x = actord_random_uniform(&random, -2, 3);

                g_assert_true(x >= -2 && x < 3);
                sum += x;
                bins[(int) ((x + 2) / 5 * BINS)]++;
        }
        for (int i = 0; i < BINS; i++)
                chi2 += pow(bins[i] - (double) N / BINS, 2) / ((double) N / BINS);

        /* The mean is within five standard deviations, and chi-squared is below its 0.9999 quantile for 49
         * degrees of freedom. */
        g_assert_cmpfloat(fabs(sum / N - 0.5), <, 5 * 5 / sqrt(12.0 * N));
        g_assert_cmpfloat(chi2, <, 94);
}

static void test_uniform_stays_below_its_bound(void) {
        ActordRandom random;
        double low = 1, high = nextafter(1, 2);

        /* There is no double between low and high, and a draw must be below high. */
        random_begin(&random, 1, RANDOM_STEP, 0, 0, 1);
        for (int i = 0; i < 1000; i++)
                g_assert_true(actord_random_uniform(&random, low, high) == low);
        g_assert_true(actord_random_uniform(&random, 4, 4) == 4);
}

static void test_normal(void) {
        enum { N = 200000 };
        double sum = 0, squares = 0, fourth = 0;
        ActordRandom random;

        random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < N; i++) {
                double x = actord_random_normal(&random);

                g_assert_true(isfinite(x));
                sum += x;
                squares += x * x;
                fourth += x * x * x * x;
        }

        /* The means are within five standard deviations: x, x^2 and x^4 have the variances 1, 2 and 96. */
        g_assert_cmpfloat(fabs(sum / N), <, 5 / sqrt(N));
        g_assert_cmpfloat(fabs(squares / N - 1), <, 5 * sqrt(2.0 / N));
        g_assert_cmpfloat(fabs(fourth / N - 3), <, 5 * sqrt(96.0 / N));
}

static void test_below(void) {
        enum { N = 120000, SIDES = 6 };
        unsigned sides[SIDES] = {}, high = 0;
        ActordRandom random;

        random_begin(&random, 3, RANDOM_SHUFFLE, 0, 0, 0);
        for (int i = 0; i < N; i++)
                sides[random_below(&random, SIDES)]++;
        for (int i = 0; i < SIDES; i++)
                g_assert_cmpfloat(fabs(sides[i] - N / 6.0), <, 5 * sqrt(N * 5.0 / 36));

        /* For n = 3 * 2^30, half of the numbers of a plain modulus would be in the lowest third of the
         * range. */
        for (int i = 0; i < N; i++)
                high += random_below(&random, UINT32_C(3) << 30) >= UINT32_C(1) << 30;
        g_assert_cmpfloat(fabs(high - N * 2 / 3.0), <, 5 * sqrt(N * 2.0 / 9));

        g_assert_cmpuint(random_below(&random, 1), ==, 0);
}

enum { ROWS = 37, NUMBERS = 5, STRIDE = 40 };

/* Draws for some of the rows at once, and compares the numbers with those that each row draws alone. No
 * other number is written. */
static void compare_rows(uint64_t seed, const uint32_t slots[ROWS], uint32_t n_rows) {
        float many[NUMBERS * STRIDE], expected[NUMBERS * STRIDE];

        for (uint32_t k = 0; k < NUMBERS * STRIDE; k++)
                many[k] = expected[k] = -99.0f;
        for (uint32_t i = 0; i < n_rows; i++) {
                ActordRandom random, skipped;

                random_begin(&random, seed, RANDOM_POLICY, slots[i], RANDOM_ORDINAL_MAX, RANDOM_STEP_MAX);
                skipped = random;
                for (uint32_t k = 0; k < NUMBERS; k++)
                        expected[k * STRIDE + i] = (float) actord_random_normal(&random);
                random_skip_normals(&skipped, NUMBERS);
                g_assert_cmpuint(actord_random_u32(&skipped), ==, actord_random_u32(&random));
        }
        random_normals(seed, RANDOM_POLICY, slots, n_rows, RANDOM_ORDINAL_MAX, RANDOM_STEP_MAX, NUMBERS,
                        many, STRIDE);
        g_assert_cmpmem(many, sizeof(many), expected, sizeof(expected));
}

/* With any width of vectors and any number of rows, rows that draw at once draw the same bits. */
static void test_rows(void) {
        uint32_t slots[ROWS];

        for (uint32_t i = 0; i < ROWS; i++)
                slots[i] = RANDOM_SLOT_MAX - i * 77777;
        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                for (uint32_t n_rows = 0; n_rows <= ROWS; n_rows++)
                        compare_rows(UINT64_C(1) << 63 | n_rows, slots, n_rows);
                /* so many that all quarters of a turn, exponents and signs have come up */
                for (uint64_t seed = 0; seed < 2000; seed++)
                        compare_rows(seed, slots, ROWS);
        }
}

/* With any width, one stream gives the numbers that it gives one by one, and goes on after them. */
static void test_sequence(void) {
        enum { MOST = 70, GUARD = 16 };

        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                for (uint32_t n = 0; n <= MOST; n++) {
                        float many[MOST + GUARD], expected[MOST + GUARD];
                        ActordRandom random, reference;

                        random_begin(&random, n, RANDOM_ACTION, RANDOM_SLOT_MAX, 1, n);
                        for (uint32_t k = 0; k < n % 4; k++)
                                (void) actord_random_normal(&random);
                        reference = random;
                        for (uint32_t k = 0; k < MOST + GUARD; k++)
                                many[k] = expected[k] = -99.0f;
                        for (uint32_t k = 0; k < n; k++)
                                expected[k] = (float) actord_random_normal(&reference);
                        random_draw_normals(&random, n, many);
                        g_assert_cmpmem(many, sizeof(many), expected, sizeof(expected));
                        g_assert_cmpuint(actord_random_u32(&random), ==, actord_random_u32(&reference));
                }
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/rng/known-answers", test_known_answers);
        g_test_add_func("/rng/pack/extremes", test_pack_extremes);
        g_test_add_func("/rng/pack/random", test_pack_random);
        g_test_add_func("/rng/streams-differ", test_streams_differ);
        g_test_add_func("/rng/function-of-its-name", test_stream_is_a_function_of_its_name);
        g_test_add_func("/rng/uniform", test_uniform);
        g_test_add_func("/rng/uniform-bound", test_uniform_stays_below_its_bound);
        g_test_add_func("/rng/normal", test_normal);
        g_test_add_func("/rng/rows", test_rows);
        g_test_add_func("/rng/sequence", test_sequence);
        g_test_add_func("/rng/below", test_below);

        return g_test_run();
}
