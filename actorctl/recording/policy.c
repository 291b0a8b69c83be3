/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the published policy from a checkpoint, as learner/publish.c makes it from the learner's memory. */
#include "actorctl/recording/policy.h"

#include <errno.h>
#include <math.h>

#include "actorctl/checkpoint.h"
#include "lib/algorithm-traits.h"
#include "lib/company.h"
#include "lib/network.h"
#include "lib/slot-refusal.h"

/* the constant of Gymnasium's NormalizeObservation, as in the learner */
static const double VARIANCE_EPSILON = 1e-8;

/* Counts the windows of the replay store; 0 if the algorithm has none. */
static int read_windows(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                uint64_t *ret, char **ret_message) {
        const uint64_t n_slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        TensorRow row = { "replay.stored", "I64", 1, { n_slots }, NULL };
        g_autofree uint64_t *stored = NULL;
        uint64_t n = 0;
        int r;

        if (algorithm_row(settings->algorithm)->store == STORE_REPLAY) {
                r = checkpoint_tensor(checkpoint, name, &row, ret_message);
                if (r < 0)
                        return r;
                row.data = stored = g_new(uint64_t, n_slots);
                r = checkpoint_tensor(checkpoint, name, &row, ret_message);
                if (r < 0)
                        return r;
                for (uint64_t i = 0; i < n_slots; i++)
                        n += algorithm_slot_windows(
                                        stored[i], algorithm_replay_steps(settings), settings->n_steps);
        }
        *ret = n;
        return 0;
}

static int read_head(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                double ret[_TRIAL_POLICY_NUMBER_MAX], char **ret_message) {
        uint64_t n_env_steps, n_windows;
        const TensorRow row = { "n_env_steps", "I64", 1, { 1 }, &n_env_steps };
        int r;

        r = checkpoint_tensor(checkpoint, name, &row, ret_message);
        if (r >= 0)
                r = read_windows(checkpoint, name, settings, &n_windows, ret_message);
        if (r < 0)
                return r;
        ret[TRIAL_POLICY_CLIP] = settings->observation_clip > 0 ? settings->observation_clip : INFINITY;
        if (!settings->normalize_observations)
                ret[TRIAL_POLICY_CLIP] = 0;
        ret[TRIAL_POLICY_EPSILON] = algorithm_epsilon(settings, n_env_steps, n_windows);
        return 0;
}

