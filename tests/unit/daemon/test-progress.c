/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that the same records give the same progress, live or replayed, and that a life's work after its
 * last checkpoint is waste once the next life has begun. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "daemon/progress.h"
#include "daemon/summary.h"
#include "include/plan.h"
#include "lib/limits.h"
#include "lib/settings/settings.h"

typedef struct Fixture {
        JobSettings settings;
        PriceSheet *sheet;
        Progress progress;
} Fixture;

static void set_up(Fixture *f, const void *userdata) {
        static const char text[] = "[Job]\nEnvironment=CartPole-v1\nStopReturn=475\n";
        g_autofree char *message = NULL, *sheet = NULL;
        char path[] = "packaging/price/aws-lambda-x86.sheet";

        g_assert_cmpint(settings_parse(text, "test.conf", NULL, 0, NULL, &f->settings, &message), ==, 0);
        g_assert_true(g_file_get_contents(path, &sheet, NULL, NULL));
        g_assert_cmpint(price_sheet_parse(sheet, path, &f->sheet, &message), ==, 0);
        progress_init(&f->progress);
}

static void tear_down(Fixture *f, const void *userdata) {
        progress_done(&f->progress);
        (void) price_sheet_free(f->sheet);
}

static void add(Fixture *f, Record record) {
        progress_add(&f->progress, f->sheet, &f->settings, &record);
}

static Record round_record(uint64_t round, double mean) {
        return (Record){
                .life = 1,
                .round = round,
                .kind = RECORD_ROUND,
                .decision = { 1, 4 },
                .emulated_round_nsec = 2000000000,
                .metered = { .start_nsec = 1000 * round, .end_nsec = 1000 * round + 900 },
                .statistics = { .return_mean = mean, .n_env_steps = 512 * round, .n_episodes = round },
        };
}

static Record rollout(uint64_t round) {
        return (Record){
                .life = 1,
                .round = round,
                .kind = RECORD_ROLLOUT,
                .metered = { .cpu_nsec = 50000000,
                                .emulated_nsec = 50000000,
                                .start_nsec = 1,
                                .end_nsec = 2 },
        };
}

static void test_rounds(Fixture *f, const void *userdata) {
        g_assert_true(isnan(f->progress.statistics.return_mean));

        add(f, round_record(1, NAN));
        g_assert_false(f->progress.target_reached);
        add(f, round_record(2, 474.9));
        g_assert_false(f->progress.target_reached);
        add(f, round_record(3, 475));
        g_assert_true(f->progress.target_reached);
        g_assert_cmpuint(f->progress.target_steps, ==, 3 * 512);
        add(f, round_record(4, 500));
        g_assert_cmpuint(f->progress.target_steps, ==, 3 * 512); /* once */
        g_assert_cmpuint(f->progress.round, ==, 4);
        g_assert_cmpuint(f->progress.n_actors, ==, 4);
}

static void test_curve(Fixture *f, const void *userdata) {
        Record update = { .life = 1, .kind = RECORD_UPDATE, .metered.emulated_nsec = 500000000 };
        uint64_t n = 3 * PROGRESS_CURVE_MAX;
        double before = 0;

        for (uint64_t r = 1; r <= n; r++) {
                add(f, rollout(r));
                add(f, update);
                add(f, round_record(r, 1));
        }
        g_assert_cmpuint(f->progress.n_curve, <=, PROGRESS_CURVE_MAX);
        g_assert_cmpuint(f->progress.n_curve, >=, PROGRESS_CURVE_MAX / 4);
        for (uint64_t r = 1; r <= n; r += 7) {
                Accrual at = progress_at(&f->progress, r);

                g_assert_cmpfloat(at.cost_full, >=, before);
                g_assert_cmpfloat_with_epsilon(at.emulated_s, 2.0 * (double) r, 1e-6);
                g_assert_cmpfloat_with_epsilon(at.learner_s, 0.5 * (double) r, 1e-6);
                before = at.cost_full;
        }
        g_assert_cmpfloat(before, <=,
                        (double) bill_full_nano(&f->progress.usage, f->sheet, &f->settings) / 1e9);
        g_assert_cmpfloat(before, >, 0);

        /* A life that goes back to a checkpoint replaces the part of the curve after it. */
        add(f, round_record(100, 1));
        g_assert_cmpuint(f->progress.curve[f->progress.n_curve - 1].round, <=, 100);
}

