/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests sweeps without a daemon: the drawn values, which trials go on, and which the budget allows; whole
 * sweeps of made-up jobs that end in any order and are interrupted; and the refusal of wrong files. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "actorctl/experiment/parallel.h"
#include "actorctl/experiment/sweep.h"

static char *directory;

#define HEAD    "[Experiment]\nJob=job.conf\nSeeds=1-3\n"
#define RANGES  "[Range]\nLearner.LearningRate=log 1e-5 1e-1\nLearner.Epochs=int 1 20\n"
#define HALVING "[Sweep]\nMethod=halving\nTrials=27\nMinSteps=1000\nMaxSteps=9000\nMetric=return_last5\n"

static void test_draw(void) {
        static const char *const words[] = { "log 1e-4 1e-2", "uniform 0.9 0.999", "int 1 8",
                "choice tanh relu mish", "choice 64 64; 32 32" };
        /* The values of trials 1 to 4 with seed 7. They must be the same on every host, for ever. */
        static const char *const expected[G_N_ELEMENTS(words)] = {
                "0.00755 | 0.0006366 | 0.0001332 | 0.0007284", "0.992959 | 0.939791 | 0.906168 | 0.942688",
                "8 | 4 | 1 | 4", "mish | relu | tanh | relu", "32 32 | 64 64 | 64 64 | 64 64"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                g_autofree char *reason = NULL;
                g_autoptr(GString) drawn = g_string_new(NULL);
                Range *range = range_parse("Learner.Gamma", words[i], &reason);
                g_autoptr(Sweep) sweep = sweep_new();

                g_assert_nonnull(range);
                g_ptr_array_add(sweep->ranges, range);
                for (uint64_t trial = 1; trial <= 4; trial++) {
                        g_autofree char *value = range_draw(range, 7, trial);

                        g_string_append_printf(drawn, "%s%s", trial > 1 ? " | " : "", value);
                }
                g_assert_cmpstr(drawn->str, ==, expected[i]);
        }
}

/* All draws lie in their range and use all of it. The decades of a log range get about equally many
 * draws. */
static void test_spread(void) {
        g_autofree char *reason = NULL;
        g_autoptr(Sweep) sweep = sweep_new();
        unsigned decades[3] = {}, ints[5] = {};

        g_ptr_array_add(sweep->ranges, range_parse("A.Log", "log 1e-4 1e-1", &reason));
        g_ptr_array_add(sweep->ranges, range_parse("A.Int", "int -2 2", &reason));
        for (uint64_t trial = 1; trial <= 3000; trial++) {
                g_autofree char *real = range_draw(sweep_range(sweep, 0), 1, trial),
                                *whole = range_draw(sweep_range(sweep, 1), 1, trial);
                double value = g_ascii_strtod(real, NULL);

                g_assert_true(value >= 1e-4 && value <= 1e-1);
                decades[MIN((size_t) floor(log10(value) + 4), 2)]++;
                ints[atoi(whole) + 2]++;
        }
        for (size_t i = 0; i < 3; i++)
                g_assert_cmpuint(decades[i], >, 900);
        for (size_t i = 0; i < 5; i++)
                g_assert_cmpuint(ints[i], >, 500);
}

static ExitStatus parse(const char *text, Experiment **ret) {
        g_autofree char *path = g_build_filename(directory, "x.exp", NULL);

        return experiment_parse(path, text, ret);
}

/* Another key in the file, another order of the keys and more trials leave the values as they are. */
static void test_independent(void) {
        g_autoptr(Experiment) few = NULL, many = NULL;

        g_assert_cmpint(parse(HEAD "[Sweep]\nMethod=random\nTrials=3\nMetric=cost\n" RANGES, &few), ==,
                        STATUS_OK);
        g_assert_cmpint(parse(HEAD "[Sweep]\nMethod=random\nTrials=9\nMetric=cost\n"
                                   "[Range]\nLearner.Gamma=uniform 0.9 1\nLearner.Epochs=int 1 20\n"
                                   "Learner.LearningRate=log 1e-5 1e-1\n",
                                        &many),
                        ==, STATUS_OK);
        g_assert_cmpuint(few->arms->len, ==, 3);
        g_assert_cmpuint(many->arms->len, ==, 9);
        for (size_t i = 0; i < 3; i++) {
                g_assert_cmpstr(trial_value(few, i, 0), ==, trial_value(many, i, 2));
                g_assert_cmpstr(trial_value(few, i, 1), ==, trial_value(many, i, 1));
        }
        g_assert_cmpstr(trial_value(few, 0, 0), !=, trial_value(few, 1, 0));
}

