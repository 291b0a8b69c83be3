/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the result of a job, for programs and for people. The member names of the JSON object are stable,
 * since other tools read them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/job-status.h"
#include "actorctl/view/table.h"

static double seconds(uint64_t nsec) {
        return (double) nsec / 1e9;
}

/* The word for a result. A job that used up its time counts as finished. */
static const char *result_state(const char *result) {
        return strcmp(result, "runtime-exceeded") == 0 ? "finished" : result;
}

static void set_target(JsonObject *object, const JobStatus *status) {
        json_object_set_boolean_member(object, "target_reached", status->target_reached);
        if (status->target_reached) {
                json_object_set_member(object, "target_env_steps", json_unsigned(status->target_env_steps));
                json_object_set_member(
                                object, "target_wall_s", json_real(seconds(status->target_wall_nsec)));
        } else {
                json_object_set_null_member(object, "target_env_steps");
                json_object_set_null_member(object, "target_wall_s");
        }
}

static void set_use(JsonObject *object, const JobStatus *status) {
        JsonObject *cpu = json_object_new(), *invocations = json_object_new();

        json_object_set_member(cpu, "actors", json_real(seconds(status->cpu_actors_nsec)));
        json_object_set_member(cpu, "learner", json_real(seconds(status->cpu_learner_nsec)));
        json_object_set_member(cpu, "control", json_real(seconds(status->cpu_control_nsec)));
        json_object_set_member(cpu, "startup", json_real(seconds(status->cpu_startup_nsec)));
        json_object_set_member(cpu, "lost", json_real(seconds(status->cpu_lost_nsec)));
        json_object_set_member(cpu, "nodes", json_real(seconds(status->cpu_nodes_nsec)));
        /* The CPU time that the job's own cgroup counted, for comparison with the bill. It is left out if
         * there is no cgroup. */
        if (status->cpu_scope_nsec > 0)
                json_object_set_member(cpu, "scope", json_real(seconds(status->cpu_scope_nsec)));
        json_object_set_object_member(object, "cpu_s", cpu);
        json_object_set_member(invocations, "total", json_unsigned(status->n_invocations));
        json_object_set_member(invocations, "cold", json_unsigned(status->n_cold));
        json_object_set_member(invocations, "warm", json_unsigned(status->n_warm));
        json_object_set_member(invocations, "retried", json_unsigned(status->n_retried));
        json_object_set_object_member(object, "invocations", invocations);
}

/* Adds the member "nodes" about the nodes of a cluster; its max is 0 if the job had none. */
static void set_nodes(JsonObject *object, const JobStatus *status) {
        JsonObject *nodes = json_object_new();

        json_object_set_member(nodes, "max", json_unsigned(status->n_nodes_max));
        json_object_set_member(nodes, "total_s", json_real(seconds(status->nodes_nsec)));
        json_object_set_member(nodes, "lost", json_unsigned(status->n_nodes_lost));
        json_object_set_member(nodes, "idle_s", json_real(seconds(status->nodes_idle_nsec)));
        json_object_set_member(nodes, "waited_s", json_real(seconds(status->nodes_waited_nsec)));
        json_object_set_member(nodes, "sent_bytes", json_unsigned(status->nodes_sent_bytes));
        json_object_set_member(nodes, "received_bytes", json_unsigned(status->nodes_received_bytes));
        json_object_set_member(nodes, "cost", json_real(status->nodes_cost));
        json_object_set_object_member(object, "nodes", nodes);
}

static void set_limits(JsonObject *object, const JobStatus *status) {
        JsonArray *limits = json_array_new();

        for (char **limit = status->limits; *limit; limit++)
                json_array_add_string_element(limits, *limit);
        json_object_set_array_member(object, "limits_not_enforced", limits);
}

JsonNode *job_result_to_json(const JobStatus *status, const JobBill *bill, const char *state_directory) {
        g_autofree char *recovered = format_recovered(status);
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);

        json_object_set_member(object, "job", json_unsigned(status->id));
        json_object_set_string_member(object, "state",
                        job_has_ended(status) ? result_state(status->result) : status->state);
        json_object_set_member(object, "result", json_word(status->result));
        json_object_set_member(object, "fault", json_word(job_has_failed(status) ? status->fault : ""));
        json_object_set_member(object, "recovered", json_word(recovered ? recovered : ""));
        json_object_set_string_member(object, "environment", status->environment);
        json_object_set_string_member(object, "algorithm", status->algorithm);
        json_object_set_string_member(object, "distribution", status->distribution);
        json_object_set_member(object, "distribution_reason", json_word(status->distribution_reason));
        json_object_set_member(object, "seed", json_unsigned(status->seed));
        json_object_set_string_member(object, "scaling_policy", status->scaling_policy);
        json_object_set_member(object, "actors_max", json_unsigned(status->n_actors_max));
        json_object_set_member(object, "rounds", json_unsigned(status->round));
        json_object_set_member(object, "env_steps", json_unsigned(status->n_env_steps));
        json_object_set_member(object, "episodes", json_unsigned(status->n_episodes));
        json_object_set_member(object, "return_mean", json_real(status->return_mean));
        json_object_set_member(object, "evaluation_mean", json_real(status->evaluation_mean));
        json_object_set_member(object, "evaluation_sd", json_real(status->evaluation_deviation));
        json_object_set_member(object, "evaluation_episodes", json_unsigned(status->n_evaluation_episodes));
        json_object_set_member(object, "metrics", job_metrics_to_json(status, &status->metrics));
        json_object_set_member(object, "evaluation_metrics",
                        job_metrics_to_json(status, &status->evaluation_metrics));
        set_target(object, status);
        json_object_set_member(object, "wall_s", json_real(seconds(status->wall_nsec)));
        json_object_set_member(object, "emulated_s", json_real(seconds(status->emulated_nsec)));
        json_object_set_member(object, "policy_sha256", json_word(status->policy_sha256));
        json_object_set_member(object, "cost", job_bill_to_json(bill));
        set_use(object, status);
        set_nodes(object, status);
        json_object_set_member(object, "lives_unmetered", json_unsigned(status->n_lives_unmetered));
        set_limits(object, status);
        json_object_set_member(object, "sandbox_level", json_word(status->sandbox_level));
        if (state_directory)
                json_object_set_string_member(object, "state_directory", state_directory);
        json_object_unref(object);
        return node;
}

