/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the sections [Sweep] and [Range], and turns them into parts of an ordinary experiment. Each trial
 * becomes an arm, with the values that are drawn for it. Each rung becomes a level of the factor "rung",
 * with its StopSteps=. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/experiment/reader.h"
#include "actorctl/experiment/sweep.h"
#include "lib/cleanup.h"

#define SWEEP "Sweep"
#define RANGE "Range"

static Sweep *sweep_of(const Reader *reader) {
        if (!reader->experiment->sweep)
                reader->experiment->sweep = sweep_new();
        return reader->experiment->sweep;
}

static ExitStatus take_number(const Reader *reader, const char *key, const char *value, uint64_t least,
                uint64_t most, uint64_t *ret) {
        if (g_ascii_string_to_unsigned(value, 10, least, most, ret, NULL))
                return STATUS_OK;
        return reader_wrong(reader, SWEEP, key, "it must be a whole number from %" PRIu64 " to %" PRIu64,
                        least, most);
}

static ExitStatus take_method(const Reader *reader, const char *key, const char *value) {
        int method = sweep_method_from_string(value);

        if (method < 0)
                return reader_wrong(reader, SWEEP, key, "it must be random or halving");
        sweep_of(reader)->method = (SweepMethod) method;
        return STATUS_OK;
}

static ExitStatus take_trials(const Reader *reader, const char *key, const char *value) {
        return take_number(reader, key, value, 1, TRIALS_MAX, &sweep_of(reader)->n_trials);
}

static ExitStatus take_seed(const Reader *reader, const char *key, const char *value) {
        return take_number(reader, key, value, 0, UINT64_MAX / 2, &sweep_of(reader)->seed);
}

static ExitStatus take_metric(const Reader *reader, const char *key, const char *value) {
        return reader_metric(reader, SWEEP, value, &sweep_of(reader)->metric);
}

static ExitStatus take_budget(const Reader *reader, const char *key, const char *value) {
        if (settings_parse_money(value, &sweep_of(reader)->budget) < 0)
                return reader_wrong(reader, SWEEP, key,
                                "it must be an amount of money above 0, such as 5 or 5USD, for all cells "
                                "together");
        return STATUS_OK;
}

static ExitStatus take_rungs(const Reader *reader, const char *key, const char *value) {
        uint64_t n = 0;
        ExitStatus status = take_number(reader, key, value, 2, RUNGS_MAX, &n);

        sweep_of(reader)->n_rungs = n;
        return status;
}

static ExitStatus take_eta(const Reader *reader, const char *key, const char *value) {
        return take_number(reader, key, value, 2, ETA_MAX, &sweep_of(reader)->eta);
}

static ExitStatus take_min_steps(const Reader *reader, const char *key, const char *value) {
        return take_number(reader, key, value, 1, STEPS_MAX, &sweep_of(reader)->min_steps);
}

static ExitStatus take_max_steps(const Reader *reader, const char *key, const char *value) {
        return take_number(reader, key, value, 1, STEPS_MAX, &sweep_of(reader)->max_steps);
}

static const struct {
        const char *key;
        ExitStatus (*take)(const Reader *reader, const char *key, const char *value);
        bool halving; /* only Method=halving has the key */
} keys[] = {
        { "Method", take_method, false },
        { "Trials", take_trials, false },
        { "Seed", take_seed, false },
        { "Metric", take_metric, false },
        { "Budget", take_budget, false },
        { "Rungs", take_rungs, true },
        { "Eta", take_eta, true },
        { "MinSteps", take_min_steps, true },
        { "MaxSteps", take_max_steps, true },
};

static ExitStatus read_key(const Reader *reader, const char *key, const char *value) {
        const char *known[G_N_ELEMENTS(keys) + 1] = {}, *nearest;

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                if (strcmp(keys[i].key, key) == 0)
                        return keys[i].take(reader, key, value);
                known[i] = keys[i].key;
        }
        nearest = nearest_word(key, known);
        return reader_wrong(reader, SWEEP, key, "unknown key%s%s%s",
                        nearest ? " (did you mean " : "; settings to draw belong in [Range]",
                        nearest ? nearest : "", nearest ? "?)" : "");
}

ExitStatus sweep_read(const Reader *reader) {
        g_auto(GStrv) names = g_key_file_get_keys(reader->file, SWEEP, NULL, NULL);
        ExitStatus status = STATUS_OK;

        (void) sweep_of(reader);
        for (char **name = names; name && *name && status == STATUS_OK; name++) {
                g_autofree char *value = g_key_file_get_value(reader->file, SWEEP, *name, NULL);

                status = read_key(reader, *name, g_strstrip(value));
        }
        return status;
}

