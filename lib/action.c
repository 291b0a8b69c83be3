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
#define LOG_2        0.69314718055994530942

/* The greatest |tanh(x)| for which x is computed from an action: an action on a bound would have an infinite
 * x. */
#define SQUASHED_MOST (1 - 1e-7)

/* One-hot encodes n choices. */
static void choices_read(const void *observation, size_t n, uint32_t n_choices, float *ret) {
        for (size_t i = 0; i < n; i++, ret += n_choices) {
                int32_t choice;

                memset(ret, 0, n_choices * sizeof(float));
                memcpy(&choice, (const uint8_t *) observation + i * sizeof(choice), sizeof(choice));
                if (choice >= 0 && (uint32_t) choice < n_choices)
                        ret[choice] = 1;
        }
}

void observation_read(const ActordSpace *space, const void *observation, float *ret) {
        size_t n = space_numbers(space);

        if (space->kind != ACTORD_BOX) {
                choices_read(observation, n, space->n_choices, ret);
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

                /* The comparisons are false for a NaN, so it stays a NaN. */
                y = y > bound ? bound : y;
                x[i] = y < -bound ? -bound : y;
        }
}

void observation_edit(const Network *network, const float *observation, float *ret) {
        for (uint32_t i = 0; i < network->n_edited; i++) {
                const Monomial *m = &network->monomials[i];

                ret[i] = observation[m->first];
                if (m->second != MONOMIAL_LINEAR)
                        ret[i] *= observation[m->second];
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

/* Samples each number of the action by its own logits, in order. */
static void categorical_sample(const Network *network, const float *logits, bool deterministic,
                ActordRandom *random, int32_t *ret_action) {
        for (uint32_t k = 0; k < network->n_choices; k++) {
                uint32_t n = network->choices[k];

                ret_action[k] = deterministic ? logits_greatest(logits, n)
                                              : logits_sample(logits, n, random);
                logits += n;
        }
}

static double categorical_log_probability(
                const Network *network, const float *logits, const int32_t *action) {
        double sum = 0;

        for (uint32_t k = 0; k < network->n_choices; k++) {
                uint32_t n = network->choices[k];
                float greatest = logits[logits_greatest(logits, n)];

                if (action[k] < 0 || (uint32_t) action[k] >= n)
                        return -INFINITY;
                sum += (double) logits[action[k]] - greatest - logits_log_sum(logits, n, greatest);
                logits += n;
        }
        return sum;
}

/* The probability of an action under epsilon-greedy: a random choice may also hit the greedy one. */
static double greedy_probability(const float *values, uint32_t n, int32_t choice) {
        double epsilon = values[n];

        return epsilon / n + (choice == logits_greatest(values, n) ? 1 - epsilon : 0);
}

static int32_t greedy_sample(const float *values, uint32_t n, ActordRandom *random) {
        if (actord_random_uniform(random, 0, 1) < (double) values[n])
                return (int32_t) random_below(random, n);
        return logits_greatest(values, n);
}

/* The action as it is stored, as a float: rounding must not move it beyond the bounds. */
static float action_within(const Network *network, double x) {
        x = x > network->action_high ? network->action_high : x;
        return (float) (x < network->action_low ? network->action_low : x);
}

double squashed_log_sd(float share) {
        return SQUASHED_LOG_SD_LOW +
               0.5 * (SQUASHED_LOG_SD_HIGH - SQUASHED_LOG_SD_LOW) * ((double) share + 1);
}

/* log(1 - tanh(x)^2), for squashed actions ("Soft Actor-Critic Algorithms and Applications", Haarnoja et al.
 * 2018, appendix C). Uses 1 - tanh(x)^2 = 4 / (e^x + e^-x)^2. */
double log_squash_slope(double x) {
        double size = x < 0 ? -x : x;

        return 2 * (LOG_2 - size - double_log(1 + double_exp(-2 * size)));
}

/* Whether this action is drawn uniformly, as all actions are until there is enough data to learn from. */
static bool action_is_random(float chance, ActordRandom *random) {
        return chance > 0 && actord_random_uniform(random, 0, 1) < (double) chance;
}

static void uniform_sample(const Network *network, ActordRandom *random, float *ret_action) {
        for (uint32_t i = 0; i < network->n_action; i++)
                ret_action[i] = action_within(network,
                                actord_random_uniform(random, network->action_low, network->action_high));
}

/* Adds normal noise, whose deviation is a share of the distance from the middle to a bound, as in
 * "Continuous control with deep reinforcement learning" (Lillicrap et al. 2016). The noise has the form of
 * "Addressing Function Approximation Error in Actor-Critic Methods" (Fujimoto et al. 2018). */
static void deterministic_sample(const Network *network, const float *parameters, bool deterministic,
                ActordRandom *random, float *ret_action) {
        double middle = action_middle(network), reach = action_reach(network);

        if (!deterministic && action_is_random(parameters[network->n_action], random)) {
                uniform_sample(network, random, ret_action);
                return;
        }
        for (uint32_t i = 0; i < network->n_action; i++) {
                bool drawn = !deterministic && !network->noise_carried;
                double noise = drawn ? network->action_noise * actord_random_normal(random) : 0;

                ret_action[i] = action_within(network, middle + reach * (parameters[i] + noise));
        }
}

/* The candidate with the greatest value; n: none has a value that is finite. */
static uint32_t candidate_best(const float *values, uint32_t n) {
        uint32_t best = n;

        for (uint32_t i = 0; i < n; i++)
                if (isfinite(values[i]) && (best == n || values[i] > values[best]))
                        best = i;
        return best;
}

/* Draws one of n candidates, each with the probability softmax(values), as in "Diffusion Policies as an
 * Expressive Policy Class for Offline Reinforcement Learning" (Wang, Hunt & Zhou, ICLR 2023). Or, if
 * `deterministic`, takes the best. A candidate whose value is not finite is never chosen. If no value is
 * finite, the first candidate is chosen. */
static uint32_t candidate_choose(const float *values, uint32_t n, bool deterministic, ActordRandom *random) {
        double weights[CANDIDATES_MAX], sum = 0, left;
        uint32_t best = candidate_best(values, n), last = best;

        if (best == n)
                return 0;
        if (deterministic)
                return best;

        for (uint32_t i = 0; i < n; i++) {
                weights[i] = 0;
                if (!isfinite(values[i]))
                        continue;
                weights[i] = double_exp((double) values[i] - values[best]);
                sum += weights[i];
                last = i;
        }
        left = actord_random_uniform(random, 0, 1) * sum;
        for (uint32_t i = 0; i < last; i++) {
                left -= weights[i];
                if (left < 0)
                        return i;
        }
        return last;
}

float action_at_share(const Network *network, float share) {
        return action_within(network, action_middle(network) + action_reach(network) * share);
}

/* For policies that act by passes: scales the result of the passes to the action's bounds, unless a random
 * action is drawn. Of several candidates one is chosen. */
static void shares_sample(const Network *network, const float *shares, bool deterministic,
                ActordRandom *random, float *ret_action) {
        uint32_t n = network->n_action;
        const float *chance = shares + (size_t) network->candidates * n;

        if (!deterministic && action_is_random(*chance, random)) {
                uniform_sample(network, random, ret_action);
                return;
        }
        if (network->candidates > 1)
                shares += (size_t) candidate_choose(chance + 1, network->candidates, deterministic, random) *
                          n;
        for (uint32_t i = 0; i < n; i++)
                ret_action[i] = action_at_share(network, shares[i]);
}

/* Draws a normal number and sends it through tanh. */
static void squashed_sample(const Network *network, const float *parameters, bool deterministic,
                ActordRandom *random, float *ret_action) {
        double middle = action_middle(network), reach = action_reach(network);
        uint32_t n = network->n_action;

        if (!deterministic && action_is_random(parameters[2 * (size_t) n], random)) {
                uniform_sample(network, random, ret_action);
                return;
        }
        for (uint32_t i = 0; i < n; i++) {
                double noise = deterministic ? 0 : actord_random_normal(random);
                double x = parameters[i] + double_exp(squashed_log_sd(parameters[n + i])) * noise;

                ret_action[i] = action_within(network, middle + reach * double_tanh(x));
        }
}

/* The density of the policy itself, without the chance of random actions. An action on a bound counts as an
 * action just inside it. */
static double squashed_log_probability(
                const Network *network, const float *parameters, const float *action) {
        double middle = action_middle(network), reach = action_reach(network), sum = 0;
        uint32_t n = network->n_action;

        for (uint32_t i = 0; i < n; i++) {
                double log_sd = squashed_log_sd(parameters[n + i]);
                double y = reach > 0 ? ((double) action[i] - middle) / reach : 0, x, z;

                y = y > SQUASHED_MOST ? SQUASHED_MOST : y;
                y = y < -SQUASHED_MOST ? -SQUASHED_MOST : y;
                x = 0.5 * double_log((1 + y) / (1 - y));
                z = (x - parameters[i]) / double_exp(log_sd);
                sum -= 0.5 * z * z + log_sd + LOG_SQRT_2PI + log_squash_slope(x) + double_log(reach);
        }
        return sum;
}

static void gaussian_sample(const float *parameters, uint32_t n, bool deterministic, ActordRandom *random,
                float *ret_action) {
        for (uint32_t i = 0; i < n; i++) {
                double noise = deterministic ? 0 : actord_random_normal(random);

                ret_action[i] = (float) (parameters[i] + double_exp(parameters[n + i]) * noise);
        }
}

static double gaussian_log_probability(const float *parameters, uint32_t n, const float *action) {
        double sum = 0;

        for (uint32_t i = 0; i < n; i++) {
                double log_std = parameters[n + i];
                double z = ((double) action[i] - parameters[i]) / double_exp(log_std);

                sum -= 0.5 * z * z + log_std + LOG_SQRT_2PI;
        }
        return sum;
}

void action_sample(const Network *network, const float *parameters, bool deterministic, ActordRandom *random,
                void *ret_action, float *ret_log_probability) {
        uint32_t n = network->n_action;

        assert(deterministic || random);

        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL:
                categorical_sample(network, parameters, deterministic, random, ret_action);
                break;
        case ACT_GAUSSIAN: gaussian_sample(parameters, n, deterministic, random, ret_action); break;
        case ACT_EPSILON_GREEDY: {
                int32_t choice = deterministic ? logits_greatest(parameters, n)
                                               : greedy_sample(parameters, n, random);

                memcpy(ret_action, &choice, sizeof(choice));
                break;
        }
        case ACT_DETERMINISTIC:
                deterministic_sample(network, parameters, deterministic, random, ret_action);
                break;
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION: shares_sample(network, parameters, deterministic, random, ret_action); break;
        case ACT_SQUASHED: squashed_sample(network, parameters, deterministic, random, ret_action); break;
        }

        if (ret_log_probability)
                *ret_log_probability = action_log_probability(network, parameters, ret_action);
}

static int32_t choice_of(const void *action) {
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        return choice;
}

float action_log_probability(const Network *network, const float *parameters, const void *action) {
        uint32_t n = network->n_action;

        switch ((ActKind) network->act) {
        case ACT_CATEGORICAL: return (float) categorical_log_probability(network, parameters, action);
        case ACT_GAUSSIAN: return (float) gaussian_log_probability(parameters, n, action);
        case ACT_EPSILON_GREEDY: {
                int32_t choice = choice_of(action);

                if (choice < 0 || (uint32_t) choice >= n)
                        return -INFINITY;
                return (float) double_log(greedy_probability(parameters, n, choice));
        }
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC: return 0;
        case ACT_SQUASHED: return (float) squashed_log_probability(network, parameters, action);
        }
        return 0;
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