/* The sentence of a job that ended because its environment lacks a package. An actor wrote the package's
 * name. */
static char *end_sentence(Fixture *f, uint64_t life, int32_t detail, const char *name, char ret[320]) {
        Record worker = { .life = life, .kind = RECORD_WORKER, .fault = FAULT_LOAD, .detail = detail };

        memcpy(worker.sha256, name, MIN(strlen(name), sizeof(worker.sha256)));
        add(f, worker);
        add(f, (Record){ .life = life,
                               .kind = RECORD_ENDED,
                               .end = PLAN_END_FAILED,
                               .actor = UINT32_MAX,
                               .fault = FAULT_LOAD,
                               .detail = detail });
        return progress_end_sentence(&f->progress, ret);
}

static void test_missing_package(Fixture *f, const void *userdata) {
        static const char *const refused[] = { "../x", "a b", "x\033[2J", "9lives",
                "a_name_of_thirty_two_characters_" };
        char sentence[320];

        for (uint64_t i = 0; i < G_N_ELEMENTS(refused); i++)
                g_assert_true(g_str_has_suffix(
                                end_sentence(f, i + 1, ENOPKG, refused[i], sentence), " is not installed"));
        g_assert_true(g_str_has_suffix(end_sentence(f, 8, ENOPKG, "highway_env", sentence),
                        " is not installed: highway_env"));
        g_assert_null(strstr(end_sentence(f, 9, EINVAL, "highway_env", sentence), "highway_env"));
}

static void test_faults(Fixture *f, const void *userdata) {
        char sentence[320];

        for (uint32_t i = 0; i < PROGRESS_FAULTS_KEPT + 5; i++)
                add(f, (Record){ .life = 1,
                                       .kind = RECORD_FAULT,
                                       .actor = i,
                                       .fault = FAULT_KILLED,
                                       .detail = 9 });
        g_assert_cmpuint(f->progress.n_faults, ==, PROGRESS_FAULTS_KEPT + 5);
        g_assert_cmpuint(f->progress.faults[4].actor, ==, PROGRESS_FAULTS_KEPT + 4);
        g_assert_cmpuint(f->progress.faults[5].actor, ==, 5);

        g_assert_true(g_str_has_prefix(
                        fault_sentence_of(3, FAULT_KILLED, 9, sentence), "actor 3 was killed by signal 9"));
        g_assert_true(g_str_has_prefix(
                        fault_sentence_of(UINT32_MAX, FAULT_KILLED, 9, sentence), "the learner was"));
        g_assert_nonnull(strstr(fault_sentence_of(UINT32_MAX, FAULT_KILLED, SIGXCPU, sentence),
                        "[SIGXCPU]; raise the limit of CPU time: RLIMIT_CPU"));
        g_assert_true(g_str_has_prefix(
                        fault_sentence_of(UINT32_MAX, FAULT_LOAD, 8, sentence), "an actor could not load"));
        g_assert_nonnull(strstr(fault_sentence_of(0, FAULT_ACTION, 7, sentence),
                        "(row 7): if its policy has diverged, a smaller LearningRate="));
        g_assert_cmpstr(fault_sentence_of(UINT32_MAX, FAULT_CHECKPOINT, EBADMSG, sentence), ==,
                        "the learner could not write or read its checkpoint: it is damaged");
        g_assert_nonnull(strstr(fault_sentence_of(UINT32_MAX, FAULT_CHECKPOINT, EPROTONOSUPPORT, sentence),
                        "it is of a newer format than this actord reads"));
        g_assert_nonnull(strstr(fault_sentence_of(UINT32_MAX, FAULT_CHECKPOINT, ENOSPC, sentence),
                        "No space left on device"));
}