static void test_rungs(void) {
        g_autoptr(Experiment) e = NULL, given = NULL;
        uint64_t n;

        g_assert_cmpint(parse(HEAD HALVING RANGES, &e), ==, STATUS_OK);
        g_assert_cmpuint(e->sweep->n_rungs, ==, 3);
        n = e->sweep->n_trials;
        for (size_t i = 0; i < 3; i++) {
                g_assert_cmpuint(sweep_steps(e->sweep, i), ==, ((const uint64_t[]){ 1000, 3000, 9000 })[i]);
                g_assert_cmpuint(n, ==, ((const uint64_t[]){ 27, 9, 3 })[i]);
                n = sweep_room(e->sweep, n);
        }
        g_assert_cmpint(parse(HEAD HALVING "Rungs=4\nEta=2\n" RANGES, &given), ==, STATUS_OK);
        n = given->sweep->n_trials;
        for (size_t i = 0; i < 4; i++) {
                g_assert_cmpuint(sweep_steps(given->sweep, i), ==,
                                ((const uint64_t[]){ 1000, 2080, 4327, 9000 })[i]);
                g_assert_cmpuint(n, ==, ((const uint64_t[]){ 27, 13, 6, 3 })[i]);
                n = sweep_room(given->sweep, n);
        }
}

/* Trials with equal values are sorted by their numbers. A trial that failed is last and never goes on. */
static void test_promotion(void) {
        Standing s[] = { { 0, 5 }, { 1, -INFINITY }, { 2, 9 }, { 3, 5 }, { 4, 7 } };
        static const size_t expected[] = { 2, 4, 0, 3, 1 };

        standings_sort(s, 5);
        for (size_t i = 0; i < 5; i++)
                g_assert_cmpuint(s[i].trial, ==, expected[i]);
        g_assert_cmpuint(standings_promoted(s, 5, 2), ==, 2);
        g_assert_cmpuint(standings_promoted(s, 5, 5), ==, 4);
        g_assert_cmpuint(standings_promoted(s + 4, 1, 1), ==, 0);

        g_assert_cmpfloat(standing_value((const double[]){ 3, 1, 2 }, 3), ==, 2);
        g_assert_cmpfloat(standing_value((const double[]){ 4, 1 }, 2), ==, 2.5);
        /* In the median, a seed that failed counts as worse than any other. */
        g_assert_cmpfloat(standing_value((const double[]){ NAN, 1, 2 }, 3), ==, 1);
        g_assert_true(isinf(standing_value((const double[]){ NAN, 1 }, 2)));
        g_assert_true(isinf(standing_value((const double[]){ NAN, 1, NAN }, 3)));
}

static void test_admission(void) {
        static const uint64_t estimates[] = { 30, 50, 30, 10 };
        uint64_t caps[4];

        /* The rest of the budget, 100, is shared among the cells whose estimates fit, in proportion to the
         * estimates. */
        g_assert_cmpuint(sweep_admit(100, estimates, 4, caps), ==, 3);
        g_assert_cmpuint(caps[0], ==, 33);
        g_assert_cmpuint(caps[1], ==, 55);
        g_assert_cmpuint(caps[2], ==, 0);
        g_assert_cmpuint(caps[3], ==, 11);
        g_assert_cmpuint(sweep_admit(29, estimates, 1, caps), ==, 0);
        g_assert_cmpuint(sweep_admit(0, estimates, 4, caps), ==, 0);
        /* No estimate is known (0), so the first cell may use the whole budget. */
        g_assert_cmpuint(sweep_admit(100, (const uint64_t[]){ 0 }, 1, caps), ==, 1);
        g_assert_cmpuint(caps[0], ==, 100);
        for (unsigned k = 0; k < 1000; k++) {
                uint64_t some[4], left = (uint64_t) g_test_rand_int_range(0, INT32_MAX) << 30, sum = 0;

                for (size_t i = 0; i < 4; i++)
                        some[i] = (uint64_t) g_test_rand_int_range(0, INT32_MAX)
                                  << g_test_rand_int_range(0, 31);
                (void) sweep_admit(left, some, 4, caps);
                for (size_t i = 0; i < 4; i++) {
                        sum += caps[i];
                        g_assert_true(caps[i] == 0 || caps[i] >= some[i]);
                }
                g_assert_cmpuint(sum, <=, left);
        }
        g_assert_cmpuint(sweep_wave(0), ==, 1);
        g_assert_cmpuint(sweep_wave(1), ==, 1);
        g_assert_cmpuint(sweep_wave(4), ==, 4);
}