static int read_scale(const Checkpoint *checkpoint, const char *name, uint32_t n, double *ret,
                char **ret_message) {
        g_autofree double *m2 = g_new(double, n);
        double count;
        const TensorRow rows[] = {
                { "observation.count", "F64", 1, { 1 }, &count },
                { "observation.mean", "F64", 1, { n }, ret },
                { "observation.m2", "F64", 1, { n }, m2 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                int r = checkpoint_tensor(checkpoint, name, &rows[i], ret_message);

                if (r < 0)
                        return r;
        }
        for (uint32_t i = 0; i < n; i++)
                ret[n + i] = 1.0 / sqrt((count > 0 ? m2[i] / count : 1.0) + VARIANCE_EPSILON);
        return 0;
}

/* Reads the parameters of a network as doubles. ret NULL: only checks that the file has them. */
static int read_network(const Checkpoint *checkpoint, const char *name, const char *of,
                const Network *network, double *ret, char **ret_message) {
        g_autofree float *parameters = ret ? g_new0(float, network->n_parameters) : NULL;
        int r;

        r = checkpoint_network(checkpoint, name, of, network, parameters, ret_message);
        for (uint64_t i = 0; r >= 0 && ret && i < network->n_parameters; i++)
                ret[i] = parameters[i];
        return r;
}

/* Reads the policy's network and, after it, the critics that choose among candidates. ret as above. */
static int read_networks(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                const Network *network, const Network *judge, double *ret, char **ret_message) {
        uint64_t at = network->n_parameters;
        int r;

        r = read_network(checkpoint, name, NETWORK_POLICY, network, ret, ret_message);
        for (uint32_t k = 0; r >= 0 && judge->n_layers > 0 && k < JUDGES; k++, at += judge->n_parameters) {
                char of[NET_NAME_MAX];

                algorithm_net_name(settings->algorithm, net_judge(k), of);
                r = read_network(checkpoint, name, of, judge, ret ? ret + at : NULL, ret_message);
        }
        return r;
}

/* Makes the networks of a policy that a job can have. */
static int derive(const JobSettings *settings, const ActordEnvSpec *spec, Network *network, Network *judge) {
        ActordEnvSpec seen;
        PolicyLayout layout;
        int r;

        r = company_spec(settings, spec, &seen);
        if (r >= 0)
                r = network_derive(settings, &seen, network);
        if (r >= 0)
                r = network_derive_judge(settings, network, judge);
        return r < 0 ? r : policy_layout(network, judge, POLICY_BANKS, &layout);
}

static int refuse(int r, const char *name, const JobSettings *settings, const ActordEnvSpec *spec,
                char **ret_message) {
        char sentence[SIZE_SENTENCE_MAX];

        if (r == -E2BIG && job_size_describe(settings, spec, sentence))
                *ret_message = g_strdup_printf("%s: %s", name, sentence);
        else
                *ret_message = g_strdup_printf("%s: a policy with these settings cannot act in %s: %s", name,
                                spec->name, spec_field_to_string((int) spec_field_of_error(r)));
        return r;
}

int policy_read(const Checkpoint *checkpoint, const char *name, const JobSettings *settings,
                const ActordEnvSpec *spec, GArray *ret_numbers, char **ret_message) {
        g_autofree Network *network = g_new0(Network, 1), *judge = g_new0(Network, 1);
        double *numbers;
        size_t n;
        int r;

        r = derive(settings, spec, network, judge);
        if (r < 0)
                return refuse(r, name, settings, spec, ret_message);

        /* A forged file may name networks of any size, so no memory is taken before the file is known to
         * have them. */
        r = read_networks(checkpoint, name, settings, network, judge, NULL, ret_message);
        if (r < 0)
                return r;
        n = network->n_observation;
        g_array_set_size(ret_numbers, (guint) (_TRIAL_POLICY_NUMBER_MAX + 2 * n + network->n_parameters +
                                                      JUDGES * judge->n_parameters));
        numbers = (double *) (void *) ret_numbers->data;

        r = read_head(checkpoint, name, settings, numbers, ret_message);
        if (r < 0)
                return r;
        numbers += _TRIAL_POLICY_NUMBER_MAX;
        r = read_scale(checkpoint, name, (uint32_t) n, numbers, ret_message);
        if (r < 0)
                return r;
        numbers += 2 * n;
        return read_networks(checkpoint, name, settings, network, judge, numbers, ret_message);
}

ExitStatus policy_load(const NamedCheckpoint *checkpoint, const JobFile *job_file, TrialSpec *ret_spec,
                GArray *ret_numbers) {
        g_autofree char *message = NULL;
        ExitStatus status;

        status = trial_spec(job_file, ret_spec);
        if (status != STATUS_OK)
                return status;
        if (policy_read(&checkpoint->checkpoint, checkpoint->name, &job_file->settings, &ret_spec->spec,
                            ret_numbers, &message) < 0) {
                complain("%s", message);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus states_check(const TrialSpec *spec, const GArray *states, uint64_t n_episodes) {
        uint32_t n = trial_state_numbers(spec);

        if (!states || (n > 0 && states->len == n * n_episodes))
                return STATUS_OK;
        if (n == 0)
                complain("%s does not show its physical state, so none can be set", spec->spec.name);
        else
                complain("%s: its state has %u numbers, and %" G_GUINT64_FORMAT " are given",
                                spec->spec.name, n, states->len / n_episodes);
        return STATUS_USAGE;
}

ExitStatus policy_play(const NamedCheckpoint *checkpoint, const JobFile *job_file, const TrialRequest *asked,
                const GArray *states, TrialTake take, void *userdata) {
        g_autoptr(GArray) policy = g_array_new(FALSE, TRUE, sizeof(double));
        g_autoptr(GArray) numbers = g_array_new(FALSE, TRUE, sizeof(double));
        TrialRequest request = *asked;
        TrialVerdict verdict;
        TrialSpec spec;
        ExitStatus status;

        g_assert(asked->kind == TRIAL_PLAY || asked->kind == TRIAL_PLAY_STEPS ||
                        asked->kind == TRIAL_PLAY_EPISODES);

        status = policy_load(checkpoint, job_file, &spec, policy);
        if (status == STATUS_OK)
                status = states_check(&spec, states, asked->n_episodes);
        if (status != STATUS_OK)
                return status;
        if (states)
                g_array_append_vals(numbers, states->data, states->len);
        g_array_append_vals(numbers, policy->data, policy->len);
        request.n_state = numbers->len - policy->len;
        request.n_policy = policy->len;
        status = trial_call(&request, job_file, numbers, take, userdata, &verdict);
        return status == STATUS_OK ? trial_judge(job_file->settings.environment, &verdict) : status;
}
