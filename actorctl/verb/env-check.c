/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* env check: checks whether an environment obeys the rules of the ABI, and prints a line for each rule. env
 * bench: measures the speed of its steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actorctl/job-status.h"
#include "actorctl/view/table.h"
#include "actorctl/experiment/statistics.h"
#include "actorctl/trial.h"
#include "include/sandbox.h"
#include "lib/string-tables.h"

static const char *const promises[] = {
#define X(name, promise) promise,
        TRIAL_POINTS(X)
#undef X
};

static const char *const findings[] = {
#define X(name, sentence) sentence,
        TRIAL_FINDINGS(X)
#undef X
};

typedef struct Check {
        const Options *options;
        JsonArray *points;
        unsigned n, n_broken;
        bool loads;
} Check;

static bool is_kept(const TrialPoint *point) {
        return point->finding == TRIAL_FINDING_KEPT;
}

static bool is_skipped(const TrialPoint *point) {
        return point->finding == TRIAL_FINDING_STICKY || point->finding == TRIAL_FINDING_STATELESS;
}

static char *reason(const TrialPoint *point) {
        char fault[256];

        if (is_kept(point))
                return g_strdup("");
        if (point->finding == TRIAL_FINDING_FAULT)
                return g_strdup_printf("it %s", fault_describe(point->fault, point->detail, fault));
        return g_strdup_printf(findings[point->finding], point->detail);
}

static void take_point(const TrialRow *row, void *userdata) {
        const TrialPoint *point = row->head;
        Check *check = userdata;
        g_autofree char *why = NULL;
        bool ok;

        if (row->kind != TRIAL_POINT || point->point != check->n)
                return;
        ok = is_kept(point) || is_skipped(point);
        why = reason(point);
        check->n++;
        check->n_broken += !ok;
        if (point->point == TRIAL_POINT_SPEC)
                check->loads = ok;

        if (check->options->json != JSON_OFF) {
                JsonObject *object = json_object_new();

                json_object_set_string_member(object, "point", promises[point->point]);
                json_object_set_boolean_member(object, "ok", ok);
                json_object_set_boolean_member(object, "skipped", is_skipped(point));
                json_object_set_member(object, "finding", json_word(why));
                json_array_add_object_element(check->points, object);
        } else if (!ok || !check->options->quiet) {
                bool tried = !is_skipped(point) && point->finding != TRIAL_FINDING_NOT_TRIED;

                printf("%s %u - %s%s%s\n", ok ? "ok" : "not ok", check->n, promises[point->point],
                                tried ? "" : " # SKIP ", tried ? "" : why);
                if (!ok && tried)
                        printf("# %s\n", why);
                (void) fflush(stdout);
        }
}

static void print_json(const Options *options, const char *environment, const Check *check) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "environment", environment);
        json_object_set_boolean_member(object, "ok", check->n_broken == 0);
        json_object_set_array_member(object, "points", json_array_ref(check->points));
        json_print(node, options->json);
        json_object_unref(object);
}

ExitStatus env_check(const Options *options, const char *environment) {
        const TrialRequest request = { .kind = TRIAL_CHECK };
        g_autoptr(JsonArray) points = json_array_new();
        Check check = { .options = options, .points = points };
        TrialVerdict verdict;
        JobFile job_file;
        ExitStatus status;

        status = trial_submission(options, environment, &job_file);
        if (status == STATUS_OK && options->json == JSON_OFF && !options->quiet)
                printf("1..%d\n", _TRIAL_POINT_MAX);
        if (status == STATUS_OK)
                status = trial_call(&request, &job_file, NULL, take_point, &check, &verdict);
        if (status == STATUS_OK)
                status = trial_judge(environment, &verdict);
        job_file_done(&job_file);
        if (status != STATUS_OK)
                return status;

        if (options->json != JSON_OFF)
                print_json(options, environment, &check);
        if (!check.loads) {
                complain("%s is not an environment that a job can run", environment);
                return STATUS_USAGE;
        }
        if (check.n_broken > 0)
                complain("%s passes %u of %u checks", environment, check.n - check.n_broken, check.n);
        return check.n_broken > 0 ? STATUS_FAILED : STATUS_OK;
}

typedef struct Rates {
        GArray *rates[2]; /* doubles, steps per CPU second; [0]: outside of the sandbox, [1]: inside */
        uint32_t level;
} Rates;

static void take_rate(const TrialRow *row, void *userdata) {
        const TrialRate *rate = row->head;
        Rates *rates = userdata;

        if (row->kind != TRIAL_RATE || rate->inside > 1 || rate->level >= _SANDBOX_LEVEL_MAX)
                return;
        g_array_append_val(rates->rates[rate->inside], rate->steps_per_second);
        rates->level = rate->level;
}

static double median(const GArray *values) {
        return quantile((const double *) (void *) values->data, values->len, 0.5);
}

/* The rates of two equal runs differ by about this share. */
#define SHARE_NOTICED 0.02

/* Prints how many steps a second the environment makes outside of a sandbox, and which share of them the
 * sandbox costs: "28,672,030 outside: 5.2 % lost". */
static void print_outside(double inside, double outside) {
        double lost = 1 - inside / outside;
        char count[32];

        printf(", %s outside: ", format_count((uint64_t) outside, count));
        if (fabs(lost) <= SHARE_NOTICED)
                printf("no difference");
        else
                printf("%.1f %% %s", 100 * fabs(lost), lost > 0 ? "lost" : "gained");
}

static void print_rates(const Options *options, const char *environment, const Rates *rates) {
        double outside = median(rates->rates[0]), inside = median(rates->rates[1]);
        const char *level = sandbox_level_to_string(rates->level);
        char count[32];

        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

                json_object_set_string_member(object, "environment", environment);
                json_object_set_string_member(object, "sandbox_level", level);
                json_object_set_int_member(object, "runs", rates->rates[1]->len);
                json_object_set_member(object, "inside_steps_per_s", json_real(inside));
                json_object_set_member(object, "outside_steps_per_s", json_real(outside));
                json_object_set_member(object, "share_lost", json_real(1 - inside / outside));
                json_print(node, options->json);
                json_object_unref(object);
                return;
        }
        printf("%s: %s steps/s in the sandbox (%s)", environment, format_count((uint64_t) inside, count),
                        level);
        if (isfinite(outside))
                print_outside(inside, outside);
        printf("\nmedians of %u runs%s, per CPU second, random actions%s\n", rates->rates[1]->len,
                        isfinite(outside) ? " each, by turns" : "",
                        isfinite(outside) ? "" : "; a plugin runs only in the sandbox");
}

ExitStatus env_bench(const Options *options, const char *environment) {
        const TrialRequest request = { .kind = TRIAL_BENCH, .n_steps = options->n_steps };
        g_autoptr(GArray) outside = g_array_new(FALSE, FALSE, sizeof(double));
        g_autoptr(GArray) inside = g_array_new(FALSE, FALSE, sizeof(double));
        Rates rates = { .rates = { outside, inside } };
        TrialVerdict verdict;
        JobFile job_file;
        ExitStatus status;

        status = trial_submission(options, environment, &job_file);
        if (status == STATUS_OK)
                status = trial_call(&request, &job_file, NULL, take_rate, &rates, &verdict);
        if (status == STATUS_OK)
                status = trial_judge(environment, &verdict);
        if (status == STATUS_OK)
                print_rates(options, environment, &rates);
        job_file_done(&job_file);
        return status;
}
