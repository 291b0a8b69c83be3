/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Experiments without a daemon: the text, the matrix, metrics, statistics, pictures. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/experiment/plot.h"

static const char job[] = "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000\n[Actor]\nRolloutSteps=64\n";

static char *directory;

static ExitStatus parse(const char *text, Experiment **ret) {
        g_autofree char *path = g_build_filename(directory, "x.exp", NULL);

        return experiment_parse(path, text, ret);
}

static GPtrArray *cells_of(const char *text, Experiment **ret) {
        GPtrArray *cells;

        g_assert_cmpint(parse(text, ret), ==, STATUS_OK);
        g_assert_cmpint(cells_make(*ret, &cells), ==, STATUS_OK);
        return cells;
}

#define HEAD    "[Experiment]\nJob=job.conf\nSeeds=1-2\n"
#define FACTORS "[Factor up]\na=Learner.Updates=per-data\nb=Learner.Updates=per-round; Learner.Epochs=3\n"

static void test_seeds(void) {
        static const char *const wrong[] = { "", " ", "a", "3-1", "1-", "-1", "1,1", "1-3 2", "0-1000000",
                "1.5", NULL };
        static const uint64_t expected[] = { 5, 0, 7, 8, 9 };
        g_autofree char *reason = NULL;
        g_autoptr(GArray) seeds = seeds_parse("5, 0 7-9", &reason);

        g_assert_nonnull(seeds);
        g_assert_cmpmem(seeds->data, seeds->len * sizeof(uint64_t), expected, sizeof(expected));
        for (size_t i = 0; wrong[i]; i++) {
                g_autofree char *sentence = NULL;

                g_assert_null(seeds_parse(wrong[i], &sentence));
                g_assert_nonnull(sentence);
        }
}

static void test_matrix(void) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells =
                        cells_of(HEAD "Baseline=y\n[Set]\nJob.StopSteps=1001\n[Arm x]\n[Arm y]\n"
                                      "Learner.Gamma=0.9\n" FACTORS,
                                        &e);
        g_autoptr(GHashTable) definitions = g_hash_table_new(g_str_hash, g_str_equal);
        const Cell *cell;

        g_assert_cmpint(e->baseline, ==, 1);
        g_assert_cmpuint(cells->len, ==, 8);
        cell = cells->pdata[0];
        g_assert_cmpstr(cell->name, ==, "x.a.1");
        g_assert_cmpuint(cell->actor_rounds, ==, 16); /* 1001 / 64, rounded up */
        cell = cells->pdata[7];
        g_assert_cmpstr(cell->name, ==, "y.b.2");
        g_assert_cmpuint(cell_combination(e, cell), ==, 1);
        for (guint i = 0; i < cells->len; i++)
                g_hash_table_add(definitions, ((Cell *) cells->pdata[i])->definition);
        g_assert_cmpuint(g_hash_table_size(definitions), ==, 8);
}

/* A combination's number follows from the levels of its factors, and the levels follow from the number. The
 * last factor changes fastest. */
static void test_combinations(void) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(HEAD
                        "[Arm x]\n" FACTORS
                        "[Factor rate]\nl=Learner.Gamma=0.9\nm=Learner.Gamma=0.8\nh=Learner.Gamma=0.7\n",
                        &e);

        g_assert_cmpuint(experiment_n_combinations(e), ==, 6);
        for (size_t i = 0; i < 6; i++) {
                Cell cell = {};

                cell_set_combination(e, &cell, i);
                g_assert_cmpuint(cell.levels[0], ==, i / 3);
                g_assert_cmpuint(cell.levels[1], ==, i % 3);
                g_assert_cmpuint(cell_combination(e, &cell), ==, i);
        }
}

/* If an arm repeats another arm's decisions, each of its cells runs after the other arm's cell with the same
 * levels and seed. The earlier cell is a part of the later cell's definition. The order of the arms does not
 * matter. */