static ExitStatus read_range(const Reader *reader, const char *key) {
        g_autofree char *value = g_key_file_get_value(reader->file, RANGE, key, NULL), *reason = NULL;
        GPtrArray *ranges = sweep_of(reader)->ranges;
        Range *range;

        if (!strchr(key, '.'))
                return reader_wrong(reader, RANGE, key,
                                "write Section.Key=KIND and the values or bounds to draw from");
        if (strcmp(key, "Job.Seed") == 0)
                return reader_wrong(reader, RANGE, key, SEEDS_ARE);
        if (ranges->len == RANGES_MAX)
                return reader_wrong(reader, RANGE, key, "more than %u keys", RANGES_MAX);
        range = range_parse(key, g_strstrip(value), &reason);
        if (!range)
                return reader_wrong(reader, RANGE, key, "%s", reason);
        g_ptr_array_add(ranges, range);
        return STATUS_OK;
}

ExitStatus ranges_read(const Reader *reader) {
        g_auto(GStrv) names = g_key_file_get_keys(reader->file, RANGE, NULL, NULL);
        ExitStatus status = STATUS_OK;

        (void) sweep_of(reader);
        for (char **name = names; name && *name && status == STATUS_OK; name++)
                status = read_range(reader, *name);
        return status;
}

/* Refuses sections and keys of experiments that have no meaning in a sweep. */
static ExitStatus check_alone(const Reader *reader) {
        const Experiment *e = reader->experiment;
        g_autofree char *arm = e->arms->len > 0 ? g_strconcat("Arm ", experiment_arm(e, 0)->name, NULL)
                                                : NULL,
                        *factor = e->factors->len > 0 ? g_strconcat("Factor ", experiment_factor(e, 0)->name,
                                                                        NULL)
                                                      : NULL;

        if (arm)
                return reader_wrong(reader, arm, NULL,
                                "in a sweep the trials are the arms; compare other arms in another file");
        if (factor)
                return reader_wrong(
                                reader, factor, NULL, "a sweep has no factors; write a file for each level");
        if (g_key_file_has_key(reader->file, "Experiment", "Baseline", NULL))
                return reader_wrong(reader, "Experiment", "Baseline",
                                "a sweep ranks its trials and has no baseline; leave this key out");
        if (e->metrics->len > 0)
                return reader_wrong(reader, "Experiment", "Metric",
                                "a sweep ranks its trials by [Sweep] Metric= alone; leave this key out");
        if (!g_key_file_has_group(reader->file, SWEEP))
                return reader_wrong(reader, RANGE, NULL,
                                "[Sweep] is missing: it says how many trials are drawn");
        return STATUS_OK;
}

static ExitStatus check_keys(const Reader *reader) {
        const Sweep *s = reader->experiment->sweep;

        if (s->method == _SWEEP_METHOD_MAX)
                return reader_wrong(reader, SWEEP, NULL, "Method= is missing: random or halving");
        if (s->n_trials == 0)
                return reader_wrong(reader, SWEEP, NULL, "Trials= is missing: the number of trials to draw");
        if (s->metric < 0)
                return reader_wrong(reader, SWEEP, NULL,
                                "Metric= is missing: the figure that decides which trial is better, such "
                                "as return_last5");
        if (metric_is_to_target(s->metric) && isnan(reader->experiment->target))
                return reader_wrong(reader, SWEEP, "Metric",
                                "[Experiment] Target= is missing: the return to reach");
        if (s->ranges->len == 0)
                return reader_wrong(reader, SWEEP, NULL,
                                "[Range] has no key: write a setting to draw, such as Learner.Gamma=uniform "
                                "0.9 1");
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                if (keys[i].halving && s->method != SWEEP_HALVING &&
                                g_key_file_has_key(reader->file, SWEEP, keys[i].key, NULL))
                        return reader_wrong(reader, SWEEP, keys[i].key,
                                        "only Method=halving has rungs; with random, StopSteps= of the job "
                                        "ends each trial");
        return STATUS_OK;
}

/* Checks that no key is both drawn and set. With Method=halving, StopSteps= may be neither, since it follows
 * from the rung. */
