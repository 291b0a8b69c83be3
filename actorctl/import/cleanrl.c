/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each script of CleanRL has one algorithm, and its settings are literals in a dataclass Args. A setting is
 * a row of the table `plain`, or one of the functions below computes it. Settings that fit neither are
 * listed in a comment of the job file. The table `scripts` has the facts that scripts have no setting for
 * (networks, optimisers, wrappers). */
#include "actorctl/import/cleanrl.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "actorctl/import/draft.h"

#define ARGUMENTS_MAX 200u

typedef enum Kind { PPO = 1 << 0, DQN = 1 << 1, DDPG = 1 << 2, TD3 = 1 << 3, SAC = 1 << 4 } Kind;
#define REPLAYS (DQN | DDPG | TD3 | SAC)
#define CRITICS (DDPG | TD3 | SAC)
#define EACH    (PPO | REPLAYS)

static const struct {
        const char *file, *algorithm;
        Kind kind;
        const char *fixed; /* for [Learner] */
} scripts[] = {
        { "ppo.py", "ppo", PPO, "HiddenLayers=64 64\nActivation=tanh\nAdamEpsilon=1e-5\n" },
        { "ppo_continuous_action.py", "ppo", PPO,
                        "HiddenLayers=64 64\nActivation=tanh\nAdamEpsilon=1e-5\nLogStdInit=0\n"
                        "NormalizeObservations=yes\nNormalizeRewards=yes\n" },
        { "dqn.py", "dqn", DQN,
                        "HiddenLayers=120 84\nActivation=relu\nOrthogonalInit=no\nAdamEpsilon=1e-8\n"
                        "MaxGradNorm=0\nHuberBound=1000000000\n" },
        { "ddpg_continuous_action.py", "ddpg", DDPG,
                        "HiddenLayers=256 256\nActivation=relu\nOrthogonalInit=no\nAdamEpsilon=1e-8\n"
                        "MaxGradNorm=0\n" },
        { "td3_continuous_action.py", "td3", TD3,
                        "HiddenLayers=256 256\nActivation=relu\nOrthogonalInit=no\nAdamEpsilon=1e-8\n"
                        "MaxGradNorm=0\n" },
        { "sac_continuous_action.py", "sac", SAC,
                        "HiddenLayers=256 256\nActivation=relu\nOrthogonalInit=no\nAdamEpsilon=1e-8\n"
                        "MaxGradNorm=0\n" },
};

/* Arguments of a script that have the same meaning as a setting of another name. */
static const struct {
        Kind kinds;
        const char *name, *section, *setting;
} plain[] = {
        { EACH, "seed", "Job", "Seed" },
        { EACH, "total_timesteps", "Job", "StopSteps" },
        { EACH, "num_envs", "Actor", "EnvsPerActor" },
        { PPO, "num_steps", "Actor", "RolloutSteps" },
        { EACH, "learning_rate", "Learner", "LearningRate" },
        { SAC, "policy_lr", "Learner", "LearningRate" },
        { SAC, "q_lr", "Learner", "CriticLearningRate" },
        { EACH, "gamma", "Learner", "Gamma" },
        { PPO, "gae_lambda", "Learner", "Lambda" },
        { PPO, "update_epochs", "Learner", "Epochs" },
        { PPO, "clip_coef", "Learner", "Clip" },
        { PPO, "ent_coef", "Learner", "EntropyWeight" },
        { PPO, "vf_coef", "Learner", "ValueWeight" }, /* both weigh half of the squared error */
        { PPO, "max_grad_norm", "Learner", "MaxGradNorm" },
        { PPO, "target_kl", "Learner", "KLStop" },
        { REPLAYS, "batch_size", "Learner", "MinibatchSize" },
        { DQN, "start_e", "Learner", "EpsilonStart" },
        { DQN, "end_e", "Learner", "EpsilonEnd" },
        { CRITICS, "tau", "Learner", "Tau" },
        { DDPG | TD3, "exploration_noise", "Learner", "ActionNoise" },
        { TD3, "policy_noise", "Learner", "TargetNoise" },
        { TD3, "noise_clip", "Learner", "NoiseClip" },
        { TD3, "policy_frequency", "Learner", "PolicyDelay" },
};

static const DraftSource source = { .program = "CleanRL", .between = " = ", .between_listed = " = " };

typedef struct Script {
        size_t row; /* the row of `scripts` */
        Draft draft;
} Script;

static const char *get(const Script *script, const char *name) {
        return draft_get(&script->draft, name);
}