static void test_after(void) {
        g_autoptr(Experiment) e = NULL, other = NULL;
        g_autoptr(GPtrArray)
                        cells = cells_of(HEAD
                                        "[Set]\nScaling.MaxActors=4\n[Arm p]\nScaling.Policy=permuted:@x\n"
                                        "[Arm x]\nScaling.Actors=3\n" FACTORS,
                                        &e),
                        changed = cells_of(HEAD
                                        "[Set]\nScaling.MaxActors=4\n[Arm p]\nScaling.Policy=permuted:@x\n"
                                        "[Arm x]\nScaling.Actors=2\n" FACTORS,
                                        &other);

        for (guint i = 0; i < cells->len; i += 2) {
                const Cell *p = cells->pdata[i], *x = cells->pdata[i + 1];

                g_assert_true(p->after == x);
                g_assert_null(x->after);
                g_assert_cmpuint(p->seed, ==, x->seed);
                g_assert_cmpuint(cell_combination(e, p), ==, cell_combination(e, x));
                g_assert_cmpstr(p->definition, !=, ((Cell *) changed->pdata[i])->definition);
        }
}

/* Cells run at once as long as there are CPUs for their jobs. n_cpus: how many CPUs a cell's job can keep
 * busy. A job that needs more CPUs than there are runs alone. */
static void test_cpus(void) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(HEAD
                        "[Arm one]\n[Arm many]\nScaling.Actors=6\n[Arm few]\nScaling.Actors=6\n"
                        "Actor.Processes=2\n[Arm fused]\nScaling.Actors=6\n"
                        "Distribution.Policy=fused\nLearner.Threads=3\n",
                        &e);
        static const uint32_t expected[] = { 1, 6, 2, 3 };

        for (guint i = 0; i < 4; i++)
                g_assert_cmpuint(((Cell *) cells->pdata[i])->n_cpus, ==, expected[i]);
        g_assert_true(cell_fits(cells->pdata[1], 0, 8));
        g_assert_true(cell_fits(cells->pdata[1], 2, 8));
        g_assert_false(cell_fits(cells->pdata[1], 3, 8));
        g_assert_true(cell_fits(cells->pdata[1], 0, 4));
        g_assert_false(cell_fits(cells->pdata[0], 6, 4));
}

static void check_wrong(const char *text, const char *words) {
        if (g_test_subprocess()) {
                g_autoptr(Experiment) e = NULL;
                GPtrArray *cells;
                ExitStatus status = parse(text, &e);

                if (status == STATUS_OK)
                        status = cells_make(e, &cells);
                g_assert_cmpint(status, ==, STATUS_USAGE);
                return;
        }
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr(words);
}

/* a factor whose level has the longest name */
#define LONG(factor)            \
        "[Factor " factor "]\n" \
        "long-long-long-long-long-long-long-long-long-lon=Learner.Gamma=0.9\n"

typedef struct Wrong {
        const char *text, *words;
} Wrong;

