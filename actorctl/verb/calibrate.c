/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* calibrate: measures the times of a step, an update and a start on this host, for Clock=model. It makes two
 * short runs of the job. In the first run, every second round has one more actor, which starts cold each
 * time. In the second run, an invocation is one step long, so the rest of its time is its start. All times
 * are metered CPU times; other jobs on the host hardly affect these. It prints lines for the user to copy,
 * and writes no file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/follow.h"
#include "actorctl/experiment/statistics.h"
#include "actorctl/job-file.h"
#include "actorctl/job-rounds.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/settings/print.h"

enum {
        /* pairs of rounds, one with one actor and one with two; Schedule= has room for 16 pairs */
        PAIRS = 12,
        SHORT_ROUNDS = 60, /* rounds of one step */
        ROUNDS_MOST = 1000,
};

/* X(column of GetSeries). All except actors are totals since the job's beginning. */
#define COLUMNS(X) X(actors) X(env_steps) X(learner_s) X(cpu_actors_s) X(cpu_startup_s)

typedef struct Rounds {
        size_t n;
#define X(name) double name[ROUNDS_MOST];
        COLUMNS(X)
#undef X
} Rounds;

typedef struct Calibration {
        double step_usec, update_usec, cold_sec, warm_sec; /* cold_sec: NaN: no cold start was measured */
        size_t n_rounds;
} Calibration;

static void keep_rounds(const JobRounds *from, Rounds *ret) {
        ret->n = MIN(from->n, ROUNDS_MOST);
        for (size_t i = 0; i < ret->n; i++) {
#define X(column) ret->column[i] = job_rounds_at(from, i, #column);
                COLUMNS(X)
#undef X
        }
}

static ExitStatus follow(Connection *connection, const JobFile *job_file, Rounds *ret) {
        g_autofree char *path = NULL;
        JobRounds rounds;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        status = job_file_follow(connection, NULL, job_file, NULL, &path, &job);
        if (status == STATUS_INTERRUPTED)
                complain("ended at once: no figure is known before both runs have ended");
        if (status != STATUS_OK)
                return status;
        if (job_exit_status(&job) != STATUS_OK) {
                complain("%s could not be measured: %s", job_file->file_name,
                                job.fault[0] ? job.fault : job.result);
                return job_environment_failed(&job) ? STATUS_USAGE : STATUS_FAILED;
        }
        if (job_rounds_fetch(connection, path, 0, ROUNDS_MOST, &rounds) < 0)
                return STATUS_FAILED;
        keep_rounds(&rounds, ret);
        job_rounds_done(&rounds);
        return STATUS_OK;
}

/* Runs the job until its last step, without its other stop conditions. own: settings in addition to the
 * user's; they are freed with the array. */
static ExitStatus measure(const Options *options, const char *file, GPtrArray *own, Rounds *ret,
                JobSettings *ret_settings) {
        static const char *const plain[] = { "Job.StopReturn=", "Job.Budget=", "Job.RuntimeMaxSec=",
                "Evaluation.Episodes=0", "Evaluation.StopReturn=", "Scaling.Actors=1", "Scaling.MinActors=1",
                "Scaling.MaxActors=2", "Scaling.WarmActors=0", "Billing.Clock=metered" };
        g_autoptr(GPtrArray) sets = g_ptr_array_new();
        g_autoptr(Connection) connection = NULL;
        JobFile job_file;
        ExitStatus status;

        for (guint i = 0; i < options->sets->len; i++)
                g_ptr_array_add(sets, options->sets->pdata[i]);
        for (size_t i = 0; i < G_N_ELEMENTS(plain); i++)
                g_ptr_array_add(sets, (gpointer) plain[i]);
        for (guint i = 0; i < own->len; i++)
                g_ptr_array_add(sets, own->pdata[i]);

        status = job_file_load(&job_file, file, sets);
        if (status == STATUS_OK && connection_open_private(false, &connection) < 0)
                status = STATUS_FAILED;
        if (status == STATUS_OK) {
                *ret_settings = job_file.settings;
                job_file.with_stderr = true;
                status = follow(connection, &job_file, ret);
        }
        job_file_done(&job_file);
        return status;
}

static void add_stop(GPtrArray *sets, uint64_t n_steps) {
        g_ptr_array_add(sets, g_strdup_printf("Job.StopSteps=%" PRIu64, n_steps));
}

/* Makes the learner learn in every round: no round may only fill a replay buffer, or only wait until a
 * gradient step is due. Minibatches are drawn from the whole buffer, so the rows of the first round suffice
 * for a minibatch of any size. */
static void add_learning(GPtrArray *sets, const JobSettings *settings, uint64_t rows) {
        char ratio[G_ASCII_DTOSTR_BUF_SIZE];

        g_ptr_array_add(sets, g_strdup("Learner.ReplayMin=1"));
        if ((double) rows * settings->train_ratio < 1)
                g_ptr_array_add(sets,
                                g_strconcat("Learner.TrainRatio=",
                                                g_ascii_dtostr(ratio, sizeof(ratio), 1.0 / (double) rows),
                                                NULL));
}