static void test_evaluation(Fixture *f, const void *userdata) {
        const double returns[] = { 10, 20, 60 };

        g_assert_true(isnan(progress_evaluation_deviation(&f->progress)));
        for (size_t i = 0; i < G_N_ELEMENTS(returns); i++)
                add(f, (Record){ .life = 1,
                                       .kind = RECORD_EVALUATION,
                                       .statistics.evaluation_mean = returns[i] });
        add(f, (Record){ .life = 1,
                               .kind = RECORD_EVALUATION,
                               .wasted = 1,
                               .statistics.evaluation_mean = 1e6 });
        g_assert_cmpuint(f->progress.n_evaluations, ==, 3);
        g_assert_cmpfloat_with_epsilon(f->progress.evaluation_mean, 30, 1e-12);
        g_assert_cmpfloat_with_epsilon(progress_evaluation_deviation(&f->progress), sqrt(700), 1e-9);

        /* Another round has another policy, so this begins another evaluation. */
        add(f, (Record){ .life = 1,
                               .round = 2,
                               .kind = RECORD_EVALUATION,
                               .statistics.evaluation_mean = 7 });
        g_assert_cmpuint(f->progress.n_evaluations, ==, 1);
        g_assert_cmpfloat(f->progress.evaluation_mean, ==, 7);
        g_assert_true(isnan(progress_evaluation_deviation(&f->progress)));
}

/* A life's records give the metrics their names. A metric's value is the mean over the episodes that have
 * it. */
static void test_metrics(Fixture *f, const void *userdata) {
        const char *const names[] = { "p99", "dropped", "No name" };
        const double values[][2] = { { 2, 5 }, { NAN, 0 }, { 4, 1 } };
        g_autofree char *summary = NULL;
        Progress again;

        for (uint32_t i = 0; i < 3; i++) {
                Record name = { .life = 1, .kind = RECORD_METRIC, .ordinal = i };

                memcpy(name.sha256, names[i], strlen(names[i]));
                add(f, name);
        }
        g_assert_cmpuint(f->progress.n_metrics, ==, 2);
        for (uint32_t i = 0; i < 3; i++)
                add(f, (Record){ .life = 1,
                                       .kind = RECORD_EVALUATION,
                                       .statistics = { .evaluation_mean = 1,
                                                       .evaluation_metric_0 = values[i][0],
                                                       .evaluation_metric_1 = values[i][1] } });
        g_assert_cmpfloat(f->progress.evaluation_metrics[0], ==, 3);
        g_assert_cmpfloat_with_epsilon(f->progress.evaluation_metrics[1], 2, 1e-12);

        /* A round in which no episode ended keeps the means of the previous round. */
        add(f, (Record){ .life = 1, .round = 1, .kind = RECORD_ROUND, .statistics.metric_0 = 7 });
        add(f, (Record){ .life = 1, .round = 2, .kind = RECORD_ROUND, .statistics.metric_0 = NAN });
        g_assert_cmpfloat(f->progress.metrics[0], ==, 7);

        summary = summary_write(&f->progress);
        progress_init(&again);
        g_assert_cmpint(summary_read(summary, &again), ==, 0);
        g_assert_cmpuint(again.n_metrics, ==, 2);
        g_assert_cmpstr(again.metric_names[1], ==, "dropped");
        g_assert_cmpfloat(again.metrics[0], ==, 7);
        g_assert_cmpfloat(again.evaluation_metrics[0], ==, f->progress.evaluation_metrics[0]);
        g_assert_cmpint(summary_read("metric.0.name=No name\n", &again), ==, -EBADMSG);
        progress_done(&again);
}

/* An evaluation may end after its round has closed. Then its mean is also noted as the evaluation of that
 * round, unless another round has closed meanwhile. In any case it is the newest evaluation. */