static const Wrong wrongs[] = {
        { HEAD, "*no ?Arm NAME?*" },
        { "[Job]\nSeed=1\n", "*?Job?: unknown section; this is a job file: `actorctl run` trains it*" },
        { "[Experiment]\nSeeds=1\n[Arm x]\n", "*Job=FILE.conf is missing*" },
        { "[Experiment]\nJob=job.conf\n[Arm x]\n", "*Seeds= is missing*" },
        { "[Experiment]\nJob=no.conf\nSeeds=1\n[Arm x]\n", "*x.exp:2: *cannot be read*" },
        { HEAD "Baseline=fixd\n[Arm fixed]\n", "*did you mean fixed*" },
        { HEAD "Metric=cots\n[Arm x]\n", "*did you mean cost*" },
        { HEAD "Metric=time_to_target\n[Arm x]\n", "*Target= is missing*" },
        { HEAD "[Arm x]\n# [Arm x]\n[Set]\n[Arm x]\n", "*x.exp:7: ?Arm x? is in line 4 already*" },
        { HEAD "[Arm x]\nA.B=1\n[Arm y]\nA.B=1\n A.B = 2\n", "*x.exp:8: ?Arm y? A.B is in line 7 already*" },
        { HEAD "Sed=3\n[Arm x]\n", "*x.exp:4: *did you mean Seeds*" },
        { HEAD "[Arm a.b]\n", "*letters, digits*" },
        { HEAD "[Arm x]\nJob.Seed=3\n", "*Seeds=*" },
        { HEAD "[Arm x]\nLearner.Gama=1\n", "*x.exp:5: ?Arm x? Learner.Gama=1: *did you mean Gamma*" },
        { HEAD "[Arm x]\n[Factor f]\na=Learner.Gamma=7\n", "*x.exp:6: ?Factor f? Learner.Gamma=7: *" },
        { HEAD "[Arm x]\n[Factor f]\n", "*1 to 64 levels*" },
        { HEAD "[Set]\nScaling.MaxActors=4\n[Arm p]\nScaling.Policy=replay:@fixd\n[Arm fixed]\n",
                        "*x.exp:7: *did you mean fixed*" },
        { HEAD "[Set]\nScaling.MaxActors=4\n[Arm p]\nScaling.Policy=replay:@q\n[Arm q]\n"
               "Scaling.Policy=permuted:@p\n",
                        "*repeats its own decisions through other arms*" },
        { HEAD "[Arm x]\n[Factor f]\na=Learner.Gamma=0.9; Job.Seed=3\n", "*x.exp:6: ?Factor f? a=*Seeds=*" },
        { HEAD "[Arm x]\n[Factor f]\na=Job.Seed = 3\n", "*x.exp:6: ?Factor f? a=*Seeds=*" },
        { HEAD "[Arm x]\n[Arm y]\nScaling.Policy=minions:@x\n",
                        "*x.exp:6: ?Arm y? Scaling.Policy=minions:@x: only replay:*" },
        { HEAD "[Arm x]\n[Factor f]\na=Scaling.Policy=random:@x\n",
                        "*x.exp:6: ?Factor f? Scaling.Policy=random:@x: only replay:*" },
        { HEAD "[Arm y]\nScaling.MaxActors=3\nScaling.Policy=replay:@x\n"
               "[Arm x]\nScaling.MaxActors=4\nScaling.Policy=random\n",
                        "*x.exp:6: ?Arm y? Scaling.Policy=replay:@x: *4 actors, but * only 3;*" },
        { HEAD "[Arm x]\nScaling.Actors=2\n[Arm y]\nScaling.MaxActors=2\nScaling.Policy=permuted:@x\n"
               "[Arm z]\nScaling.MaxActors=1\nScaling.Policy=replay:@y\n",
                        "*x.exp:11: ?Arm z? Scaling.Policy=replay:@y: *2 actors, but * only 1;*" },
        { HEAD "[Arm x]\nA\033[31m=1\n", "*key name: A\\x1b?31m*" },
        { HEAD "[Arm x]\n\033[31m\n", "*\\x1b?31m*" },
        { HEAD "[Arm x]\nScaling.Policy=replay:@\033[31m\n", "*x.exp:5: *no ?Arm \\x1b?31m?*" },
        { HEAD "[Arm x]\n[Factory]\n", "*unknown section*" },
        { HEAD "[Arm x]\n" LONG("a") LONG("b") LONG("c") LONG("d") LONG("e"),
                        "*x.exp: the cell x.*.1 has a name of 248 characters, and a file's name has room "
                        "for 245: use shorter names of arms and levels*" },
};

static void test_wrong(const void *data) {
        const Wrong *wrong = data;

        check_wrong(wrong->text, wrong->words);
}

static void fill(Series *series, const char *name, const double *values) {
        memcpy(series_add(series, name), values, series->n_rounds * sizeof(double));
}

static Outcome *example_outcome(void) {
        static const double rounds[] = { 1, 2, 3, 4 }, steps[] = { 100, 200, 400, 800 },
                            actors[] = { 1, 1, 2, 4 }, returns[] = { NAN, 10, 20, 40 },
                            times[] = { 1, 2, 4, 6 }, costs[] = { 0.1, 0.2, 0.4, 0.8 },
                            evaluations[] = { 0, 0.05, 0.1, 0.3 };
        Outcome *outcome = g_new0(Outcome, 1);

        outcome->result = json_from_string("{\"cost\":{\"full\":1.5,\"paper\":0.5,\"currency\":\"USD\"},"
                                           "\"emulated_s\":7}",
                        NULL);
        outcome->series.n_rounds = 4;
        fill(&outcome->series, "round", rounds);
        fill(&outcome->series, "env_steps", steps);
        fill(&outcome->series, "actors", actors);
        fill(&outcome->series, "emulated_s", times);
        fill(&outcome->series, "evaluation_mean", returns);
        fill(&outcome->series, "cost_full", costs);
        fill(&outcome->series, "cost_evaluation", evaluations);
        series_complete(&outcome->series);
        series_complete(&outcome->series); /* once is enough */
        return outcome;
}