/* The number of a Python literal: 1_000_000, 2.5e-4, 3. NaN: it is missing, or not a number. */
static double number(const Script *script, const char *name) {
        g_autofree char *digits = g_strdup(get(script, name));
        char *to = digits, *end;
        double value;

        if (!digits || !(g_ascii_isdigit(digits[0]) || digits[0] == '-'))
                return NAN;
        for (const char *from = digits; *from; from++)
                if (*from != '_')
                        *to++ = *from;
        *to = '\0';
        value = g_ascii_strtod(digits, &end);
        return *end || !isfinite(value) ? NAN : value;
}

static bool is_true(const Script *script, const char *name) {
        return g_strcmp0(get(script, name), "True") == 0;
}

/* Appends a setting to the job file. name: the argument of the script from which the value comes; NULL:
 * there is none. */
static void put(Script *script, const char *section, const char *setting, const char *name,
                const char *value) {
        draft_put(&script->draft, section, setting, name, value);
}

static void put_number(
                Script *script, const char *section, const char *setting, const char *name, double value) {
        draft_put_number(&script->draft, section, setting, name, value);
}

static void put_ppo(Script *script) {
        double rows = number(script, "num_envs") * number(script, "num_steps");

        put_number(script, "Learner", "MinibatchSize", "num_minibatches",
                        floor(rows / number(script, "num_minibatches")));
        if (is_true(script, "anneal_lr"))
                put(script, "Learner", "LearningRateSchedule", "anneal_lr", "linear");
        if (get(script, "norm_adv"))
                put(script, "Learner", "NormalizeAdvantages", "norm_adv",
                                is_true(script, "norm_adv") ? "yes" : "no");
        if (is_true(script, "clip_vloss"))
                put_number(script, "Learner", "ValueClip", "clip_vloss", number(script, "clip_coef"));
}

/* Sets the length of rollouts, the number of gradient steps for each environment step, and the replay
 * store. */
static void put_replay(Script *script) {
        double every = get(script, "train_frequency") ? number(script, "train_frequency") : 1;
        double steps = number(script, "total_timesteps"), kept = number(script, "buffer_size");
        double first = number(script, "learning_starts"), batch = number(script, "batch_size");
        double envs = get(script, "num_envs") ? number(script, "num_envs") : 1;

        put_number(script, "Actor", "RolloutSteps",
                        get(script, "train_frequency") ? "train_frequency" : NULL, every);
        put_number(script, "Learner", "TrainRatio", NULL, 1 / (every * envs));
        put_number(script, "Learner", "ReplaySize", "buffer_size", kept > steps ? steps : kept);
        put_number(script, "Learner", "ReplayMin", "learning_starts", first < batch ? batch : first);
}

static void put_dqn(Script *script) {
        double every = number(script, "target_network_frequency") / number(script, "train_frequency");

        /* with tau=1 the target becomes a copy of the network, as in actord */
        if (number(script, "tau") == 1)
                draft_tell(&script->draft, "tau");
        /* CleanRL counts environment steps, and actord gradient steps */
        put_number(script, "Learner", "TargetInterval", "target_network_frequency",
                        every < 1 ? 1 : floor(every));
        put_number(script, "Learner", "EpsilonSteps", "exploration_fraction",
                        floor(number(script, "total_timesteps") * number(script, "exploration_fraction")));
}

static void put_settings(Script *script) {
        Kind kind = scripts[script->row].kind;

        for (size_t i = 0; i < G_N_ELEMENTS(plain); i++)
                if (plain[i].kinds & kind)
                        put_number(script, plain[i].section, plain[i].setting, plain[i].name,
                                        number(script, plain[i].name));
        if (kind & PPO)
                put_ppo(script);
        if (kind & REPLAYS)
                put_replay(script);
        if (kind & DQN)
                put_dqn(script);
        if (kind & SAC && get(script, "autotune")) {
                if (is_true(script, "autotune"))
                        put(script, "Learner", "Temperature", "autotune", "");
                else
                        put_number(script, "Learner", "Temperature", "alpha", number(script, "alpha"));
        }
        draft_put_lines(&script->draft, "Learner", scripts[script->row].fixed);
}

/* A line " name: type = literal", perhaps with a comment, in the body of a class. int(literal) counts as a
 * literal. */
#define ARGUMENT                                                             \
        "^[ \\t]+([A-Za-z_][A-Za-z0-9_]{0,63})[ \\t]*:[^=\"']{1,80}=[ \\t]*" \
        "(?:\"([^\"\\\\]*)\"|'([^'\\\\]*)'|int\\(([0-9_.e]+)\\)|([-A-Za-z0-9_.+]+))[ \\t]*(?:#.*)?$"
enum { GROUP_FIRST = 2, GROUP_LAST = 5 };

