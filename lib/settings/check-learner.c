/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of what the learner is told: values of [Learner] that contradict each other, or the rounds that
 * the rest of the job makes. */
#include "lib/algorithm-traits.h"
#include "lib/fragment.h"
#include "lib/rng.h"
#include "lib/settings/internal.h"
#include "lib/settings/print.h"

/* Only an explicit MinibatchSize= can be too large; the default shrinks to the rows of a round. */
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

/* Each minibatch of an update has random streams of its own, by its number. */
static void check_draws(SettingsReader *reader, const JobSettings *settings) {
        uint64_t rows = (uint64_t) settings->envs_per_actor * settings->rollout_steps *
                        distribution_rollouts(distribution_of(settings), settings_actors_max(settings));
        char text[SETTING_TEXT_MAX];

        /* What is left of a step from the round before counts as well. */
        if ((double) rows * settings->train_ratio <= RANDOM_STEP_MAX)
                return;
        setting_print(settings, SETTING_Learner_TrainRatio, text);
        reader_complain(reader, "Learner", "TrainRatio", text,
                        "a round has up to %" G_GUINT64_FORMAT
                        " rows, and no more than %u gradient steps may follow it",
                        rows, RANDOM_STEP_MAX);
}

/* A replay store is shared evenly by the slots, and each must hold a whole invocation and a window of
 * NSteps= across its border. */
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
                                " slots share it, and each needs RolloutSteps=%u and NSteps=%u: "
                                "at least %" G_GUINT64_FORMAT,
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

/* A temperature is either given or learned. */
static void check_temperature(SettingsReader *reader, const JobSettings *settings) {
        char text[SETTING_TEXT_MAX];

        if (!algorithm_uses(settings->algorithm, SETTING_Learner_Temperature) ||
                        !settings_present(settings, SETTING_Learner_Temperature) ||
                        !settings_present(settings, SETTING_Learner_TargetEntropy))
                return;
        setting_print(settings, SETTING_Learner_TargetEntropy, text);
        reader_complain(reader, "Learner", "TargetEntropy", text,
                        "Temperature= is given, so none is learned for this: leave one of the two unset");
}

static void check_learner(SettingsReader *reader, const JobSettings *settings) {
        if (settings->adam_beta1 >= 1)
                reader_complain(reader, "Learner", "AdamBeta1", "1", "Adam divides by one minus this");
        if (settings->adam_beta2 >= 1)
                reader_complain(reader, "Learner", "AdamBeta2", "1", "Adam divides by one minus this");
        if (settings->kl_weight > 0 && settings->kl_target <= 0)
                reader_complain(reader, "Learner", "KLTarget", "0",
                                "KLWeight= adapts to it, so it must be above 0");
}

/* Checks the layers together, as they may be valid one by one only. */
static void check_network(SettingsReader *reader, const JobSettings *settings) {
        bool convolutions = settings->convolutions.n > 0;

        for (uint32_t i = 0; i < settings->hidden_layers.n; i++)
                if (settings->hidden_layers.values[i] == 0 &&
                                (settings->hidden_layers.n > 1 || !convolutions)) {
                        reader_complain(reader, "Learner", "HiddenLayers", "0",
                                        convolutions ? "a layer has at least one unit; 0 alone means no "
                                                       "layer"
                                                     : "only Convolutions= can do without hidden layers "
                                                       "behind them");
                        break;
                }
        if (!convolutions)
                return;
        if (settings->normalize_observations)
                reader_complain(reader, "Learner", "NormalizeObservations", "yes",
                                "Convolutions= read images as they are, bytes as 1/255 of them: write no");
        if (settings->curvature != CURVATURE_NONE)
                reader_complain(reader, "Learner", "Curvature",
                                choice_curvature_to_string(settings->curvature),
                                "it cannot be measured through Convolutions=");
        else if (settings_curvature(settings) != CURVATURE_NONE)
                reader_complain(reader, "Scaling", "Policy",
                                choice_scheduler_to_string(settings->scheduler.kind),
                                "it measures curvature, and cannot with Convolutions=");
}

void settings_check_learner(SettingsReader *reader, const JobSettings *settings) {
        g_assert(reader);
        g_assert(settings);

        check_minibatch(reader, settings);
        check_replay(reader, settings);
        check_temperature(reader, settings);
        check_learner(reader, settings);
        check_network(reader, settings);
}
