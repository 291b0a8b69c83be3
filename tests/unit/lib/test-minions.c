/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the trained scheduler: its features, its file, and its decision, which the test also computes in
 * plain loops. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/elementary.h"
#include "lib/forward.h"
#include "lib/minions.h"

enum { N_CHOICES = 7 }; /* odd, so that the struct File has no padding at its end */

static const MinionsFacts usual = {
        .round = 20,
        .loss = -1,
        .return_mean = 150,
        .kl = 0.01,
        .learner_nsec = 1000000,
        .actor_mean_nsec = 99000000,
        .round_nsec = 999000000,
        .budget_left = 0.25,
};

static void test_features(void) {
        float x[MINIONS_N_FEATURES];

        minions_features(&usual, 475, x);
        g_assert_cmpfloat(x[MINIONS_ROUND], ==, 0.5f);
        g_assert_cmpfloat(x[MINIONS_LOSS], ==, -0.5f);
        g_assert_cmpfloat(x[MINIONS_RETURN], ==, (float) (150.0 / 625.0));
        g_assert_cmpfloat(x[MINIONS_KL], ==, 0.5f);
        g_assert_cmpfloat_with_epsilon(x[MINIONS_LEARNER_TIME], log10(2) / 6, 1e-6);
        g_assert_cmpfloat_with_epsilon(x[MINIONS_ACTOR_TIME], 2.0 / 6, 1e-6);
        g_assert_cmpfloat_with_epsilon(x[MINIONS_ROUND_TIME], 3.0 / 6, 1e-6);
        g_assert_cmpfloat(x[MINIONS_BUDGET], ==, 0.25f);
}

/* Any figures of a job, also infinite ones, become bounded features for the network. */
static void test_features_bounded(void) {
        static const double strange[] = { 0, -0.0, 1, -1, 1e-300, 1e300, -1e300, INFINITY, -INFINITY, NAN };
        static const uint64_t times[] = { 0, 1, UINT64_MAX };

        for (size_t i = 0; i < G_N_ELEMENTS(strange); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(times); k++)
                        for (double target = -475; target <= 475; target += 475) {
                                MinionsFacts facts = { times[k], strange[i], strange[i], strange[i],
                                        times[k], times[k], times[k], strange[i] };
                                float x[MINIONS_N_FEATURES];

                                minions_features(&facts, target, x);
                                for (unsigned f = 0; f < MINIONS_N_FEATURES; f++) {
                                        g_assert_cmpfloat(x[f], >=, -1);
                                        g_assert_cmpfloat(x[f], <=, 1);
                                }
                        }
}

static void test_features_begin(void) {
        static const float expected[MINIONS_N_FEATURES] = { [MINIONS_RETURN] = -1, [MINIONS_BUDGET] = 1 };
        float x[MINIONS_N_FEATURES];
        MinionsFacts facts = usual;

        facts.round = 0;
        minions_features(&facts, 475, x);
        for (unsigned f = 0; f < MINIONS_N_FEATURES; f++)
                g_assert_cmpfloat(x[f], ==, expected[f]);
}

static void test_statistics(void) {
        JobSettings settings = { .value_weight = 0.5, .entropy_weight = 0.1, .stop_steps = 1000 };
        Statistics s = { .loss_policy = 1,
                .loss_value = 4,
                .entropy = 10,
                .n_env_steps = 250,
                .evaluation_mean = 7,
                .return_round = 3 };

        g_assert_cmpfloat(minions_loss(&settings, &s), ==, 2);
        g_assert_cmpfloat(minions_steps_left(&settings, &s), ==, 0.75);
        g_assert_cmpfloat(minions_return(&s, true, 1), ==, 7);
        g_assert_cmpfloat(minions_return(&s, false, 1), ==, 3);
        /* between two evaluations */
        s.evaluation_mean = NAN;
        g_assert_cmpfloat(minions_return(&s, true, 1), ==, 1);
        s.return_round = NAN;
        g_assert_cmpfloat(minions_return(&s, false, 1), ==, 1);
}

typedef struct File {
        MinionsModel model;
        float parameters[MINIONS_PARAMETERS(N_CHOICES)];
} File;

static File *file_new(void) {
        File *file = g_new0(File, 1);

        file->model = (MinionsModel){
                .magic = MINIONS_MAGIC,
                .abi = MINIONS_ABI,
                .struct_bytes = sizeof(MinionsModel),
                .n_choices = N_CHOICES,
                .target = 475,
                .job = "cartpole.conf",
        };
        g_assert_cmpuint(sizeof(*file), ==, sizeof(MinionsModel) + MINIONS_PARAMETERS(N_CHOICES) * 4);
        return file;
}

static void check_refused(const void *data, size_t n, const char *word) {
        const char *reason = NULL;

        g_assert_cmpint(minions_check(data, n, &reason), ==, -EBADMSG);
        g_assert_nonnull(strstr(reason, word));
}

static void test_truncated(void) {
        g_autofree File *file = file_new();
        const char *reason;

        g_assert_cmpint(minions_check(file, sizeof(*file), &reason), ==, 0);
        for (size_t n = 0; n < sizeof(*file); n++) {
                /* A copy of exactly this size, so that AddressSanitizer sees a read beyond its end. */
                g_autofree void *cut = g_memdup2(file, n);

                check_refused(cut, n, n < sizeof(MinionsModel) ? "too short" : "cut short");
        }
        g_autofree char *longer = g_malloc0(sizeof(*file) + 4);
        memcpy(longer, file, sizeof(*file));
        check_refused(longer, sizeof(*file) + 4, "added");
}