/* Ends a cell without running a job. Its return and its cost follow from the cell's arm and seed. Some cells
 * fail. */
static void end_job(const Experiment *e, Cell *cell, const char *cells) {
        uint64_t x = 0, steps = MAX(sweep_steps(e->sweep, cell->levels[0]), 1000);
        double full, value;
        g_autofree char *text = NULL;
        bool cut;

        for (const char *p = experiment_arm(e, cell->arm)->name; *p; p++)
                x = x * 31 + (uint64_t) *p;
        x = (x * 7919 + cell->seed * 104729) % 1000;
        full = (double) (steps * (500 + x)) * 1e-9;
        value = (double) ((x * 37) % 1000);
        cut = cell->cap_nano > 0 && full * 1e9 > (double) cell->cap_nano;
        if (cut)
                full = (double) cell->cap_nano / 1e9;
        text = g_strdup_printf(
                        "{\"cost\":{\"full\":%.9f,\"paper\":0,\"currency\":\"USD\"},\"emulated_s\":7}",
                        full);
        cell->outcome = g_new0(Outcome, 1);
        cell->outcome->result = json_from_string(text, NULL);
        cell->outcome->series.n_rounds = 1;
        for (const char *const *name = (const char *const[]){ "round", "env_steps", "actors", "emulated_s",
                             "return_round", "cost_full", NULL };
                        *name; name++)
                series_add(&cell->outcome->series, *name)[0] = value + 1;
        if (cut || x % 10 == 0 || strcmp(experiment_arm(e, cell->arm)->name, "t4") == 0)
                cell->fault = g_strdup(cut ? "cut" : "broken");
        g_assert_cmpint(outcome_write(e, cell, cells), ==, 0);
        cell->state = cell->fault ? CELL_FAILED : CELL_DONE;
        if (!cell->fault)
                return;
        cell->cost = outcome_full(cell->outcome);
        outcome_free(g_steal_pointer(&cell->outcome));
}

static void remove_tree(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *below = g_build_filename(path, name, NULL);

                remove_tree(below);
        }
        (void) g_remove(path);
}

/* A random cell of those that may run now; NULL: none may. */
static Cell *any_missing(const GPtrArray *cells) {
        guint n = 0, k;

        for (guint i = 0; i < cells->len; i++)
                n += ((Cell *) cells->pdata[i])->state == CELL_MISSING;
        if (n == 0)
                return NULL;
        k = (guint) g_test_rand_int_range(0, (int) n);
        for (guint i = 0; i < cells->len; i++)
                if (((Cell *) cells->pdata[i])->state == CELL_MISSING && k-- == 0)
                        return cells->pdata[i];
        g_assert_not_reached();
}

static char *describe(const Experiment *e, const GPtrArray *cells) {
        g_autoptr(GArray) trials = sweep_trials(e, cells);
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < trials->len; i++) {
                const Trial *t = &g_array_index(trials, Trial, i);

                g_string_append_printf(text, "%s %zu %g %.9f %s %s\n", experiment_arm(e, t->arm)->name,
                                t->n_rungs, t->value, t->cost, trial_state_to_string(t->state),
                                t->fault ? t->fault : "");
        }
        return g_string_free(text, FALSE);
}

