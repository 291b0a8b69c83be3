/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state and the policy of MinionsRL's scheduler ("Cheaper and Faster: Distributed Deep Reinforcement
 * Learning with Serverless Computing", Yu et al., AAAI 2024). The state's eight numbers differ by many
 * orders of magnitude. The paper does not say how they are scaled, so the scales here are actord's own. */
#include "lib/minions.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/doubles.h"
#include "lib/environments.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/slot.h"
#include "lib/space.h"
#include "lib/statistics.h"

#define ROUNDS_HALF 20.0 /* the round that is in the middle of the scale */
#define KL_HALF     0.01 /* the paper's KL target */
#define TIME_UNIT   1e6  /* nanoseconds; a time that is much shorter becomes almost 0 */
#define TIME_SCALE  6.0  /* the scale covers six decades, up to a quarter of an hour */

DEFINE_CLEANUP(Forward *, forward_free)

static float within(double x, double low) {
        /* written so that a NaN becomes the lowest value */
        if (!(x > low))
                return (float) low;
        return x < 1.0 ? (float) x : 1.0f;
}

static float share_of(double x, double half) {
        return within(x / (fabs(x) + half), -1.0);
}

static float time_of(uint64_t nsec) {
        return within(double_log(1.0 + (double) nsec / TIME_UNIT) * M_LOG10E / TIME_SCALE, 0.0);
}

void minions_features(const MinionsFacts *facts, double target, float ret[MINIONS_N_FEATURES]) {
        double scale = target != 0 ? fabs(target) : 1.0;
        bool any;

        assert(facts);
        assert(ret);

        any = facts->round > 0;
        /* Before the first round ends, only the round's number and the budget are known. */
        ret[MINIONS_ROUND] = within((double) facts->round / ((double) facts->round + ROUNDS_HALF), 0.0);
        ret[MINIONS_LOSS] = any && isfinite(facts->loss) ? share_of(facts->loss, 1.0) : 0.0f;
        ret[MINIONS_RETURN] =
                        any && isfinite(facts->return_mean) ? share_of(facts->return_mean, scale) : -1.0f;
        ret[MINIONS_KL] = any && isfinite(facts->kl) ? share_of(facts->kl, KL_HALF) : 0.0f;
        ret[MINIONS_LEARNER_TIME] = any ? time_of(facts->learner_nsec) : 0.0f;
        ret[MINIONS_ACTOR_TIME] = any ? time_of(facts->actor_mean_nsec) : 0.0f;
        ret[MINIONS_ROUND_TIME] = any ? time_of(facts->round_nsec) : 0.0f;
        ret[MINIONS_BUDGET] = any ? within(facts->budget_left, 0.0) : 1.0f;
}

double minions_loss(const JobSettings *settings, const Statistics *statistics) {
        return statistics->loss_policy + settings->value_weight * statistics->loss_value -
               settings->entropy_weight * statistics->entropy;
}

double minions_return(const Statistics *statistics, bool evaluates, double before) {
        double shown = statistics_return(statistics, evaluates);

        return isfinite(shown) ? shown : before;
}

double minions_steps_left(const JobSettings *settings, const Statistics *statistics) {
        return 1.0 - (double) statistics->n_env_steps / (double) settings->stop_steps;
}

double minions_target(const JobSettings *settings) {
        const EnvironmentRow *row = environment_find(settings->environment);

        double target = settings_target_return(settings);

        if (isfinite(target))
                return target;
        return row ? row->threshold : NAN;
}

/* The number of bytes of a printable UTF-8 character; 0: it is not one. */
static unsigned character_bytes(const uint8_t *s) {
        unsigned n = 2u + (s[0] >= 0xe0) + (s[0] >= 0xf0);

        if (s[0] < 0x80)
                return s[0] >= 0x20 && s[0] != 0x7f;
        if (s[0] < 0xc2 || s[0] > 0xf4)
                return 0;
        for (unsigned i = 1; i < n; i++)
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        /* Refused: control characters; overlong forms; surrogates; numbers beyond the last character. */
        if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
                        (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
                        (s[0] == 0xf4 && s[1] > 0x8f))
                return 0;
        return n;
}

/* Whether the text is printable UTF-8. A message bus disconnects a client that sends other strings, and a
 * terminal obeys control characters. */
static bool is_words(const char *text, size_t size) {
        unsigned n;

        if (!memchr(text, 0, size))
                return false;
        for (; *text; text += n) {
                n = character_bytes((const uint8_t *) text);
                if (n == 0)
                        return false;
        }
        return true;
}

static bool words_are_sane(const MinionsModel *m) {
        return is_words(m->job, sizeof(m->job)) && is_words(m->environment, sizeof(m->environment)) &&
               is_words(m->currency, sizeof(m->currency)) &&
               is_words(m->price_sheet, sizeof(m->price_sheet)) && is_words(m->start, sizeof(m->start)) &&
               is_words(m->start_environment, sizeof(m->start_environment));
}