static ExitStatus check_sets(const Reader *reader) {
        const Experiment *e = reader->experiment;

        for (guint i = 0; i < e->sets->len; i++) {
                const char *set = e->sets->pdata[i];
                g_autofree char *key = g_strndup(set, strcspn(set, "="));

                if (e->sweep->method == SWEEP_HALVING && strcmp(key, "Job.StopSteps") == 0)
                        return reader_wrong(reader, "Set", key,
                                        "[Sweep] MinSteps= and MaxSteps= set it, rung by rung");
                for (guint k = 0; k < e->sweep->ranges->len; k++)
                        if (strcmp(sweep_range(e->sweep, k)->key, key) == 0)
                                return reader_wrong(reader, RANGE, key,
                                                "[Set] sets it in line %u: remove it there or here",
                                                settings_locate(e->text, "Set", key));
        }
        for (guint k = 0; k < e->sweep->ranges->len; k++)
                if (e->sweep->method == SWEEP_HALVING &&
                                strcmp(sweep_range(e->sweep, k)->key, "Job.StopSteps") == 0)
                        return reader_wrong(reader, RANGE, "Job.StopSteps",
                                        "[Sweep] MinSteps= and MaxSteps= set it, rung by rung");
        return STATUS_OK;
}

/* The number of rungs from MinSteps= up to MaxSteps=, at least two, if each rung is Eta= times as long as
 * the one before. */
static size_t default_rungs(const Sweep *sweep) {
        size_t n = 1;

        for (uint64_t steps = sweep->min_steps; n < RUNGS_MAX && steps <= sweep->max_steps / sweep->eta;
                        steps *= sweep->eta)
                n++;
        return MAX(n, 2);
}

static ExitStatus check_rungs(const Reader *reader) {
        Sweep *s = reader->experiment->sweep;
        uint64_t needed = 1;

        if (s->method != SWEEP_HALVING)
                return STATUS_OK;
        if (s->min_steps == 0 || s->max_steps == 0)
                return reader_wrong(reader, SWEEP, NULL,
                                "%s is missing: the StopSteps= of the %s rung of Method=halving",
                                s->min_steps == 0 ? "MinSteps=" : "MaxSteps=",
                                s->min_steps == 0 ? "first" : "last");
        if (s->max_steps <= s->min_steps)
                return reader_wrong(reader, SWEEP, "MaxSteps", "it must be more than MinSteps=%" PRIu64,
                                s->min_steps);
        if (!g_key_file_has_key(reader->file, SWEEP, "Rungs", NULL))
                s->n_rungs = default_rungs(s);
        for (size_t i = 1; i < s->n_rungs; i++) {
                needed *= s->eta;
                if (needed > s->n_trials)
                        return reader_wrong(reader, SWEEP, "Trials",
                                        "too few: only one of %" PRIu64 " goes on from each rung, so the "
                                        "last of %zu rungs needs %.0f trials at least",
                                        s->eta, s->n_rungs, pow((double) s->eta, (double) s->n_rungs - 1));
                if (sweep_steps(s, i) <= sweep_steps(s, i - 1))
                        return reader_wrong(reader, SWEEP, "MaxSteps",
                                        "too close to MinSteps=%" PRIu64 " for %zu rungs", s->min_steps,
                                        s->n_rungs);
        }
        return STATUS_OK;
}

static void add_trials(Experiment *e) {
        for (uint64_t trial = 1; trial <= e->sweep->n_trials; trial++) {
                g_autofree char *name = g_strdup_printf("t%" PRIu64, trial);
                Arm *arm = arm_new(name);

                for (guint i = 0; i < e->sweep->ranges->len; i++) {
                        const Range *range = sweep_range(e->sweep, i);
                        g_autofree char *value = range_draw(range, e->sweep->seed, trial);

                        g_ptr_array_add(arm->sets, g_strdup_printf("%s=%s", range->key, value));
                }
                g_ptr_array_add(e->arms, arm);
        }
}

static void add_rungs(Experiment *e) {
        Factor *factor;

        if (e->sweep->method != SWEEP_HALVING)
                return;
        factor = factor_new("rung");
        for (size_t rung = 0; rung < e->sweep->n_rungs; rung++) {
                g_autofree char *name = g_strdup_printf("r%zu", rung + 1);
                Arm *level = arm_new(name);

                g_ptr_array_add(level->sets,
                                g_strdup_printf("Job.StopSteps=%" PRIu64, sweep_steps(e->sweep, rung)));
                g_ptr_array_add(factor->levels, level);
        }
        g_ptr_array_add(e->factors, factor);
}

ExitStatus sweep_complete(const Reader *reader) {
        ExitStatus status = check_alone(reader);

        if (status == STATUS_OK)
                status = check_keys(reader);
        if (status == STATUS_OK)
                status = check_sets(reader);
        if (status == STATUS_OK)
                status = check_rungs(reader);
        if (status != STATUS_OK)
                return status;
        add_trials(reader->experiment);
        add_rungs(reader->experiment);
        return STATUS_OK;
}
