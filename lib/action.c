/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns observations into the network's input, and the network's output into actions. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/doubles.h"
#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/slot.h"

#define LOG_SQRT_2PI 0.91893853320467274178

void observation_read(const ActordSpace *space, const void *observation, float *ret) {
        size_t n = space_numbers(space);

        if (space->kind == ACTORD_DISCRETE) {
                int32_t choice;

                memcpy(&choice, observation, sizeof(choice));
                memset(ret, 0, space->n_choices * sizeof(float));
                if (choice >= 0 && (uint32_t) choice < space->n_choices)
                        ret[choice] = 1;
                return;
        }

        switch ((ActordElement) space->element) {
        case ACTORD_F32: memcpy(ret, observation, n * sizeof(float)); break;
        case ACTORD_F64:
                for (size_t i = 0; i < n; i++)
                        ret[i] = (float) ((const double *) observation)[i];
                break;
        case ACTORD_I32:
                for (size_t i = 0; i < n; i++)
                        ret[i] = (float) ((const int32_t *) observation)[i];
                break;
        case ACTORD_U8:
                for (size_t i = 0; i < n; i++)
                        ret[i] = ((const uint8_t *) observation)[i];
                break;
        }
}

void observation_normalise(const float *mean, const float *inverse_sd, double clip, size_t n, float *x) {
        float bound = (float) clip;

        if (!(clip > 0))
                return;

        for (size_t i = 0; i < n; i++) {
                float y = (x[i] - mean[i]) * inverse_sd[i];

                /* Written as comparisons, so that a NaN stays a NaN. */
                y = y > bound ? bound : y;
                x[i] = y < -bound ? -bound : y;
        }
}

static int32_t logits_greatest(const float *logits, uint32_t n) {
        uint32_t best = 0;

        for (uint32_t i = 1; i < n; i++)
                if (logits[i] > logits[best])
                        best = i;
        return (int32_t) best;
}

/* log(sum(exp(logits - greatest))): at least 0, since one term is 1. */
static double logits_log_sum(const float *logits, uint32_t n, float greatest) {
        double sum = 0;

        assert(n > 0);

        for (uint32_t i = 0; i < n; i++)
                sum += double_exp((double) logits[i] - greatest);
        return double_log(sum);
}

/* Maps one uniform number through the inverse of the cumulated weights. */
static int32_t logits_sample(const float *logits, uint32_t n, ActordRandom *random) {
        float greatest = logits[logits_greatest(logits, n)];
        double sum = 0, left;

        for (uint32_t i = 0; i < n; i++)
                sum += double_exp((double) logits[i] - greatest);

        left = actord_random_uniform(random, 0, 1) * sum;
        for (uint32_t i = 0; i + 1 < n; i++) {
                left -= double_exp((double) logits[i] - greatest);
                if (left < 0)
                        return (int32_t) i;
        }
        return (int32_t) n - 1;
}

/* Epsilon-greedy as probabilities: a random choice may be the greedy one. */
static double greedy_probability(const float *values, uint32_t n, int32_t choice) {
        double epsilon = values[n];

        return epsilon / n + (choice == logits_greatest(values, n) ? 1 - epsilon : 0);
}

static int32_t greedy_sample(const float *values, uint32_t n, ActordRandom *random) {
        if (actord_random_uniform(random, 0, 1) < (double) values[n])
                return (int32_t) random_below(random, n);
        return logits_greatest(values, n);
}

void action_sample(const Network *network, const float *parameters, bool deterministic, ActordRandom *random,
                void *ret_action, float *ret_log_probability) {
        uint32_t n = network->n_action;

        assert(deterministic || random);

        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL: {
                int32_t choice = deterministic ? logits_greatest(parameters, n)
                                               : logits_sample(parameters, n, random);

                memcpy(ret_action, &choice, sizeof(choice));
                break;
        }
        case ACT_GAUSSIAN: {
                float *action = ret_action;

                for (uint32_t i = 0; i < n; i++) {
                        double noise = deterministic ? 0 : actord_random_normal(random);

                        action[i] = (float) (parameters[i] + double_exp(parameters[n + i]) * noise);
                }
                break;
        }
        case ACT_EPSILON_GREEDY: {
                int32_t choice = deterministic ? logits_greatest(parameters, n)
                                               : greedy_sample(parameters, n, random);

                memcpy(ret_action, &choice, sizeof(choice));
                break;
        }
        }

        if (ret_log_probability)
                *ret_log_probability = action_log_probability(network, parameters, ret_action);
}

float action_log_probability(const Network *network, const float *parameters, const void *action) {
        uint32_t n = network->n_action;
        double sum = 0;

        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL: {
                float greatest = parameters[logits_greatest(parameters, n)];
                int32_t choice;

                memcpy(&choice, action, sizeof(choice));
                if (choice < 0 || (uint32_t) choice >= n)
                        return -INFINITY;
                return (float) ((double) parameters[choice] - greatest -
                                logits_log_sum(parameters, n, greatest));
        }
        case ACT_GAUSSIAN:
                for (uint32_t i = 0; i < n; i++) {
                        double log_std = parameters[n + i];
                        double z = ((double) ((const float *) action)[i] - parameters[i]) /
                                   double_exp(log_std);

                        sum -= 0.5 * z * z + log_std + LOG_SQRT_2PI;
                }
                break;
        case ACT_EPSILON_GREEDY: {
                int32_t choice;

                memcpy(&choice, action, sizeof(choice));
                if (choice < 0 || (uint32_t) choice >= n)
                        return -INFINITY;
                return (float) double_log(greedy_probability(parameters, n, choice));
        }
        }
        return (float) sum;
}

void action_clip(const ActordEnvSpec *spec, const void *action, void *ret_action) {
        const ActordSpace *space = &spec->action;
        float low = (float) space->low, high = (float) space->high;
        const float *from = action;
        float *to = ret_action;
        size_t n = space_numbers(space);

        if (space->kind != ACTORD_BOX) {
                memcpy(ret_action, action, n * sizeof(int32_t));
                return;
        }

        for (size_t i = 0; i < n; i++) {
                float x = from[i] > high ? high : from[i];

                to[i] = x < low ? low : x;
        }
}