static ExitStatus measure_rounds(const Options *options, const char *file, const JobSettings *settings,
                Rounds *ret, JobSettings *ret_settings) {
        uint64_t rows = (uint64_t) settings->envs_per_actor * settings->rollout_steps;
        g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GString) schedule = g_string_new("Scaling.Schedule=");

        for (int i = 0; i < PAIRS; i++)
                g_string_append(schedule, "1*1 2*1 ");
        g_ptr_array_add(sets, g_strdup("Scaling.Policy=schedule"));
        g_ptr_array_add(sets, g_strdup(g_strchomp(schedule->str)));
        add_stop(sets, 3 * PAIRS * rows);
        if (algorithm_row(settings->algorithm)->store == STORE_REPLAY)
                add_learning(sets, settings, rows);
        /* A minibatch that was chosen for more actors shrinks to the rows that there are. */
        else if (settings_present(settings, SETTING_Learner_MinibatchSize) &&
                        settings->minibatch_size > 2 * rows)
                g_ptr_array_add(sets, g_strdup("Learner.MinibatchSize="));
        return measure(options, file, sets, ret, ret_settings);
}

static ExitStatus measure_starts(
                const Options *options, const char *file, const JobSettings *settings, Rounds *ret) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
        JobSettings unused;

        g_ptr_array_add(sets, g_strdup("Scaling.Policy=fixed"));
        g_ptr_array_add(sets, g_strdup("Actor.RolloutSteps=1"));
        g_ptr_array_add(sets, g_strdup("Learner.MinibatchSize="));
        add_stop(sets, (uint64_t) SHORT_ROUNDS * settings->envs_per_actor);
        return measure(options, file, sets, ret, &unused);
}

/* A round's figures are the differences of two totals. The first round is left out, since it includes the
 * job's own start. */
static void evaluate(
                const Rounds *rounds, const Rounds *starts, const JobSettings *settings, Calibration *ret) {
        double step[ROUNDS_MOST], update[ROUNDS_MOST], cold[ROUNDS_MOST], invocation[ROUNDS_MOST];
        size_t n = 0, n_cold = 0, n_starts = 0;

        for (size_t i = 1; i < rounds->n; i++) {
                double steps = rounds->env_steps[i] - rounds->env_steps[i - 1];

                step[n] = (rounds->cpu_actors_s[i] - rounds->cpu_actors_s[i - 1]) / steps * 1e6;
                update[n++] = (rounds->learner_s[i] - rounds->learner_s[i - 1]) /
                              (steps * algorithm_passes(settings)) * 1e6;
                if (rounds->actors[i] > 1 && i > 1)
                        cold[n_cold++] = rounds->cpu_startup_s[i] - rounds->cpu_startup_s[i - 1];
        }
        for (size_t i = 1; i < starts->n; i++)
                invocation[n_starts++] = starts->cpu_actors_s[i] - starts->cpu_actors_s[i - 1];

        *ret = (Calibration){
                .step_usec = quantile(step, n, 0.5),
                .update_usec = quantile(update, n, 0.5),
                .cold_sec = quantile(cold, n_cold, 0.5),
                .n_rounds = rounds->n + starts->n,
        };
        /* If the actors share one process, or run in the learner's, an added actor starts no process: there
         * was no cold start to measure. */
        if (!(ret->cold_sec > 0))
                ret->cold_sec = NAN;
        ret->warm_sec = fmax(quantile(invocation, n_starts, 0.5) -
                                             settings->envs_per_actor * ret->step_usec / 1e6,
                        0);
}

static void print_uncold(const char *file, const Calibration *c) {
        printf("# %s on this host: medians of %zu rounds\n"
               "[Billing]\nClock=model\nStepUSec=%.4g\nUpdateUSec=%.4g\n"
               "# No cold start was measured: no actor started after the job's own start.\n"
               "WarmStartSec=%.6f\n",
                        file, c->n_rounds, c->step_usec, c->update_usec, c->warm_sec);
}

static void print(const Options *options, const char *file, const Calibration *c) {
        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

                json_object_set_member(object, "step_usec", json_real(c->step_usec));
                json_object_set_member(object, "update_usec", json_real(c->update_usec));
                json_object_set_member(object, "cold_start_s", json_real(c->cold_sec));
                json_object_set_member(object, "warm_start_s", json_real(c->warm_sec));
                json_print(node, options->json);
                json_object_unref(object);
                return;
        }
        if (isnan(c->cold_sec)) {
                print_uncold(file, c);
                return;
        }
        printf("# %s on this host: medians of %zu rounds\n"
               "[Billing]\nClock=model\nStepUSec=%.4g\nUpdateUSec=%.4g\n"
               "# A start is a process of this host's; a cloud's takes longer: without the next line, %s "
               "s.\n"
               "ColdStartSec=%.6f\nWarmStartSec=%.6f\n",
                        file, c->n_rounds, c->step_usec, c->update_usec,
                        setting_row(SETTING_Billing_ColdStartSec)->fallback, c->cold_sec, c->warm_sec);
}

ExitStatus verb_calibrate(const Options *options, char **arguments, size_t n) {
        g_autofree Rounds *rounds = g_new0(Rounds, 1), *starts = g_new0(Rounds, 1);
        JobSettings settings, used;
        Calibration calibration;
        JobFile job_file;
        ExitStatus status;

        status = job_file_load(&job_file, arguments[0], options->sets);
        settings = job_file.settings;
        job_file_done(&job_file);
        if (status != STATUS_OK)
                return status;
        follow_prepare();
        status = measure_rounds(options, arguments[0], &settings, rounds, &used);
        if (status == STATUS_OK)
                status = measure_starts(options, arguments[0], &settings, starts);
        if (status != STATUS_OK)
                return status;
        evaluate(rounds, starts, &used, &calibration);
        print(options, arguments[0], &calibration);
        return STATUS_OK;
}