static bool read_line(Script *script, const GRegex *regex, const char *line) {
        g_autoptr(GMatchInfo) match = NULL;
        g_autofree char *name = NULL, *text = NULL;

        if (!g_regex_match(regex, line, 0, &match))
                return true;
        if (g_hash_table_size(script->draft.values) >= ARGUMENTS_MAX)
                return draft_refuse(
                                &script->draft, "its class Args has more than %u arguments", ARGUMENTS_MAX);
        name = g_match_info_fetch(match, 1);
        for (int group = GROUP_FIRST; group <= GROUP_LAST && (!text || !*text); group++) {
                g_free(text);
                text = g_match_info_fetch(match, group);
        }
        g_hash_table_insert(script->draft.values, g_steal_pointer(&name),
                        text ? g_steal_pointer(&text) : g_strdup(""));
        return true;
}

/* Reads the body of `class Args:`, which ends at the first line that is not indented. */
static bool read_arguments(Script *script, const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autoptr(GRegex) regex = g_regex_new(ARGUMENT, 0, 0, NULL);
        bool inside = false, found = false;

        for (char **line = lines; *line; line++) {
                g_strchomp(*line);
                if (g_str_has_prefix(*line, "class Args:") || g_str_has_prefix(*line, "class Args("))
                        inside = found = true;
                else if (**line && !g_ascii_isspace(**line))
                        inside = false;
                else if (inside && !read_line(script, regex, *line))
                        return false;
        }
        return found ||
               draft_refuse(&script->draft, "it has no class Args with default values; all scripts of "
                                            "CleanRL 2 have one, and older scripts cannot be imported");
}

static bool find_script(Script *script) {
        g_autofree char *base = g_path_get_basename(script->draft.file);
        g_autoptr(GString) known = g_string_new(NULL);

        for (script->row = 0; script->row < G_N_ELEMENTS(scripts); script->row++) {
                if (strcmp(scripts[script->row].file, base) == 0)
                        return true;
                g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "", scripts[script->row].file);
        }
        return draft_refuse(&script->draft, "this script cannot be imported; these can, by their names: %s",
                        known->str);
}

static bool check_arguments(Script *script) {
        static const char *const counts[] = { "total_timesteps", "num_envs", "num_steps", "num_minibatches",
                "update_epochs", "buffer_size", "train_frequency" };
        const char *env = get(script, "env_id");

        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
                if (number(script, counts[i]) < 1)
                        return draft_refuse(&script->draft, "%s must be at least 1", counts[i]);
        if (scripts[script->row].kind & REPLAYS && !(number(script, "batch_size") >= 1))
                return draft_refuse(&script->draft, "batch_size must be at least 1");
        if (!env || !*env)
                return draft_refuse(&script->draft, "its class Args has no env_id");
        if (strspn(env, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_./:") != strlen(env) || strlen(env) > 100)
                return draft_refuse(&script->draft, "env_id is not an environment's name");
        return true;
}

/* Arguments that only say how the script runs and where its results go have no meaning here, and are left
 * out. */
static bool concerns_training(const char *name) {
        static const char *const others[] = { "exp_name", "torch_deterministic", "cuda", "track",
                "wandb_project_name", "wandb_entity", "capture_video", "save_model", "upload_model",
                "hf_entity", "env_id",
                /* arguments of ppo that are 0 in the script, and computed when it runs */
                "minibatch_size", "num_iterations", NULL };

        return !g_strv_contains(others, name);
}

static bool listed(const char *name, const char *text) {
        return concerns_training(name) && strcmp(text, "None") != 0 && strcmp(text, "0") != 0;
}

static char *compose(const Script *script) {
        g_autofree char *file = draft_comment(script->draft.file);
        g_autofree char *head = g_strdup_printf(
                        "# %s: the defaults of a script of CleanRL. Settings without an argument in the\n"
                        "# script, such as the network, are at the end.\n",
                        file);

        return draft_compose(&script->draft, head, listed);
}

char *cleanrl_to_job(const char *text, size_t n, const char *file, char **ret_reason) {
        Script script = {};
        char *job = NULL;

        draft_init(&script.draft, &source, file);
        if (strlen(text) != n || !g_utf8_validate(text, (gssize) n, NULL))
                (void) draft_refuse(&script.draft, "it is not UTF-8 text");
        else if (find_script(&script) && read_arguments(&script, text) && check_arguments(&script)) {
                put(&script, "Job", "Environment", "env_id", get(&script, "env_id"));
                put(&script, "Job", "Algorithm", NULL, scripts[script.row].algorithm);
                put_settings(&script);
                job = compose(&script);
        }
        *ret_reason = g_steal_pointer(&script.draft.reason);
        draft_done(&script.draft);
        return job;
}