char *format_evaluation(const JobStatus *status, char ret[EVALUATION_TEXT_MAX]) {
        if (status->n_evaluation_episodes == 1)
                snprintf(ret, EVALUATION_TEXT_MAX, "%.2f (1 episode)", status->evaluation_mean);
        else
                snprintf(ret, EVALUATION_TEXT_MAX,
                                "%.2f (mean of %" G_GUINT64_FORMAT " episodes; deviation %.2f)",
                                status->evaluation_mean, status->n_evaluation_episodes,
                                status->evaluation_deviation);
        return ret;
}

char *format_scheduler(const JobStatus *status, double actors_mean) {
        const char *policy = status->scaling_policy;
        bool fixed = strcmp(policy, "fixed") == 0;

        if (fixed || status->n_actors_min == status->n_actors_max)
                return g_strdup_printf("%s, %u actor%s a round", policy, status->n_actors_min,
                                status->n_actors_min == 1 ? "" : "s");
        if (!isfinite(actors_mean))
                return g_strdup_printf("%s, %u to %u actors a round", policy, status->n_actors_min,
                                status->n_actors_max);
        return g_strdup_printf("%s, %.2f actors a round, from %u to %u", policy, actors_mean,
                        status->n_actors_min, status->n_actors_max);
}

bool job_has_failed(const JobStatus *status) {
        return strcmp(status->result, "failed") == 0;
}

char *format_recovered(const JobStatus *status) {
        uint64_t n = status->n_retried;

        if (!status->fault[0] || job_has_failed(status))
                return NULL;
        if (n == 0)
                return g_strdup(status->fault);
        return g_strdup_printf("%" G_GUINT64_FORMAT " invocation%s %s repeated; %s%s", n, n == 1 ? "" : "s",
                        n == 1 ? "was" : "were", n == 1 ? "" : "at last, ", status->fault);
}

/* Whether the policy with which the job began had reached the target already. */
static bool was_there_before(const JobStatus *status) {
        return strcmp(status->result, "target-reached") == 0 && status->round == 0;
}

static void print_title(const JobStatus *status) {
        char steps[32], episodes[32];

        if (was_there_before(status)) {
                print_line(2,
                                "%s: nothing was left to train: the checkpoint that it goes on from has "
                                "reached StopReturn= already; set it higher, or unset it, to go further",
                                status->environment);
                return;
        }
        print_line(2, "%s: %s after %s steps in %" G_GUINT64_FORMAT " round%s, %s episodes",
                        status->environment, status->result, format_count(status->n_env_steps, steps),
                        status->round, status->round == 1 ? "" : "s",
                        format_count(status->n_episodes, episodes));
}

void job_result_complain(const JobStatus *status) {
        if (job_has_failed(status))
                complain("the job failed: %s", status->fault[0] ? status->fault : "no reason was recorded");
}

void job_unmetered_print(const JobStatus *status) {
        uint32_t n = status->n_lives_unmetered;

        if (n > 0)
                print_line(2,
                                "%u %s of this job ended without a last record, and no cgroup could be "
                                "read: the usage after the last record of %s is not on the bill",
                                n, n == 1 ? "life" : "lives", n == 1 ? "that life" : "each");
}

void job_result_print(
                const JobStatus *status, const JobBill *bill, double actors_mean, const Options *options) {
        g_autofree char *scheduler = format_scheduler(status, actors_mean),
                        *recovered = format_recovered(status);
        char steps[32], wall[32], emulated[32], evaluation[EVALUATION_TEXT_MAX];

        print_title(status);
        if (recovered)
                print_line(14, "recovered     %s", recovered);
        print_line(14, "scheduler     %s", scheduler);
        if (status->distribution_reason[0]) {
                g_autofree char *text = g_strdup_printf(
                                "%s, since %s", status->distribution, status->distribution_reason);

                print_wrapped("distribution  ", "              ", text);
        }
        if (isfinite(status->return_mean))
                print_line(14, "return        %.2f (mean of the last 100 episodes)", status->return_mean);
        if (status->n_evaluation_episodes > 0)
                print_line(14, "evaluation    %s", format_evaluation(status, evaluation));
        if (status->target_reached && !was_there_before(status))
                print_line(14, "target        reached at %s steps, after %s",
                                format_count(status->target_env_steps, steps),
                                format_duration(status->target_wall_nsec, wall));
        print_line(14, "time          %s on this host; %s on the emulated fleet",
                        format_duration(status->wall_nsec, wall),
                        format_duration(status->emulated_nsec, emulated));
        if (status->policy_sha256[0])
                printf("policy sha256 %s\n", status->policy_sha256);
        if (bill->lines->len == 0 && job_has_failed(status))
                return;
        printf("\n");
        job_bill_print(bill, options);
        job_unmetered_print(status);
}