static void test_hostile(void) {
        static const double bad[] = { NAN, INFINITY, -INFINITY };
        /* Not UTF-8: a continuation byte alone, incomplete characters, overlong ones, a surrogate, a number
         * beyond the last character. Then UTF-8 with control characters. */
        static const char *const no_text[] = { "\x80", "a\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "\xe2\x82", "a\nb", "\x1b[2J",
                "\xc2\x9b"
                "2J" };
        static const char *const text[] = { "", "~ a", "\xc2\xa0", "\xc3\xa4.conf", "\xe2\x82\xac",
                "\xed\x9f\xbf", "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf" };
        const char *reason;
        g_autofree File *file = file_new();
        File good = *file;

#define TRY(change, word)                                 \
        do {                                              \
                *file = good;                             \
                change;                                   \
                check_refused(file, sizeof(*file), word); \
        } while (0)
        TRY(file->model.magic++, "not a trained scheduler");
        TRY(file->model.abi++, "another version");
        TRY(file->model.struct_bytes++, "another version");
        TRY(file->model.n_choices = 0, "choices");
        TRY(file->model.n_choices = ACTORS_MAX + 1, "choices");
        TRY(file->model.n_choices = UINT32_MAX, "choices");
        TRY(file->model.n_choices++, "size");
        TRY(file->model.n_choices--, "size");
        TRY(memset(file->model.job, 'x', sizeof(file->model.job)), "no end");
        TRY(memset(file->model.start, 'x', sizeof(file->model.start)), "no end");
        TRY(memset(file->model.price_sheet, 'x', sizeof(file->model.price_sheet)), "no end");
        for (size_t i = 0; i < G_N_ELEMENTS(no_text); i++)
                TRY(strcpy(file->model.job, no_text[i]), "not text");
        for (size_t i = 0; i < G_N_ELEMENTS(text); i++) {
                *file = good;
                strcpy(file->model.job, text[i]);
                g_assert_cmpint(minions_check(file, sizeof(*file), &reason), ==, 0);
                g_assert_true(g_utf8_validate(text[i], -1, NULL));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                TRY(file->model.target = bad[i], "finite");
                TRY(file->model.cost_full = bad[i], "finite");
                TRY(file->model.start_full = bad[i], "finite");
                TRY(file->parameters[0] = (float) bad[i], "finite");
                TRY(file->parameters[G_N_ELEMENTS(file->parameters) - 1] = (float) bad[i], "finite");
        }
        TRY(file->model.cost_paper = -1e-9, "negative");
        TRY(file->model.cost_full = -1, "negative");
        TRY(file->model.start_paper = -1, "negative");
        TRY(file->model.start_full = -1e300, "negative");
        *file = good;
        file->model.target = -200;
        file->model.cost_full = file->model.start_full = 0.5;
        g_assert_cmpint(minions_check(file, sizeof(*file), &reason), ==, 0);
}

/* One dense layer of the file, in plain loops. */
static const float *dense(
                const float *p, const float *x, unsigned n_in, unsigned n_out, bool hidden, float *ret) {
        for (unsigned o = 0; o < n_out; o++) {
                float sum = 0;

                for (unsigned i = 0; i < n_in; i++)
                        sum += p[o * n_in + i] * x[i];
                sum += p[n_in * n_out + o];
                ret[o] = hidden ? elementary_tanh(sum) : sum;
        }
        return p + n_in * n_out + n_out;
}

static uint32_t decide_by_hand(const File *file, const float *x) {
        float a[MINIONS_UNITS], b[MINIONS_UNITS], y[N_CHOICES];
        const float *p = dense(file->parameters, x, MINIONS_N_FEATURES, MINIONS_UNITS, true, a);
        uint32_t best = 0;

        p = dense(p, a, MINIONS_UNITS, MINIONS_UNITS, true, b);
        (void) dense(p, b, MINIONS_UNITS, N_CHOICES, false, y);
        for (uint32_t i = 1; i < N_CHOICES; i++)
                if (y[i] > y[best])
                        best = i;
        return best + 1;
}

static void test_decide(void) {
        g_autofree File *file = file_new();
        g_autoptr(GRand) rand = g_rand_new_with_seed(7);
        unsigned seen[N_CHOICES + 1] = {};

        for (unsigned k = 0; k < 200; k++) {
                float x[MINIONS_N_FEATURES];
                uint32_t count;

                if (k % 20 == 0)
                        for (size_t i = 0; i < G_N_ELEMENTS(file->parameters); i++)
                                file->parameters[i] = (float) g_rand_double_range(rand, -0.5, 0.5);
                for (unsigned i = 0; i < MINIONS_N_FEATURES; i++)
                        x[i] = (float) g_rand_double_range(rand, -1, 1);
                g_assert_cmpint(minions_decide(file, sizeof(*file), x, &count), ==, 0);
                g_assert_cmpuint(count, ==, decide_by_hand(file, x));
                seen[count]++;
        }
        for (unsigned i = 1; i <= N_CHOICES; i++)
                g_assert_cmpuint(seen[i], >, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/minions/features", test_features);
        g_test_add_func("/minions/features/bounded", test_features_bounded);
        g_test_add_func("/minions/features/begin", test_features_begin);
        g_test_add_func("/minions/statistics", test_statistics);
        g_test_add_func("/minions/file/truncated", test_truncated);
        g_test_add_func("/minions/file/hostile", test_hostile);
        g_test_add_func("/minions/decide", test_decide);
        return g_test_run();
}