static void test_metrics(void) {
        g_autoptr(Outcome) outcome = example_outcome();

        g_assert_cmpfloat(outcome_metric(outcome, METRIC_EVALUATION_LAST, NAN), ==, 40);
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_EVALUATION_LAST5, NAN), ==, 70 / 3.0);
        /* 200 steps with a mean of 15 and 400 steps with a mean of 30: 25 for each step */
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_EVALUATION_AREA, NAN), ==, 25);
        g_assert_true(isnan(outcome_metric(outcome, METRIC_RETURN_LAST, NAN)));
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_COST, NAN), ==, 1.5 - 0.3);
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_TIME, NAN), ==, 7);
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_COST_TO_TARGET, 15), ==, 0.4 - 0.1);
        g_assert_true(isnan(outcome_metric(outcome, METRIC_COST_TO_TARGET, 50)));
        g_assert_cmpfloat(outcome_metric(outcome, METRIC_ACTOR_ROUNDS, NAN), ==, 8);
        for (Metric i = 0; i < _METRIC_MAX; i++)
                g_assert_cmpint(metric_from_string(metric_to_string(i)), ==, i);
        g_assert_cmpint(metric_from_string("x"), ==, _METRIC_INVALID);
}

/* The file of a cell's result is read again, but not for a cell with another definition. A file that is cut
 * short, or nested too deeply, is refused. */
static void test_outcome(void) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(HEAD "[Arm x]\n" FACTORS, &e);
        g_autofree char *path = g_build_filename(directory, "x.a.1.json", NULL), *text = NULL;
        g_autoptr(GString) deep = g_string_new(NULL);
        static const double rates[] = { 1e-8, 1e-8, 1e22, 0.1 };
        Cell *cell = cells->pdata[0];
        gsize n;

        g_assert_cmpint(outcome_read(e, cell, directory), ==, 0);
        cell->outcome = example_outcome();
        fill(&cell->outcome->series, "learning_rate", rates);
        g_assert_cmpint(outcome_write(e, cell, directory), ==, 0);
        outcome_free(cell->outcome);
        cell->outcome = NULL;
        g_assert_cmpint(outcome_read(e, cell, directory), ==, 1);
        g_assert_cmpint(cell->state, ==, CELL_DONE);
        g_assert_cmpuint(cell->outcome->series.n_rounds, ==, 4);
        g_assert_true(isnan(series_column(&cell->outcome->series, "evaluation_mean")[0]));
        g_assert_cmpfloat(series_column(&cell->outcome->series, "cost_full")[2], ==, 0.4);
        g_assert_cmpmem(series_column(&cell->outcome->series, "learning_rate"), sizeof(rates), rates,
                        sizeof(rates));
        g_assert_cmpint(report_write(e, cells, directory), ==, 0);
        g_assert_cmpint(plots_write(e, cells, directory), ==, 0);

        outcome_free(cell->outcome);
        cell->outcome = NULL;
        cell->definition[0] ^= 1;
        g_assert_cmpint(outcome_read(e, cell, directory), ==, 0);
        g_free(e->file_name);
        e->file_name = g_strdup("other.exp");
        g_assert_cmpint(outcome_read(e, cell, directory), ==, -EEXIST);
        cell->definition[0] ^= 1;
        g_assert_true(g_file_get_contents(path, &text, &n, NULL));
        g_assert_true(g_file_set_contents(path, text, (gssize) n / 2, NULL));
        g_assert_cmpint(outcome_read(e, cell, directory), ==, 0);
        g_string_append(deep, "{\"a\":");
        for (unsigned i = 0; i < 300000; i++)
                g_string_append_c(deep, '[');
        g_assert_true(g_file_set_contents(path, deep->str, -1, NULL));
        g_assert_cmpint(outcome_read(e, cell, directory), ==, 0);
        g_assert_null(cell->outcome);
}

/* Files of a cell's result in which one part is replaced: what outcome_read() returns and prints. No text of
 * the file reaches a terminal before it is sanitised. */
