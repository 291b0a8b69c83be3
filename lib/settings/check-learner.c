/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of the learner's settings: values of [Learner] that contradict each other, or that do not fit the
 * rounds of the job. */
#include <math.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/environments.h"
#include "lib/fragment.h"
#include "lib/regulation.h"
#include "lib/rng.h"
#include "lib/settings/internal.h"
#include "lib/settings/print.h"

/* Only an explicit MinibatchSize= can be too large: the default is reduced to the rows of a round. */
static void check_minibatch(SettingsReader *reader, const JobSettings *settings) {
        bool fixed = settings->scheduler.kind == SCHEDULER_FIXED;
        uint32_t n = distribution_rollouts(distribution_of(settings),
                        fixed ? settings->n_actors : settings_actors_max(settings));
        uint64_t rows = (uint64_t) settings->envs_per_actor * settings->rollout_steps * n;
        g_autofree char *text = NULL;

        if (!algorithm_uses(settings->algorithm, SETTING_Learner_MinibatchSize) ||
                        algorithm_row(settings->algorithm)->store == STORE_REPLAY ||
                        !settings_present(settings, SETTING_Learner_MinibatchSize) ||
                        settings->minibatch_size <= rows)
                return;
        text = g_strdup_printf("%u", settings->minibatch_size);
        if (distribution_overlaps(distribution_of(settings)))
                reader_complain(reader, "Learner", "MinibatchSize", text,
                                "a round has only %" G_GUINT64_FORMAT
                                " rows, those of one actor (EnvsPerActor=%u, RolloutSteps=%u)",
                                rows, settings->envs_per_actor, settings->rollout_steps);
        else
                reader_complain(reader, "Learner", "MinibatchSize", text,
                                "a round has only %" G_GUINT64_FORMAT
                                " rows (%s=%u, EnvsPerActor=%u, RolloutSteps=%u)",
                                rows, fixed ? "Actors" : "MaxActors", n, settings->envs_per_actor,
                                settings->rollout_steps);
}

/* The random streams of a minibatch are named by its number within the update. So this number must not
 * exceed RANDOM_STEP_MAX. */
static void check_draws(SettingsReader *reader, const JobSettings *settings) {
        uint64_t rows = (uint64_t) settings->envs_per_actor * settings->rollout_steps *
                        distribution_rollouts(distribution_of(settings), settings_actors_max(settings));
        char text[SETTING_TEXT_MAX];

        /* Of the steps that the last round earned, less than one can be left over. So a round that passes
         * this check takes at most RANDOM_STEP_MAX steps. */
        if ((double) rows * settings->train_ratio <= RANDOM_STEP_MAX)
                return;
        setting_print(settings, SETTING_Learner_TrainRatio, text);
        reader_complain(reader, "Learner", "TrainRatio", text,
                        "a round has up to %" G_GUINT64_FORMAT
                        " rows, and no more than %u gradient steps may follow it",
                        rows, RANDOM_STEP_MAX);
}

/* A replay store is divided evenly among the slots. The part of a slot must have room for a whole
 * invocation, and for a window of NSteps= that begins in one invocation and ends in the next. */
static void check_replay(SettingsReader *reader, const JobSettings *settings) {
        uint64_t slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        uint64_t least = settings->rollout_steps + (uint64_t) settings->n_steps;
        g_autofree char *text = NULL;

        if (algorithm_row(settings->algorithm)->store != STORE_REPLAY)
                return;
        if (algorithm_replay_steps(settings) < least) {
                text = g_strdup_printf("%u", settings->replay_size);
                reader_complain(reader, "Learner", "ReplaySize", text,
                                "%" G_GUINT64_FORMAT
                                " slots share it, and each needs RolloutSteps=%u plus NSteps=%u rows: "
                                "write at least %" G_GUINT64_FORMAT,
                                slots, settings->rollout_steps, settings->n_steps, slots * least);
        } else if (settings->replay_min >
                        slots * (algorithm_replay_steps(settings) - settings->n_steps + 1)) {
                text = g_strdup_printf("%u", settings->replay_min);
                reader_complain(reader, "Learner", "ReplayMin", text,
                                "ReplaySize=%u never holds so many, so nothing would be learned",
                                settings->replay_size);
        }
        if (settings->minibatch_size > settings->replay_size) {
                g_autofree char *size = g_strdup_printf("%u", settings->minibatch_size);

                reader_complain(reader, "Learner", "MinibatchSize", size, "more than ReplaySize=%u",
                                settings->replay_size);
        }
        check_draws(reader, settings);
}