int minions_check(const void *data, size_t n, const char **ret_reason) {
        MinionsModel m;

        assert(data || n == 0);
        assert(ret_reason);

        *ret_reason = "it is too short to be a trained scheduler";
        if (n < sizeof(m))
                return -EBADMSG;
        memcpy(&m, data, sizeof(m));

        *ret_reason = "it is not a trained scheduler";
        if (m.magic != MINIONS_MAGIC)
                return -EBADMSG;
        *ret_reason = "it is a trained scheduler of another version of actord";
        if (m.abi != MINIONS_ABI || m.struct_bytes != sizeof(m))
                return -EBADMSG;
        *ret_reason = "its number of choices is impossible";
        if (m.n_choices < 1 || m.n_choices > ACTORS_MAX)
                return -EBADMSG;
        *ret_reason = "its size does not match its number of choices: it is cut short, or bytes were "
                      "added";
        if (n != sizeof(m) + MINIONS_PARAMETERS(m.n_choices) * sizeof(float))
                return -EBADMSG;
        *ret_reason = "one of its strings has no end, or is not text";
        if (!words_are_sane(&m))
                return -EBADMSG;

        *ret_reason = "one of its numbers is not finite";
        if (!isfinite(m.target) || !isfinite(m.beta) || !isfinite(m.cost_paper) || !isfinite(m.cost_full) ||
                        !isfinite(m.start_paper) || !isfinite(m.start_full))
                return -EBADMSG;
        /* A training that starts from this scheduler adds these amounts to its own bill. */
        if (m.cost_paper < 0 || m.cost_full < 0 || m.start_paper < 0 || m.start_full < 0) {
                *ret_reason = "the bill of its training is negative";
                return -EBADMSG;
        }
        for (uint64_t i = 0; i < MINIONS_PARAMETERS(m.n_choices); i++) {
                float x;

                memcpy(&x, (const uint8_t *) data + sizeof(m) + i * sizeof(x), sizeof(x));
                if (!isfinite(x))
                        return -EBADMSG;
        }
        return 0;
}

/* Makes the network that the learner has trained. A decision needs only the policy's half of the file, so
 * the critic's half stays zero. */
static int network_make(uint32_t n_choices, ActordEnvSpec *ret_spec, Network *ret) {
        JobSettings settings = {
                .hidden_layers = { .n = 2, .values = { MINIONS_UNITS, MINIONS_UNITS } },
                .activation = ACTIVATION_TANH,
        };

        *ret_spec = (ActordEnvSpec){
                .name = "scheduler",
                .observation = space_of_numbers(MINIONS_N_FEATURES, -1, 1),
                .action = space_of_choices(n_choices),
                .n_agents = 1,
        };
        return network_derive(&settings, ret_spec, ret);
}

/* Copies the weights and biases of a model file, where the first layer's come first. A layer of the Network
 * names only its input, so the layers are found from the last to the first. */
static void parameters_place(const Network *network, const uint8_t *data, float *ret) {
        const Layer *layers[3], *layer = network_output(network, OUTPUT_ACTION);

        for (int i = 2; i >= 0; i--) {
                assert(layer);
                layers[i] = layer;
                layer = &network->layers[layer->input];
        }
        for (unsigned i = 0; i < 3; i++) {
                size_t n_weights = (size_t) layers[i]->n_in * layers[i]->n_out, n_biases = layers[i]->n_out;

                memcpy(ret + layers[i]->weight_at, data, n_weights * sizeof(float));
                data += n_weights * sizeof(float);
                memcpy(ret + layers[i]->bias_at, data, n_biases * sizeof(float));
                data += n_biases * sizeof(float);
        }
}

int minions_decide(const void *data, size_t n, const float features[MINIONS_N_FEATURES], uint32_t *ret) {
        _cleanup_(forward_freep) Forward *forward = NULL;
        _cleanup_free_ uint8_t *bank = NULL;
        _cleanup_free_ float *logits = NULL;
        PolicyLayout layout;
        ActordEnvSpec spec;
        MinionsModel m;
        Network network;
        int32_t choice;
        int r;

        assert(data && n >= sizeof(m));
        assert(features);
        assert(ret);

        memcpy(&m, data, sizeof(m));
        assert(n == sizeof(m) + MINIONS_PARAMETERS(m.n_choices) * sizeof(float));
        r = network_make(m.n_choices, &spec, &network);
        if (r < 0)
                return r;
        r = policy_layout(&network, NULL, POLICY_BANKS, &layout);
        if (r < 0)
                return r;
        r = forward_new(&network, &spec, &forward);
        if (r < 0)
                return r;

        bank = aligned_alloc(64, (layout.bank_bytes + 63) / 64 * 64);
        logits = calloc(2 * (size_t) m.n_choices, sizeof(float));
        if (!bank || !logits)
                return -ENOMEM;
        memset(bank, 0, layout.bank_bytes); /* the bank's head is zero: observations are not normalised */
        parameters_place(&network, (const uint8_t *) data + sizeof(m),
                        (float *) (bank + layout.parameters_at));

        forward_load(forward, (const PolicyHead *) bank, &layout);
        forward_row(forward, features, logits);
        action_sample(&network, logits, true, NULL, &choice, NULL);
        *ret = (uint32_t) choice + 1;
        return 0;
}