/* Runs a whole sweep; with `interruptions`, it begins again from the files after one cell in three. */
static char *run_sweep(const char *text, bool interruptions, double *ret_cost) {
        g_autofree char *where = g_build_filename(directory, "cells", NULL);
        g_autoptr(Experiment) e = NULL;
        GPtrArray *cells = NULL;
        char *description;

        g_assert_cmpint(g_mkdir(where, 0700), ==, 0);
        g_assert_cmpint(parse(text, &e), ==, STATUS_OK);
        for (bool again = true; again;) {
                g_assert_cmpint(sweep_cells(e, &cells), ==, STATUS_OK);
                again = false;
                for (;;) {
                        Cell *cell;

                        g_assert_cmpint(sweep_settle(e, cells, where), ==, 0);
                        cell = any_missing(cells);
                        if (!cell)
                                break;
                        end_job(e, cell, where);
                        again = interruptions && g_test_rand_int_range(0, 3) == 0;
                        if (again)
                                break;
                }
                if (again)
                        g_ptr_array_unref(cells);
        }
        *ret_cost = sweep_cost(cells);
        description = describe(e, cells);
        g_ptr_array_unref(cells);
        remove_tree(where);
        return description;
}

#define NINE "[Sweep]\nMethod=halving\nTrials=9\nMinSteps=1000\nMaxSteps=9000\nMetric=return_last5\n"

static const char *const sweeps[] = {
        HEAD NINE RANGES,
        HEAD NINE "Budget=0.06\n" RANGES,
        HEAD "[Sweep]\nMethod=random\nTrials=20\nMetric=return_last5\nBudget=0.00001USD\n" RANGES,
        HEAD NINE "Budget=0.000002\n" RANGES,
};
static const double budgets[] = { INFINITY, 0.06, 0.00001, 0.000002 };

/* Whichever cell ends first, and wherever the sweep is interrupted, it comes to the same result, and does
 * not cost more than its budget. */
static void test_whole(const void *data) {
        size_t i = GPOINTER_TO_SIZE(data);
        double cost, first_cost;
        g_autofree char *first = run_sweep(sweeps[i], false, &first_cost);

        g_assert_cmpfloat(first_cost, >, 0);
        for (unsigned k = 0; k < 4; k++) {
                g_autofree char *again = run_sweep(sweeps[i], k % 2 == 1, &cost);

                g_assert_cmpstr(again, ==, first);
                g_assert_cmpfloat(cost, ==, first_cost);
                g_assert_cmpfloat(cost, <=, budgets[i] * (1 + 1e-9));
        }
        if (i == 0) {
                g_assert_null(strstr(first, "not started"));
                g_assert_nonnull(strstr(first, " failed broken"));
        } else
                g_assert_nonnull(strstr(first, "not started"));
}

/* At each level the best third of the trials goes on, with longer cells; the other trials get none. */
static void test_shape(void) {
        g_autofree char *where = g_build_filename(directory, "cells", NULL);
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = NULL;
        g_autoptr(GArray) trials = NULL;
        unsigned n[3] = {};
        Cell *cell;

        g_assert_cmpint(g_mkdir(where, 0700), ==, 0);
        g_assert_cmpint(parse(HEAD HALVING RANGES, &e), ==, STATUS_OK);
        g_assert_cmpint(sweep_cells(e, &cells), ==, STATUS_OK);
        g_assert_cmpuint(cells->len, ==, 81);
        for (;;) {
                g_assert_cmpint(sweep_settle(e, cells, where), ==, 0);
                cell = any_missing(cells);
                if (!cell)
                        break;
                g_assert_cmpuint(cell->cap_nano, ==, 0);
                g_assert_cmpuint(cell->actor_rounds, ==, (sweep_steps(e->sweep, cell->levels[0]) + 63) / 64);
                end_job(e, cell, where);
        }
        for (guint i = 0; i < cells->len; i++)
                n[((Cell *) cells->pdata[i])->levels[0]]++;
        g_assert_cmpuint(n[0], ==, 81);
        g_assert_cmpuint(n[1], ==, 27);
        g_assert_cmpuint(n[2], ==, 9);
        trials = sweep_trials(e, cells);
        for (guint i = 1; i < trials->len; i++) {
                const Trial *a = &g_array_index(trials, Trial, i - 1), *b = &g_array_index(trials, Trial, i);

                g_assert_true(a->n_rungs > b->n_rungs || !(a->value < b->value));
        }
        g_assert_cmpint(sweep_write(e, cells, where), ==, 0);
        remove_tree(where);
}

