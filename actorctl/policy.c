/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What learner/publish.c makes of a learner's numbers, made of the same numbers in a file. */
#include "actorctl/policy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/checkpoint.h"
#include "include/trial.h"
#include "lib/network.h"

/* Of Gymnasium's NormalizeObservation, as the learner has it. */
static const double VARIANCE_EPSILON = 1e-8;

static double epsilon(const JobSettings *s, uint64_t n_env_steps) {
        if (n_env_steps >= s->epsilon_steps)
                return s->epsilon_end;
        return s->epsilon_start +
               (s->epsilon_end - s->epsilon_start) * (double) n_env_steps / (double) s->epsilon_steps;
}

static int read_head(int fd, const char *name, const JobSettings *settings, const Network *network,
                double ret[_TRIAL_POLICY_NUMBER_MAX], char **ret_message) {
        uint64_t n_env_steps;
        int r;

        r = checkpoint_integer(fd, name, "n_env_steps", &n_env_steps, ret_message);
        if (r < 0)
                return r;
        ret[TRIAL_POLICY_CLIP] = !settings->normalize_observations ? 0.0
                                 : settings->observation_clip > 0  ? settings->observation_clip
                                                                   : INFINITY;
        ret[TRIAL_POLICY_EPSILON] =
                        network->act == ACT_EPSILON_GREEDY ? epsilon(settings, n_env_steps) : 0.0;
        return 0;
}

static int read_scale(int fd, const char *name, uint32_t n, double *ret, char **ret_message) {
        g_autofree double *m2 = g_new(double, n);
        double count;
        int r;

        r = checkpoint_doubles(fd, name, "observation.count", 1, &count, ret_message);
        if (r >= 0)
                r = checkpoint_doubles(fd, name, "observation.mean", n, ret, ret_message);
        if (r >= 0)
                r = checkpoint_doubles(fd, name, "observation.m2", n, m2, ret_message);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < n; i++)
                ret[n + i] = 1.0 / sqrt((count > 0 ? m2[i] / count : 1.0) + VARIANCE_EPSILON);
        return 0;
}

/* As learner/checkpoint.c names them. */
static int read_layer(int fd, const char *name, const Layer *layer, float *parameters, char **ret_message) {
        bool alone = layer->kind == LAYER_PARAMETER;
        char tensor[64];
        int r = 0;

        if (!alone) {
                (void) snprintf(tensor, sizeof(tensor), "%s.weight", layer->name);
                r = checkpoint_floats(fd, name, tensor, (size_t) layer->n_units * layer->n_reads,
                                parameters + layer->weight_at, ret_message);
        }
        if (r < 0)
                return r;
        (void) snprintf(tensor, sizeof(tensor), alone ? "%s" : "%s.bias", layer->name);
        return checkpoint_floats(fd, name, tensor, layer->n_units, parameters + layer->bias_at, ret_message);
}

int policy_read(int fd, const char *name, const JobSettings *settings, const ActordEnvSpec *spec,
                GArray *ret_numbers, char **ret_message) {
        g_autofree Network *network = g_new0(Network, 1);
        g_autofree float *parameters = NULL;
        double *numbers;
        size_t n;
        int r;

        r = network_derive(settings, spec, network);
        if (r < 0) {
                *ret_message = g_strdup_printf("%s: no policy of these settings acts in %s (%s)", name,
                                spec->name, g_strerror(-r));
                return r;
        }

        parameters = g_new0(float, network->n_parameters);
        n = network->n_observation;
        g_array_set_size(ret_numbers, (guint) (_TRIAL_POLICY_NUMBER_MAX + 2 * n + network->n_parameters));
        numbers = (double *) (void *) ret_numbers->data;

        r = read_head(fd, name, settings, network, numbers, ret_message);
        if (r >= 0)
                r = read_scale(fd, name, (uint32_t) n, numbers + _TRIAL_POLICY_NUMBER_MAX, ret_message);
        for (uint32_t i = 0; i < network->n_layers && r >= 0; i++)
                r = read_layer(fd, name, &network->layers[i], parameters, ret_message);
        if (r < 0)
                return r;
        for (uint64_t i = 0; i < network->n_parameters; i++)
                numbers[_TRIAL_POLICY_NUMBER_MAX + 2 * n + i] = parameters[i];
        return 0;
}