static const struct {
        const char *from, *to, *words;
        int status;
} broken[] = {
        { "\"actors\":[", "\"actors\":[\"abc\",2,3,4],\"more\":[", "*x.a.1 is incomplete (its rounds)*", 0 },
        { "\"actors\":[", "\"actors\":[true,2,3,4],\"more\":[", "*x.a.1 is incomplete (its rounds)*", 0 },
        { "\"round\":[", "\"round\":[3,2,3,4],\"more\":[", "*x.a.1 is incomplete (its rounds)*", 0 },
        { "\"emulated_s\":[", "\"else\":[", "*x.a.1 is incomplete (its rounds)*", 0 },
        { "\"result\":{", "\"result\":{},\"other\":{", "*x.a.1 is incomplete (its result)*", 0 },
        { "\"full\":1.5", "\"full\":[]", "*x.a.1 is incomplete (its result)*", 0 },
        { "\"currency\":\"USD\"", "\"currency\":[]", "*x.a.1 is incomplete (its result)*", 0 },
        { "\"format\":1", "\"format\":[1]", "*x.a.1 is incomplete (its format*", 0 },
        { "\"format\":1", "\"format\":2", "", 0 },
        { "\"definition\":", "\"definition\":[],\"other\":", "*x.a.1 is incomplete (its format*", 0 },
        { "\"experiment\":\"x.exp\"", "\"experiment\":[]", "", 1 },
        { "\"experiment\":\"x.exp\"", "\"experiment\":\"\\u001b[31mred\",\"format\":2",
                        "*a cell of \\x1b?31mred, whose results would be overwritten*", -EEXIST },
};

static void test_broken(const void *data) {
        size_t i = GPOINTER_TO_SIZE(data);
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(HEAD "[Arm x]\n" FACTORS, &e);
        g_autofree char *name = g_strdup_printf("broken-%zu", i),
                        *where = g_build_filename(directory, name, NULL),
                        *path = g_build_filename(where, "x.a.1.json", NULL), *text = NULL;
        g_autoptr(GString) changed = NULL;
        Cell *cell = cells->pdata[0];

        if (g_test_subprocess()) {
                (void) g_mkdir(where, 0700);
                cell->outcome = example_outcome();
                g_assert_cmpint(outcome_write(e, cell, where), ==, 0);
                outcome_free(g_steal_pointer(&cell->outcome));
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                changed = g_string_new(text);
                g_assert_cmpuint(g_string_replace(changed, broken[i].from, broken[i].to, 1), ==, 1);
                g_assert_true(g_file_set_contents(path, changed->str, -1, NULL));
                g_assert_cmpint(outcome_read(e, cell, where), ==, broken[i].status);
                g_assert_cmpint(cell->state == CELL_DONE, ==, broken[i].status == 1);
                (void) g_remove(path);
                (void) g_rmdir(where);
                return;
        }
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr(broken[i].words);
        g_test_trap_assert_stderr_unmatched("*CRITICAL*");
}

static Outcome *costly_outcome(size_t n_rounds, double full) {
        Outcome *outcome = g_new0(Outcome, 1);
        g_autofree char *text = g_strdup_printf("{\"cost\":{\"full\":%g,\"currency\":\"USD\"}}", full);

        outcome->result = json_from_string(text, NULL);
        outcome->series.n_rounds = n_rounds;
        for (const char *const *name = (const char *const[]){ "round", "env_steps", "emulated_s", "actors",
                             "evaluation_mean", "cost_full", NULL };
                        *name; name++) {
                double *column = series_add(&outcome->series, *name);

                for (size_t i = 0; i < n_rounds; i++)
                        column[i] = strcmp(*name, "cost_full") == 0
                                                    ? full * (double) (i + 1) / (double) (n_rounds + 1)
                                                    : (double) (i + 1);
        }
        series_complete(&outcome->series);
        return outcome;
}

/* The numbers of the first curve in a picture: x, y, x, y, … in pixels. */
static GArray *curve_of(const char *name) {
        g_autofree char *path = g_build_filename(directory, name, NULL), *text = NULL;
        GArray *numbers = g_array_new(FALSE, FALSE, sizeof(double));
        const char *at;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        at = strstr(text, "<path class=\"c\"");
        g_assert_nonnull(at);
        for (at = strstr(at, " d=\"") + 4; *at != '"';) {
                char *end;
                double number = g_ascii_strtod(at, &end);

                at = end > at ? end : at + 1;
                if (end == at)
                        g_array_append_val(numbers, number);
        }
        return numbers;
}

/* A seed that has ended keeps its last value in the curves. So the curve of costs does not fall when the
 * expensive seeds end first, and it ends at the final bills. */