/* Runs a sweep to its end. Cells of rungs from `rung` on end without a value. */
static void run_to_end(const Experiment *e, const char *where, guint rung, GPtrArray **ret_cells) {
        Cell *cell;

        g_assert_cmpint(g_mkdir(where, 0700), ==, 0);
        g_assert_cmpint(sweep_cells(e, ret_cells), ==, STATUS_OK);
        for (;;) {
                g_assert_cmpint(sweep_settle(e, *ret_cells, where), ==, 0);
                cell = any_missing(*ret_cells);
                if (!cell)
                        return;
                end_job(e, cell, where);
                if (cell->levels[0] >= rung && cell->outcome)
                        cell->outcome->series.n_rounds = 0;
        }
}

/* A trial without a value is never the best, however many rungs it finished. */
static void test_best(void) {
        g_autofree char *where = g_build_filename(directory, "cells", NULL);
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = NULL;
        g_autoptr(GArray) trials = NULL;
        const Trial *best;
        bool late = false;

        g_assert_cmpint(parse(HEAD NINE RANGES, &e), ==, STATUS_OK);
        run_to_end(e, where, 1, &cells);
        trials = sweep_trials(e, cells);
        best = &g_array_index(trials, Trial, 0);
        g_assert_true(trials_have_best(trials));
        g_assert_true(isfinite(best->value));
        g_assert_cmpuint(best->n_rungs, ==, 1);
        for (guint i = 1; i < trials->len; i++)
                late = late || g_array_index(trials, Trial, i).n_rungs > 1;
        g_assert_true(late);
        remove_tree(where);
}

/* If no trial has a value, the picture marks none as the best. */
static void test_no_best(void) {
        g_autofree char *where = g_build_filename(directory, "cells", NULL);
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = NULL;
        g_autofree char *picture = NULL;
        size_t n;

        g_assert_cmpint(parse(HEAD NINE RANGES, &e), ==, STATUS_OK);
        run_to_end(e, where, 0, &cells);
        picture = sweep_picture(e, cells, &n);
        g_assert_nonnull(picture);
        g_assert_null(strstr(picture, "thick"));
        g_assert_null(strstr(picture, "stroke-width=\"3.5\""));
        g_assert_nonnull(strstr(picture, "stroke-width=\"1.5\""));
        remove_tree(where);
}

static void test_picture(void) {
        g_autoptr(Parallel) parallel = parallel_new("<a> & b");
        static char *words[] = { "tanh", "relu", NULL };
        ParallelAxis log = { .label = g_strdup("Rate"),
                .low = 1e-4,
                .high = 1,
                .log = true,
                .low_text = g_strdup("1e-4"),
                .high_text = g_strdup("1") },
                     choice = { .label = g_strdup("Kind"), .high = 1, .words = words },
                     value = { .label = g_strdup("Time"),
                             .low = 9,
                             .high = 3,
                             .low_text = g_strdup("9"),
                             .high_text = g_strdup("3") };
        ParallelLine whole = { .values = g_new(double, 3), .best = true, .strength = 1 },
                     broken = { .values = g_new(double, 3) };
        g_autofree char *text = NULL;
        size_t n;

        memcpy(whole.values, ((const double[]){ 1e-2, 1, 3 }), 3 * sizeof(double));
        memcpy(broken.values, ((const double[]){ 1e-4, 0, NAN }), 3 * sizeof(double));
        g_array_append_val(parallel->axes, log);
        g_array_append_val(parallel->axes, choice);
        g_array_append_val(parallel->axes, value);
        g_array_append_val(parallel->lines, broken);
        g_array_append_val(parallel->lines, whole);
        text = parallel_to_svg(parallel, &n);
        g_assert_cmpuint(n, ==, strlen(text));
        g_assert_nonnull(strstr(text, "&lt;a&gt; &amp; b"));
        /* The line goes through the middle of a log range, the second choice, and the right end of a
         * metric of which less is better. */
        g_assert_nonnull(strstr(text, "d=\"M220.0 80.0L418.0 146.0L418.0 212.0\""));
        g_assert_nonnull(strstr(text, "d=\"M22.0 80.0L22.0 146.0\""));
        g_assert_nonnull(strstr(text, ">0.01</text>"));
        g_assert_null(strstr(text, "nan"));
}

typedef struct Wrong {
        const char *text, *words;
} Wrong;