static void test_evaluated(Fixture *f, const void *userdata) {
        Record round = { .life = 1, .round = 3, .kind = RECORD_ROUND, .statistics.return_mean = 8 },
               said = round;

        round.statistics.evaluation_mean = round.statistics.evaluation_sd = NAN;
        said.kind = RECORD_EVALUATED;
        said.statistics.evaluation_mean = 30;
        said.statistics.evaluation_sd = 2;
        add(f, round);
        for (unsigned i = 0; i < 2; i++)
                add(f, (Record){ .life = 1,
                                       .round = 3,
                                       .kind = RECORD_EVALUATION,
                                       .statistics.evaluation_mean = 31 });
        add(f, said);
        g_assert_cmpfloat(f->progress.statistics.evaluation_mean, ==, 30);
        g_assert_cmpfloat(f->progress.evaluation_mean, ==, 30);
        g_assert_cmpfloat(progress_evaluation_deviation(&f->progress), ==, 2);
        g_assert_cmpuint(f->progress.n_evaluations, ==, 2);

        round.round = 4;
        add(f, round);
        said.statistics.evaluation_mean = 50;
        add(f, said);
        g_assert_true(isnan(f->progress.statistics.evaluation_mean));
        g_assert_cmpfloat(f->progress.evaluation_mean, ==, 50);
        said.wasted = 1;
        said.statistics.evaluation_mean = 70;
        add(f, said);
        g_assert_cmpfloat(f->progress.evaluation_mean, ==, 50);
}

/* Rounds of an earlier life beyond its checkpoint keep their cost and are repeated; the job's progress
 * does not include them. */
static void test_repeated(Fixture *f, const void *userdata) {
        add(f, (Record){ .life = 1, .kind = RECORD_ROUND, .round = 5, .statistics.return_mean = 50 });
        add(f, (Record){ .life = 1,
                               .kind = RECORD_ROUND,
                               .round = 9,
                               .wasted = 1,
                               .decision.n_actors = 7,
                               .statistics.return_mean = 90 });
        add(f, (Record){ .life = 2, .kind = RECORD_STARTED });
        g_assert_cmpuint(f->progress.round, ==, 5);
        g_assert_cmpfloat(f->progress.statistics.return_mean, ==, 50);
        g_assert_cmpuint(f->progress.n_actors, ==, 0);
        add(f, (Record){ .life = 2, .kind = RECORD_ROUND, .round = 6, .statistics.return_mean = 60 });
        g_assert_cmpuint(f->progress.round, ==, 6);
}

static void test_ends(Fixture *f, const void *userdata) {
        add(f, (Record){ .life = 1, .kind = RECORD_STARTED, .level = 3, .limits_missing = 2 });
        g_assert_true(f->progress.started);
        add(f, (Record){
                               .life = 1,
                               .kind = RECORD_ENDED,
                               .end = PLAN_END_FAILED,
                               .fault = FAULT_KILLED,
                               .actor = UINT32_MAX,
                               .scope_cpu_nsec = 5,
                               .sha256 = { 1 },
               });
        g_assert_true(f->progress.ended);
        g_assert_true(f->progress.has_policy);

        /* The next life has not ended. */
        add(f, (Record){ .life = 2, .kind = RECORD_STARTED });
        g_assert_false(f->progress.ended);
        g_assert_false(f->progress.has_policy);
        g_assert_cmpuint(f->progress.life, ==, 2);
}

static void end_life(Fixture *f, uint64_t life, uint32_t fault, int32_t detail) {
        add(f, (Record){
                               .life = life,
                               .kind = RECORD_ENDED,
                               .end = PLAN_END_FAILED,
                               .fault = fault,
                               .detail = detail,
                               .actor = UINT32_MAX,
               });
}

/* A life may have ended because the host lacked something for a time, such as memory. The records show this,
 * so a restarted daemon knows it. If a learner hangs, the host lacked nothing. */