static void test_pictures(void) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells =
                        cells_of("[Experiment]\nJob=job.conf\nSeeds=1-4\nTitle=T\n[Arm x]\n", &e);
        g_autoptr(GArray) cost = NULL, actors = NULL, returns = NULL;
        double first, last;

        for (guint i = 0; i < cells->len; i++)
                ((Cell *) cells->pdata[i])->outcome = costly_outcome(i < 2 ? 3 : 9, i < 2 ? 9 : 1);
        g_assert_cmpint(plots_write(e, cells, directory), ==, 0);
        cost = curve_of("cost.svg");
        g_assert_cmpuint(cost->len, ==, 18);
        for (guint i = 3; i < cost->len; i += 2)
                g_assert_cmpfloat(g_array_index(cost, double, i), <=, g_array_index(cost, double, i - 2));
        /* In the end the median of the costs 9 9 1 1 is 5. After the first round the expensive seeds have
         * spent a fourth and the others a tenth, so the median is 1.175. */
        first = g_array_index(cost, double, 1);
        last = g_array_index(cost, double, 17);
        g_assert_cmpfloat_with_epsilon((first - last) / 320, (5 - 1.175) / 10, 0.001);
        /* The curve has all nine rounds, although half of the seeds end after three. */
        actors = curve_of("actors.svg");
        g_assert_cmpuint(actors->len, ==, 18);
        /* The seeds that cost 1 keep their last return in the curve over money until the others end at 9. */
        returns = curve_of("return-cost.svg");
        g_assert_cmpfloat(g_array_index(returns, double, returns->len - 2), >, 550);
        g_array_unref(curve_of("return.svg"));
        g_array_unref(curve_of("return-time.svg"));
}

static char *summary_of(const char *text) {
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(text, &e);
        g_autofree char *path = g_build_filename(directory, "summary.md", NULL);
        char *summary;

        for (guint i = 0; i < cells->len; i++)
                ((Cell *) cells->pdata[i])->outcome = example_outcome();
        g_assert_cmpint(report_write(e, cells, directory), ==, 0);
        g_assert_true(g_file_get_contents(path, &summary, NULL, NULL));
        return summary;
}

/* With Target=, the report also has the metrics of the target. A metric without values has no table, and the
 * report says why. */
static void test_summary(void) {
        g_autofree char *plain = summary_of(HEAD "[Arm x]\n"),
                        *reached = summary_of(HEAD "Target=15\n[Arm x]\n"),
                        *missed = summary_of(HEAD "Target=50\n[Arm x]\n");

        g_assert_null(strstr(plain, "arget"));
        g_assert_nonnull(strstr(plain, "## Evaluation return, last 5 rounds"));
        g_assert_null(strstr(plain, "## Training return"));
        g_assert_nonnull(strstr(plain, "* return_last5: no training episode ended"));
        g_assert_nonnull(strstr(reached, "a return of 15"));
        g_assert_nonnull(strstr(reached, "## Cost of training to the target"));
        g_assert_nonnull(strstr(reached, "## Emulated time to the target"));
        g_assert_null(strstr(reached, "no cell reached"));
        g_assert_null(strstr(missed, "## Cost of training to the target"));
        g_assert_nonnull(strstr(missed, "* cost_to_target, time_to_target: no cell reached the target"));
}

/* A seed that misses the target counts in the means, with its cost or time until its end. The table says how
 * many seeds reached the target. In cells.csv such a seed has no value. */