#define RANDOM "[Sweep]\nMethod=random\nTrials=3\nMetric=return_last5\n"

static const Wrong wrongs[] = {
        { HEAD RANDOM, "*?Sweep?: ?Range? has no key*" },
        { HEAD RANGES, "*?Range?: ?Sweep? is missing*" },
        { HEAD "[Sweep]\nTrials=3\nMetric=cost\n" RANGES, "*Method= is missing: random or halving*" },
        { HEAD "[Sweep]\nMethod=grid\n" RANGES,
                        "*x.exp:5: ?Sweep? Method=grid: it must be random or halving*" },
        { HEAD "[Sweep]\nMethod=random\nMetric=cost\n" RANGES, "*Trials= is missing*" },
        { HEAD "[Sweep]\nMethod=random\nTrials=3\n" RANGES, "*Metric= is missing: the figure*" },
        { HEAD "[Sweep]\nMetric=cots\n" RANGES, "*did you mean cost*" },
        { HEAD "[Sweep]\nTrails=3\n" RANGES, "*x.exp:5: ?Sweep? Trails=3: *did you mean Trials*" },
        { HEAD "[Sweep]\nTrials=0\n" RANGES, "*a whole number from 1 to 1000*" },
        { HEAD "[Sweep]\nMethod=random\nTrials=3\nMetric=cost_to_target\n" RANGES, "*Target= is missing*" },
        { HEAD RANDOM "Budget=0\n" RANGES, "*x.exp:8: ?Sweep? Budget=0: *above 0*" },
        { HEAD RANDOM "Budget=5EUR\n[Set]\nBilling.PriceSheet=./my.sheet\n" RANGES,
                        "*Budget=: it is in EUR, but the price sheet of t1.1 is in USD*" },
        { HEAD RANDOM "Budget=5\n[Set]\nJob.Budget=1\n" RANGES, "*have a Budget= of their own*" },
        { HEAD RANDOM "Eta=3\n" RANGES, "*x.exp:8: ?Sweep? Eta=3: only Method=halving*" },
        { HEAD HALVING "Eta=1\n" RANGES, "*x.exp:10: ?Sweep? Eta=1: *from 2 to*" },
        { HEAD HALVING "Rungs=5\n" RANGES, "*?Sweep? Trials=27: too few: *5 rungs needs 81 trials*" },
        { HEAD "[Sweep]\nMethod=halving\nTrials=9\nMetric=cost\nMaxSteps=9\n" RANGES,
                        "*MinSteps= is missing*" },
        { HEAD "[Sweep]\nMethod=halving\nTrials=9\nMetric=cost\nMinSteps=9\nMaxSteps=9\n" RANGES,
                        "*MaxSteps=9: it must be more than MinSteps=9*" },
        { HEAD "[Sweep]\nMethod=halving\nTrials=9\nMetric=cost\nMinSteps=2\nMaxSteps=3\nEta=2\n"
               "Rungs=4\n" RANGES,
                        "*too close to MinSteps=2 for 4 rungs*" },
        { HEAD HALVING "[Set]\nJob.StopSteps=5\n" RANGES,
                        "*x.exp:11: ?Set? Job.StopSteps=5: *rung by rung*" },
        { HEAD HALVING RANGES "Job.StopSteps=int 1 5\n", "*?Range? Job.StopSteps=*rung by rung*" },
        { HEAD RANDOM "[Set]\nLearner.Epochs=5\n" RANGES,
                        "*x.exp:12: ?Range? Learner.Epochs=int 1 20: ?Set? sets it in line 9*" },
        { HEAD RANDOM "[Arm x]\n" RANGES, "*?Arm x?: in a sweep the trials are the arms*" },
        { HEAD RANDOM "[Factor f]\na=Learner.Gamma=1\n" RANGES, "*?Factor f?: a sweep has no factors*" },
        { HEAD "Baseline=t1\n" RANDOM RANGES, "*Baseline=t1: *ranks its trials*" },
        { HEAD "Metric=cost\n" RANDOM RANGES, "*?Experiment? Metric=cost: *?Sweep? Metric=*" },
        { HEAD RANDOM "[Range]\nJob.Seed=int 1 5\n", "*seeds are those of*" },
        { HEAD RANDOM "[Range]\nGamma=int 1 5\n", "*write Section.Key=KIND*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=unifrom 0 1\n", "*x.exp:9: *did you mean uniform*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=0.9 1\n", "*write uniform, log or int and two numbers*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=uniform 0.9\n", "*write two numbers after uniform*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=uniform 0.9 x\n", "*x is not a number*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=uniform 0.9 0.9\n", "*from 0.9 to 0.9 is empty*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=log 0 1\n", "*0 has no logarithm*" },
        { HEAD RANDOM "[Range]\nLearner.Epochs=int 0.5 3\n", "*whole numbers*" },
        { HEAD RANDOM "[Range]\nLearner.Epochs=int 0 4294967296\n", "*at most 4294967295 numbers*" },
        { HEAD RANDOM "[Range]\nLearner.Activation=choice tanh\n", "*belongs in ?Set?*" },
        { HEAD RANDOM "[Range]\nLearner.Activation=choice tanh relu tanh\n", "*tanh is listed twice*" },
        { HEAD RANDOM "[Range]\nLearner.Activation=choice tanh rellu\n",
                        "*x.exp:9: ?Range? Learner.Activation=rellu: *relu*" },
        { HEAD RANDOM "[Range]\nLearner.Gamma=uniform 0.9 1.5\n", "*x.exp:9: ?Range? Learner.Gamma=1.5: *" },
        { HEAD RANDOM "[Range]\nLearner.Gama=uniform 0.9 1\n", "*x.exp:9: ?Range? *did you mean Gamma*" },
        { HEAD RANDOM "[Range]\nLearner.Epochs=uniform 1 9\n[Set]\nLearner.Gama=1\n",
                        "*did you mean Gamma*" },
        { HEAD "[Sweep]\nMethod=random\nTrials=3\nMetric=evaluation_last\n" RANGES,
                        "*?Sweep? Metric=: nothing is evaluated*" },
        { HEAD "[Sweeep]\n" RANGES, "*did you mean Sweep*" },
};