/* Whether the user chose the key's value. A key that is given with its default does not count, since
 * `actorctl show` and checkpoints write defaults, too. */
static bool is_chosen(const JobSettings *settings, Setting i, char ret_text[SETTING_TEXT_MAX]) {
        if (!settings_present(settings, i) || !algorithm_uses(settings->algorithm, i))
                return false;
        setting_print(settings, i, ret_text);
        return strcmp(ret_text, setting_row(i)->fallback) != 0;
}

/* With recorded episodes actors choose no actions, so a chance of random ones has no effect. */
static void check_chances(SettingsReader *reader, const JobSettings *settings) {
        static const Setting chances[] = { SETTING_Learner_EpsilonStart, SETTING_Learner_EpsilonEnd,
                SETTING_Learner_EpsilonSteps };

        for (size_t i = 0; settings->dataset[0] && i < G_N_ELEMENTS(chances); i++) {
                char text[SETTING_TEXT_MAX];

                if (is_chosen(settings, chances[i], text))
                        reader_complain(reader, "Learner", setting_row(chances[i])->key, text,
                                        "with Dataset= no actor takes actions to learn from, so this key "
                                        "would do nothing: leave it out, or write it in the job that "
                                        "goes on without Dataset=");
        }
}

/* Checks that a job that learns from recorded episodes has some. Actors then choose no actions, so keys
 * about choosing them have no effect. */
static void check_dataset(SettingsReader *reader, const JobSettings *settings) {
        const Distribution *row = distribution_of(settings);

        if (!algorithm_row(settings->algorithm)->offline ||
                        (algorithm_row(settings->algorithm)->online && !settings->dataset[0]))
                return;
        if (!settings->dataset[0])
                reader_complain(reader, "Learner", "Dataset", "",
                                "%s learns from recorded episodes: name a main_data.hdf5, which `actorctl "
                                "export JOB --rollouts` or --replay writes",
                                choice_algorithm_to_string(settings->algorithm));
        check_chances(reader, settings);
        if (settings_present(settings, SETTING_Job_StopReturn)) {
                char text[SETTING_TEXT_MAX];

                setting_print(settings, SETTING_Job_StopReturn, text);
                reader_complain(reader, "Job", "StopReturn", text,
                                "the episodes of this job's rounds are those of the data set: write "
                                "StopReturn= under [Evaluation]");
        }
        if (row->host[FRAGMENT_STEP] == HOST_ACTOR && row->host[FRAGMENT_INFERENCE] != HOST_ACTOR)
                reader_complain(reader, "Distribution", "Policy",
                                choice_distribution_to_string(settings->distribution),
                                "with Dataset= actors take actions from the file and ask no learner for "
                                "any: use single-learner-coarse, multi-learner or async");
}

/* Reports only the first mistake in EnvelopeP= or Alpha=, since the later checks would then fail, too. */
static void check_envelope(SettingsReader *reader, const JobSettings *settings) {
        char text[SETTING_TEXT_MAX];

        setting_print(settings, SETTING_Learner_EnvelopeP, text);
        if (!regulation_symmetric(settings))
                reader_complain(reader, "Learner", "EnvelopeP", text, "P must be symmetric");
        else if (!regulation_positive(settings))
                reader_complain(reader, "Learner", "EnvelopeP", text,
                                "P must be positive definite: otherwise s' P s <= 1 does not bound s");
        else if (!regulation_contracts(settings, settings->alpha)) {
                /* Rounded up to the six digits that are printed, so that the printed value is accepted. */
                double least = ceil(regulation_least_alpha(settings) * 1e6) / 1e6;

                setting_print(settings, SETTING_Learner_Alpha, text);
                if (least > 1)
                        reader_complain(reader, "Learner", "ControllerF", "",
                                        "the controller does not keep the model in the envelope: "
                                        "(A + B F)' P (A + B F) is not below P");
                else
                        reader_complain(reader, "Learner", "Alpha", text,
                                        "(A + B F)' P (A + B F) is not below Alpha P: write %.6f or more",
                                        least);
        }
        for (uint32_t i = 0; regulation_positive(settings) && i < settings->safety_set.n; i++) {
                double most = settings->safety_set.values[i], reach = regulation_reach(settings, i);

                if (most == 0 || reach <= most)
                        continue;
                setting_print(settings, SETTING_Learner_SafetySet, text);
                reader_complain(reader, "Learner", "SafetySet", text,
                                "the envelope reaches to %.6g in number %u of the state, beyond %.6g: "
                                "use a larger EnvelopeP=",
                                reach, i + 1, most);
        }
}