static void test_censored(void) {
        static const double low[] = { NAN, 1, 2, 3 };
        g_autoptr(Experiment) e = NULL;
        g_autoptr(GPtrArray) cells = cells_of(
                        "[Experiment]\nJob=job.conf\nSeeds=1-2\nTitle=T\nTarget=15\nBaseline=x\n[Arm x]\n",
                        &e);
        g_autofree char *path = g_build_filename(directory, "summary.md", NULL), *summary = NULL,
                        *table = g_build_filename(directory, "cells.csv", NULL), *csv = NULL;
        Outcome *missed = example_outcome();

        memcpy((double *) series_column(&missed->series, "evaluation_mean"), low, sizeof(low));
        ((Cell *) cells->pdata[0])->outcome = example_outcome();
        ((Cell *) cells->pdata[1])->outcome = missed;
        g_assert_true(isnan(outcome_metric(missed, METRIC_TIME_TO_TARGET, 15)));
        g_assert_cmpfloat(outcome_restricted(missed, METRIC_TIME_TO_TARGET, 15), ==, 6);
        g_assert_cmpfloat(outcome_restricted(missed, METRIC_COST_TO_TARGET, 15), ==, 0.8 - 0.3);
        g_assert_cmpint(report_write(e, cells, directory), ==, 0);
        g_assert_true(g_file_get_contents(path, &summary, NULL, NULL));
        g_assert_true(g_file_get_contents(table, &csv, NULL, NULL));
        /* The seeds took 4 and 6 seconds, so the mean is 5. One of the two reached the target. */
        g_assert_nonnull(strstr(summary, "| arm | n | reached | mean |"));
        g_assert_nonnull(strstr(summary, "| x | 2 | 1 | 5.00 |"));
        g_assert_nonnull(strstr(summary, "counts with its cost or time until then"));
        g_assert_nonnull(strstr(summary, "| arm | n | mean |"));
        g_assert_nonnull(strstr(csv, ",0.5,7,0.30000000000000004,4,8,"));
        g_assert_nonnull(strstr(csv, ",0.5,7,,,8,"));
}

static void test_plot(void) {
        static const double steps[][3] = { { 0, 10, 2 }, { 0, 80, 20 }, { 0.001, 0.002, 0.0002 },
                { 0, 0, 1 }, { -7, 23, 10 } };
        g_autoptr(Plot) plot = plot_new("<title>", "x", "y");
        PlotPanel *panel = plot_add_panel(plot, "one & two");
        PlotCurve curve = { .n = 200 };
        g_autofree char *text = NULL;
        size_t n;

        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
                g_assert_cmpfloat_with_epsilon(nice_step(steps[i][0], steps[i][1], 5), steps[i][2], 1e-12);

        g_assert_false(plot_has_data(plot));
        curve.x = g_new(double, curve.n);
        curve.y = g_new(double, curve.n);
        for (size_t i = 0; i < curve.n; i++) {
                curve.x[i] = (double) i;
                curve.y[i] = i % 3 == 0 ? NAN : (double) i * 1e-7;
        }
        g_array_append_val(panel->curves, curve);
        g_ptr_array_add(plot->legend, (gpointer) "a<b");
        g_assert_true(plot_has_data(plot));
        text = plot_to_svg(plot, &n);
        g_assert_cmpuint(n, ==, strlen(text));
        g_assert_cmpuint(n, <, 100000);
        g_assert_nonnull(strstr(text, "&lt;title&gt;"));
        g_assert_nonnull(strstr(text, "one &amp; two"));
        g_assert_null(strstr(text, "nan"));
        g_assert_null(strstr(text, "inf"));
}

static void remove_files(void) {
        g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(directory, name, NULL);

                (void) g_remove(path);
        }
        (void) g_rmdir(directory);
        g_free(directory);
}

int main(int argc, char **argv) {
        g_autofree char *path = NULL;
        int status;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        path = g_build_filename(directory, "job.conf", NULL);
        g_assert_true(g_file_set_contents(path, job, -1, NULL));
        g_test_add_func("/experiment/seeds", test_seeds);
        g_test_add_func("/experiment/matrix", test_matrix);
        g_test_add_func("/experiment/combinations", test_combinations);
        g_test_add_func("/experiment/after", test_after);
        g_test_add_func("/experiment/cpus", test_cpus);
        for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
                g_autofree char *name = g_strdup_printf("/experiment/wrong/%zu", i);

                g_test_add_data_func(name, &wrongs[i], test_wrong);
        }
        g_test_add_func("/experiment/metrics", test_metrics);
        g_test_add_func("/experiment/outcome", test_outcome);
        for (size_t i = 0; i < G_N_ELEMENTS(broken); i++) {
                g_autofree char *name = g_strdup_printf("/experiment/broken/%zu", i);

                g_test_add_data_func(name, GSIZE_TO_POINTER(i), test_broken);
        }
        g_test_add_func("/experiment/summary", test_summary);
        g_test_add_func("/experiment/censored", test_censored);
        g_test_add_func("/experiment/pictures", test_pictures);
        g_test_add_func("/experiment/plot", test_plot);
        status = g_test_run();
        remove_files();
        return status;
}