static void test_wrong(const void *data) {
        const Wrong *wrong = data;

        if (g_test_subprocess()) {
                g_autoptr(Experiment) e = NULL;
                GPtrArray *cells;
                ExitStatus status = parse(wrong->text, &e);

                if (status == STATUS_OK)
                        status = sweep_cells(e, &cells);
                g_assert_cmpint(status, ==, STATUS_USAGE);
                return;
        }
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr(wrong->words);
}

int main(int argc, char **argv) {
        g_autofree char *path = NULL, *sheet = NULL;
        int status;

        g_test_init(&argc, &argv, NULL);
        /* An experiment syncs the file of each cell to the disk. In memory that takes no time. */
        directory = g_mkdtemp(g_strdup("/dev/shm/actord-test-XXXXXX"));
        if (!directory)
                directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        path = g_build_filename(directory, "job.conf", NULL);
        g_assert_true(g_file_set_contents(path,
                        "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000\n[Actor]\nRolloutSteps=64\n", -1,
                        NULL));
        sheet = g_build_filename(directory, "my.sheet", NULL);
        g_assert_true(g_file_set_contents(sheet, "[Sheet]\nName=my\nCurrency=USD\n", -1, NULL));
        g_test_add_func("/sweep/draw", test_draw);
        g_test_add_func("/sweep/spread", test_spread);
        g_test_add_func("/sweep/independent", test_independent);
        g_test_add_func("/sweep/rungs", test_rungs);
        g_test_add_func("/sweep/promotion", test_promotion);
        g_test_add_func("/sweep/admission", test_admission);
        g_test_add_func("/sweep/shape", test_shape);
        g_test_add_func("/sweep/best", test_best);
        g_test_add_func("/sweep/no-best", test_no_best);
        for (size_t i = 0; i < G_N_ELEMENTS(sweeps); i++) {
                g_autofree char *name = g_strdup_printf("/sweep/whole/%zu", i);

                g_test_add_data_func(name, GSIZE_TO_POINTER(i), test_whole);
        }
        g_test_add_func("/sweep/picture", test_picture);
        for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
                g_autofree char *name = g_strdup_printf("/sweep/wrong/%zu", i);

                g_test_add_data_func(name, &wrongs[i], test_wrong);
        }
        status = g_test_run();
        remove_tree(directory);
        g_free(directory);
        return status;
}