/* The built-in cart-pole shows x, v, theta and omega with BarePlant=yes. Otherwise it shows five numbers,
 * and its own controller acts in it. */
static void check_plant(SettingsReader *reader, const JobSettings *settings, uint32_t n_state) {
        enum { BARE_STATE = 4 };
        const ActordOption *bare = settings_option(settings, "BarePlant");

        if (n_state != BARE_STATE || strcmp(settings->environment, "phydrl-cartpole") != 0 ||
                        (bare && strcmp(bare->value, "no") != 0))
                return;
        reader_complain(reader, "Environment", "BarePlant", bare ? bare->value : "",
                        "ControllerF= in [Learner] needs observations that are the four numbers of the "
                        "bare plant: write yes");
}

/* A controller needs a model and an envelope, and these need a controller. */
static void check_regulation(SettingsReader *reader, const JobSettings *settings) {
        static const Setting alone[] = { SETTING_Learner_ControllerGain, SETTING_Learner_Alpha,
                SETTING_Learner_SafetySet };
        bool needed = algorithm_row(settings->algorithm)->regulated;
        const char *word = choice_algorithm_to_string(settings->algorithm);
        uint32_t n, m;

        if (!regulation_asked(settings)) {
                if (needed)
                        reader_complain(reader, "Job", "Algorithm", word,
                                        "this algorithm learns beside a controller: give ModelA=, ModelB=, "
                                        "ControllerF=, EnvelopeP= and Alpha=");
                for (size_t i = 0; !needed && i < G_N_ELEMENTS(alone); i++) {
                        char text[SETTING_TEXT_MAX];

                        if (!is_chosen(settings, alone[i], text))
                                continue;
                        reader_complain(reader, "Learner", setting_row(alone[i])->key, text,
                                        "this key has no effect without ModelA=, ModelB=, ControllerF= and "
                                        "EnvelopeP=");
                }
                return;
        }
        if (!algorithm_uses(settings->algorithm, SETTING_Learner_EnvelopeP))
                return; /* each key has been refused already */
        if (!regulation_shaped(settings, &n, &m)) {
                reader_complain(reader, "Learner", "EnvelopeP", "",
                                "with n numbers in a state and m in an action EnvelopeP= and ModelA= are n "
                                "times n, ModelB= n times m, ControllerF= m times n, SafetySet= n numbers "
                                "or none; here they are %u, %u, %u, %u and %u numbers",
                                settings->envelope_p.n, settings->model_a.n, settings->model_b.n,
                                settings->controller_f.n, settings->safety_set.n);
                return;
        }
        if (!settings_present(settings, SETTING_Learner_Alpha)) {
                reader_complain(reader, "Learner", "Alpha", "",
                                "it is missing: give the share of its value to which s' P s falls in "
                                "each step of the model, such as 0.9");
                return;
        }
        check_envelope(reader, settings);
        check_plant(reader, settings, n);
}

/* A temperature is either fixed (Temperature=) or learned (TargetEntropy=), so both keys together are
 * refused. */
static void check_temperature(SettingsReader *reader, const JobSettings *settings) {
        char text[SETTING_TEXT_MAX];

        if (!algorithm_uses(settings->algorithm, SETTING_Learner_Temperature) ||
                        !settings_present(settings, SETTING_Learner_Temperature) ||
                        !settings_present(settings, SETTING_Learner_TargetEntropy))
                return;
        setting_print(settings, SETTING_Learner_TargetEntropy, text);
        reader_complain(reader, "Learner", "TargetEntropy", text,
                        "with Temperature= no temperature is learned, and this key would do nothing: "
                        "leave one of the two unset");
}

/* If the algorithm compares rollouts in pairs, an actor needs an even number of slots, and a pair must fit
 * in an invocation. */