static void test_lacks(Fixture *f, const void *userdata) {
        end_life(f, 1, FAULT_INTERNAL, ENOMEM); /* no round has closed, so there is no work to lose */
        g_assert_cmpuint(f->progress.n_lacking, ==, 0);

        add(f, (Record){ .life = 2, .round = 1, .kind = RECORD_ROUND });
        add(f, (Record){ .life = 2, .round = 1, .kind = RECORD_CHECKPOINT });
        for (uint64_t life = 3; life < 13; life++) {
                end_life(f, life, FAULT_INTERNAL, ENOMEM);
                g_assert_true(progress_lacked(&f->progress));
        }
        end_life(f, 13, FAULT_EXITED, limit_exit_status(-EAGAIN));
        g_assert_cmpuint(f->progress.n_lacking, ==, 11);

        end_life(f, 14, FAULT_INTERNAL, ETIMEDOUT);
        g_assert_false(progress_lacked(&f->progress));
        end_life(f, 15, FAULT_EXITED, limit_exit_status(-EMFILE));
        g_assert_false(progress_lacked(&f->progress));
        end_life(f, 16, FAULT_KILLED, SIGKILL);
        g_assert_false(progress_lacked(&f->progress));

        /* An invoker that could not begin. */
        add(f, (Record){ .life = 17,
                               .kind = RECORD_LOST,
                               .actor = UINT32_MAX,
                               .fault = FAULT_INTERNAL,
                               .detail = ENOMEM });
        g_assert_true(progress_lacked(&f->progress));
        add(f, (Record){ .life = 18, .kind = RECORD_LOST, .actor = UINT32_MAX });
        g_assert_false(progress_lacked(&f->progress));
        g_assert_cmpuint(f->progress.n_lacking, ==, 12);

        /* A checkpoint that was found damaged does not count. */
        add(f, (Record){ .life = 19, .round = 2, .kind = RECORD_CHECKPOINT, .wasted = 1 });
        g_assert_cmpuint(f->progress.n_lacking, ==, 12);
        add(f, (Record){ .life = 19, .round = 2, .kind = RECORD_CHECKPOINT });
        g_assert_cmpuint(f->progress.n_lacking, ==, 0);
        end_life(f, 19, FAULT_INTERNAL, ENOMEM); /* not counted, since life 19 has a checkpoint */
        g_assert_cmpuint(f->progress.n_lacking, ==, 0);
}

static void test_waste(void) {
        const Record records[] = {
                { .life = 1, .round = 5, .kind = RECORD_CHECKPOINT },
                { .life = 1, .round = 7, .kind = RECORD_ROLLOUT },
                { .life = 2, .round = 9, .kind = RECORD_ROLLOUT }, /* no checkpoint of its own */
                { .life = 3, .round = 8, .kind = RECORD_CHECKPOINT },
                { .life = 3, .round = 8, .kind = RECORD_ROLLOUT },
                { .life = 3, .round = 9, .kind = RECORD_CHECKPOINT, .wasted = 1 }, /* it was found damaged */
        };
        const bool waste_in_life_3[] = { false, true, true, false, false, false };
        WasteMap map = {};

        for (size_t i = 0; i < G_N_ELEMENTS(records); i++)
                g_assert_cmpint(waste_map_add(&map, records + i), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(records); i++)
                g_assert_cmpint(waste_map_is_waste(&map, 3, records + i), ==, waste_in_life_3[i]);
        g_assert_false(waste_map_is_waste(&map, 1, records + 1)); /* a life that goes on wastes nothing */
        g_assert_true(waste_map_is_waste(&map, 4, &(Record){ .life = 3, .round = 9, .kind = RECORD_ROUND }));

        /* Impossible numbers in a damaged file do not lead to large allocations. */
        g_assert_cmpint(waste_map_add(&map, &(Record){ .life = 0 }), ==, -ERANGE);
        g_assert_cmpint(waste_map_add(&map, &(Record){ .life = UINT64_MAX }), ==, -ERANGE);
        waste_map_done(&map);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/progress/rounds", Fixture, NULL, set_up, test_rounds, tear_down);
        g_test_add("/progress/curve", Fixture, NULL, set_up, test_curve, tear_down);
        g_test_add("/progress/faults", Fixture, NULL, set_up, test_faults, tear_down);
        g_test_add("/progress/missing-package", Fixture, NULL, set_up, test_missing_package, tear_down);
        g_test_add("/progress/repeated", Fixture, NULL, set_up, test_repeated, tear_down);
        g_test_add("/progress/evaluation", Fixture, NULL, set_up, test_evaluation, tear_down);
        g_test_add("/progress/metrics", Fixture, NULL, set_up, test_metrics, tear_down);
        g_test_add("/progress/evaluated", Fixture, NULL, set_up, test_evaluated, tear_down);
        g_test_add("/progress/ends", Fixture, NULL, set_up, test_ends, tear_down);
        g_test_add("/progress/lacks", Fixture, NULL, set_up, test_lacks, tear_down);
        g_test_add_func("/progress/waste", test_waste);
        return g_test_run();
}