static void check_pairs(SettingsReader *reader, const JobSettings *settings) {
        const char *word = choice_algorithm_to_string(settings->algorithm);
        uint32_t steps = algorithm_pair_steps(settings);
        char text[SETTING_TEXT_MAX];

        if (steps == 0)
                return;
        if (settings->envs_per_actor % 2 != 0) {
                setting_print(settings, SETTING_Actor_EnvsPerActor, text);
                reader_complain(reader, "Actor", "EnvsPerActor", text,
                                "Algorithm=%s compares the environments of an actor in pairs: write an even "
                                "number",
                                word);
        }
        if (steps > settings->rollout_steps) {
                setting_print(settings, SETTING_Actor_PairSteps, text);
                reader_complain(reader, "Actor", "PairSteps", text,
                                "a pair ends with its invocation, after RolloutSteps=%u steps: write "
                                "no more than that",
                                settings->rollout_steps);
        }
        if (environment_is_job(settings->environment))
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "Algorithm=%s begins two rollouts from one snapshot, and an inner job "
                                "has no snapshots: use ppo",
                                word);
}

static void check_learner(SettingsReader *reader, const JobSettings *settings) {
        if (settings->adam_beta1 >= 1)
                reader_complain(reader, "Learner", "AdamBeta1", "1",
                                "Adam divides by 1 - AdamBeta1: write less than 1");
        if (settings->adam_beta2 >= 1)
                reader_complain(reader, "Learner", "AdamBeta2", "1",
                                "Adam divides by 1 - AdamBeta2: write less than 1");
        /* Adam computes with floats, where a smaller number may be 0. */
        if (!((float) settings->adam_epsilon > 0)) {
                char text[SETTING_TEXT_MAX];

                setting_print(settings, SETTING_Learner_AdamEpsilon, text);
                reader_complain(reader, "Learner", "AdamEpsilon", text,
                                "Adam divides by the root of the second moment plus AdamEpsilon, and that "
                                "moment is 0 for each parameter that has had no gradient: write more than "
                                "0, such as 1e-8");
        }
        if (settings->kl_weight > 0 && settings->kl_target <= 0)
                reader_complain(reader, "Learner", "KLTarget", "0",
                                "KLWeight= adapts to this target, which must be above 0");
}

/* Second derivatives exist only for the activations tanh and relu. */
static void check_curvature(SettingsReader *reader, const JobSettings *settings) {
        if (settings->activation != ACTIVATION_SILU && settings->activation != ACTIVATION_MISH)
                return;
        if (settings_curvature(settings) != CURVATURE_NONE)
                reader_complain(reader, "Learner", "Activation",
                                choice_activation_to_string(settings->activation),
                                "curvature (Curvature=, or a scheduler that measures it) needs tanh or "
                                "relu");
}

/* Checks all layers together: each may be valid by itself and still not fit the others. */
static void check_network(SettingsReader *reader, const JobSettings *settings) {
        bool convolutions = settings->convolutions.n > 0;

        for (uint32_t i = 0; i < settings->hidden_layers.n; i++)
                if (settings->hidden_layers.values[i] == 0 &&
                                (settings->hidden_layers.n > 1 || !convolutions)) {
                        reader_complain(reader, "Learner", "HiddenLayers", "0",
                                        convolutions ? "a layer has at least one unit; 0 alone means no "
                                                       "layer"
                                                     : "without Convolutions= the network needs "
                                                       "a hidden layer");
                        break;
                }
        check_curvature(reader, settings);
        if (!convolutions)
                return;
        if (settings->normalize_observations)
                reader_complain(reader, "Learner", "NormalizeObservations", "yes",
                                "Convolutions= divides each byte of an image by 255 and needs no other "
                                "normalisation: write no");
        if (settings->curvature != CURVATURE_NONE)
                reader_complain(reader, "Learner", "Curvature",
                                choice_curvature_to_string(settings->curvature),
                                "curvature cannot be measured with Convolutions=");
        else if (settings_curvature(settings) != CURVATURE_NONE)
                reader_complain(reader, "Scaling", "Policy",
                                choice_scheduler_to_string(settings->scheduler.kind),
                                "curvature cannot be measured with Convolutions=");
}

void settings_check_learner(SettingsReader *reader, const JobSettings *settings) {
        g_assert(reader);
        g_assert(settings);

        check_minibatch(reader, settings);
        check_replay(reader, settings);
        check_dataset(reader, settings);
        check_regulation(reader, settings);
        check_temperature(reader, settings);
        check_pairs(reader, settings);
        check_learner(reader, settings);
        check_network(reader, settings);
}
