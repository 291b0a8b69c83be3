/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An entry of RL Zoo is a flat list of keys. Missing keys have the defaults of Stable-Baselines3. A key is
 * either a setting under another name (the table `plain`), or one of the functions below computes settings
 * from it. All other keys become a comment. */
#include "actorctl/import/zoo.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "actorctl/import/draft.h"
#include "actorctl/import/entry.h"

typedef enum Family {
        PPO = 1 << 0,
        A2C = 1 << 1,
        DQN = 1 << 2,
        DDPG = 1 << 3,
        TD3 = 1 << 4,
        SAC = 1 << 5,
        ON_POLICY = PPO | A2C,
        DETERMINISTIC = DDPG | TD3,
        CRITICS = DDPG | TD3 | SAC,
        OFF_POLICY = DQN | CRITICS,
        EACH = ON_POLICY | OFF_POLICY,
} Family;

static const struct {
        const char *name;
        Family family;
} families[] = {
        { "ppo", PPO },
        { "a2c", A2C },
        { "dqn", DQN },
        { "ddpg", DDPG },
        { "td3", TD3 },
        { "sac", SAC },
};

/* The values for keys that an entry lacks: the default arguments of the classes of Stable-Baselines3 2.x,
 * and RL Zoo's own for n_envs, normalize and noise_type. */
static const struct {
        Family families;
        const char *key, *value;
} defaults[] = {
        { EACH, "n_envs", "1" },
        { EACH, "gamma", "0.99" },
        { EACH, "normalize", "False" },
        { PPO, "n_steps", "2048" },
        { PPO, "batch_size", "64" },
        { PPO, "n_epochs", "10" },
        { PPO, "gae_lambda", "0.95" },
        { PPO, "clip_range", "0.2" },
        { PPO | SAC, "learning_rate", "0.0003" },
        { A2C, "n_steps", "5" },
        { A2C, "use_rms_prop", "True" },
        { A2C, "gae_lambda", "1.0" },
        { A2C, "learning_rate", "0.0007" },
        { ON_POLICY, "ent_coef", "0.0" },
        { ON_POLICY, "vf_coef", "0.5" },
        { ON_POLICY, "max_grad_norm", "0.5" },
        { DQN, "learning_rate", "0.0001" },
        { DQN, "batch_size", "32" },
        { DQN, "train_freq", "4" },
        { DQN, "target_update_interval", "10000" },
        { DQN, "exploration_fraction", "0.1" },
        { DQN, "exploration_initial_eps", "1.0" },
        { DQN, "exploration_final_eps", "0.05" },
        { DQN, "max_grad_norm", "10" },
        { DETERMINISTIC, "learning_rate", "0.001" },
        { CRITICS, "batch_size", "256" },
        { CRITICS, "train_freq", "1" },
        { CRITICS, "tau", "0.005" },
        { OFF_POLICY, "buffer_size", "1000000" },
        { OFF_POLICY, "learning_starts", "100" },
        { OFF_POLICY, "gradient_steps", "1" },
        { TD3, "policy_delay", "2" },
        { TD3, "target_policy_noise", "0.2" },
        { TD3, "target_noise_clip", "0.5" },
        { DETERMINISTIC, "noise_type", "none" },
        { SAC, "ent_coef", "auto" },
};

/* Numbers that have the same meaning under another name. */
static const struct {
        Family families;
        const char *key, *section, *setting;
} plain[] = {
        { EACH, "n_envs", "Actor", "EnvsPerActor" },
        { ON_POLICY, "n_steps", "Actor", "RolloutSteps" },
        { OFF_POLICY, "batch_size", "Learner", "MinibatchSize" },
        { PPO, "n_epochs", "Learner", "Epochs" },
        { EACH, "gamma", "Learner", "Gamma" },
        { ON_POLICY, "gae_lambda", "Learner", "Lambda" },
        { ON_POLICY, "ent_coef", "Learner", "EntropyWeight" },
        { ON_POLICY | DQN, "max_grad_norm", "Learner", "MaxGradNorm" },
        { PPO, "target_kl", "Learner", "KLStop" },
        { DQN, "exploration_initial_eps", "Learner", "EpsilonStart" },
        { DQN, "exploration_final_eps", "Learner", "EpsilonEnd" },
        { CRITICS, "tau", "Learner", "Tau" },
        { TD3, "policy_delay", "Learner", "PolicyDelay" },
        { TD3, "target_policy_noise", "Learner", "TargetNoise" },
        { TD3, "target_noise_clip", "Learner", "NoiseClip" },
};

/* Counts: if an entry has them, they must be at least 1. */
static const char *const counts[] = { "n_timesteps", "n_envs", "n_steps", "batch_size", "n_epochs",
        "buffer_size", "train_freq", "target_update_interval", "policy_delay" };

static const DraftSource source = {
        .program = "RL Zoo", .defaults_of = "Stable-Baselines3", .between = " ", .between_listed = ": "
};

typedef struct Zoo {
        const ZooRequest *request;
        Family family;
        Draft draft;
} Zoo;

static void add_defaults(Zoo *zoo) {
        for (size_t i = 0; i < G_N_ELEMENTS(defaults); i++)
                if (defaults[i].families & zoo->family)
                        draft_add_default(&zoo->draft, defaults[i].key, defaults[i].value);
}

static const char *get(Zoo *zoo, const char *key) {
        return draft_get(&zoo->draft, key);
}

/* The number in a text. NaN: the text is missing, or is not a number. */
static double number_of(const char *text) {
        double value;
        char *end;

        if (!text)
                return NAN;
        value = g_ascii_strtod(text, &end);
        return end == text || *end || !isfinite(value) ? NAN : value;
}

static double number(Zoo *zoo, const char *key) {
        return number_of(get(zoo, key));
}

static bool check_counts(Zoo *zoo) {
        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
                if (number(zoo, counts[i]) < 1)
                        return draft_refuse(&zoo->draft, "%s must be at least 1", counts[i]);
        if (zoo->family & OFF_POLICY && number(zoo, "gradient_steps") == 0)
                return draft_refuse(&zoo->draft, "gradient_steps must not be 0: nothing would be learned");
        return true;
}

static void put(Zoo *zoo, const char *section, const char *setting, const char *key, const char *value) {
        draft_put(&zoo->draft, section, setting, key, value);
}

static void put_number(Zoo *zoo, const char *section, const char *setting, const char *key, double value) {
        draft_put_number(&zoo->draft, section, setting, key, value);
}

/* Puts a number that may have a schedule: "lin_0.001" falls from 0.001 to 0 during the job. */
static void put_scheduled(Zoo *zoo, const char *key, const char *setting, const char *schedule) {
        const char *text = get(zoo, key);

        if (!text)
                return;
        if (g_str_has_prefix(text, "lin_")) {
                double value = number_of(text + strlen("lin_"));

                if (isnan(value))
                        return;
                put_number(zoo, "Learner", setting, key, value);
                put(zoo, "Learner", schedule, NULL, "linear");
                return;
        }
        put_number(zoo, "Learner", setting, key, number_of(text));
}

static bool matches(const char *text, const char *pattern) {
        return text && g_regex_match_simple(pattern, text, 0, 0);
}

/* The value is "true" or a Python dictionary: {'norm_obs': True, 'norm_reward': False} or dict(...). If a
 * dictionary lacks one of the two, it is True. */
static void put_normalize(Zoo *zoo) {
        const char *text = get(zoo, "normalize");
        bool any = g_ascii_strcasecmp(text, "true") == 0 || strpbrk(text, "{(");
        bool observations = any && !matches(text, "norm_obs['\"]?\\s*[:=]\\s*False");
        bool rewards = any && !matches(text, "norm_reward['\"]?\\s*[:=]\\s*False");

        if (strcmp(text, "{...}") == 0)
                return;
        put(zoo, "Learner", "NormalizeObservations", "normalize", observations ? "yes" : "no");
        if (zoo->family & ON_POLICY)
                put(zoo, "Learner", "NormalizeRewards", NULL, rewards ? "yes" : "no");
}

static char *first_group(const char *text, const char *pattern) {
        g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;

        if (!text || !g_regex_match(regex, text, 0, &match))
                return NULL;
        return g_match_info_fetch(match, 1);
}

/* Turns "64, 64" into "64 64"; NULL: it is not a list of numbers. */
static char *as_layers(const char *list) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_auto(GStrv) parts = g_strsplit(list, ",", -1);

        for (char **part = parts; *part; part++) {
                double n = number_of(g_strstrip(*part));

                if (**part == '\0')
                        continue;
                if (!(n >= 1 && n <= 65536) || n != floor(n))
                        return NULL;
                g_string_append_printf(out, "%s%.0f", out->len > 0 ? " " : "", n);
        }
        return out->len > 0 ? g_strdup(out->str) : NULL;
}

/* Reads net_arch=[64, 64], equal lists for the policy and the values, or a size's name. NULL: it is none of
 * these. */
static char *layers_of(const char *text) {
        g_autofree char *both = first_group(text, "net_arch['\"]?\\s*[=:]\\s*\\[([0-9, ]*)\\]");
        g_autofree char *pi = first_group(text, "pi['\"]?\\s*[=:]\\s*\\[([0-9, ]*)\\]");
        g_autofree char *other = first_group(text, "(?:vf|qf)['\"]?\\s*[=:]\\s*\\[([0-9, ]*)\\]");
        g_autofree char *named = first_group(text, "net_arch['\"]?\\s*[=:]\\s*['\"](\\w+)['\"]");

        if (both)
                return as_layers(both);
        if (pi && other && strcmp(pi, other) == 0)
                return as_layers(pi);
        if (g_strcmp0(named, "small") == 0)
                return g_strdup("64 64");
        if (g_strcmp0(named, "medium") == 0)
                return g_strdup("256 256");
        if (g_strcmp0(named, "big") == 0)
                return g_strdup("400 300");
        return NULL;
}

/* The default layers of Stable-Baselines3's policies. */
static const char *default_layers(const Zoo *zoo, bool images) {
        if (images)
                return "512";
        if (zoo->family & SAC)
                return "256 256";
        return zoo->family & DETERMINISTIC ? "400 300" : "64 64";
}

/* actord's name for the entry's activation function; NULL: actord does not have it. */
static const char *activation_of(const Zoo *zoo, const char *text, bool images) {
        static const char *const known[] = { "relu", "tanh", "silu", "mish" };
        g_autofree char *name = first_group(text, "activation_fn['\"]?\\s*[=:]\\s*['\"]?(?:\\w+\\.)*(\\w+)");

        if (!name)
                return images || zoo->family & OFF_POLICY ? "relu" : "tanh";
        for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
                if (g_ascii_strcasecmp(name, known[i]) == 0)
                        return known[i];
        return NULL;
}

/* Reads policy_kwargs: dict(net_arch=[64, 64], activation_fn=nn.ReLU, log_std_init=-2, ortho_init=False). */
static void put_network(Zoo *zoo) {
        const char *text = get(zoo, "policy_kwargs"), *policy = get(zoo, "policy");
        g_autofree char *layers = layers_of(text), *deviation = NULL;
        bool images = g_strcmp0(policy, "CnnPolicy") == 0;
        const char *activation = activation_of(zoo, text, images);
        bool orthogonal = zoo->family & ON_POLICY && !matches(text, "ortho_init['\"]?\\s*[=:]\\s*False");

        if (images || g_strcmp0(policy, "MlpPolicy") == 0)
                draft_tell(&zoo->draft, "policy");
        if (images) {
                put(zoo, "Learner", "Convolutions", NULL, "32x8/4 64x4/2 64x3/1");
                put(zoo, "Learner", "SharedNetwork", NULL, "yes");
        }
        put(zoo, "Learner", "HiddenLayers", layers ? "policy_kwargs" : NULL,
                        layers ? layers : default_layers(zoo, images));
        if (activation)
                put(zoo, "Learner", "Activation", NULL, activation);
        else
                g_hash_table_remove(zoo->draft.told, "policy_kwargs");
        put(zoo, "Learner", "OrthogonalInit", NULL, orthogonal ? "yes" : "no");
        deviation = first_group(text, "log_std_init['\"]?\\s*[=:]\\s*([-0-9.e]+)");
        if (zoo->family & ON_POLICY)
                put_number(zoo, "Learner", "LogStdInit", NULL, number_of(deviation));
}

/* The gradient steps for each environment step. If gradient_steps is negative, there is one for each. */
static double train_ratio(Zoo *zoo) {
        double every = number(zoo, "train_freq"), steps = number(zoo, "gradient_steps");

        if (steps < 0)
                return 1;
        return steps / (every * number(zoo, "n_envs"));
}

static void put_replay(Zoo *zoo) {
        double steps = number(zoo, "n_timesteps"), kept = number(zoo, "buffer_size");
        double first = number(zoo, "learning_starts"), batch = number(zoo, "batch_size");

        put_number(zoo, "Actor", "RolloutSteps", "train_freq", number(zoo, "train_freq"));
        put_number(zoo, "Learner", "TrainRatio", "gradient_steps", train_ratio(zoo));
        put_number(zoo, "Learner", "ReplaySize", "buffer_size", kept > steps ? steps : kept);
        put_number(zoo, "Learner", "ReplayMin", "learning_starts", first < batch ? batch : first);
}

/* A minibatch is at most the whole round, as in RL Zoo. */
static void put_ppo(Zoo *zoo) {
        double rows = number(zoo, "n_steps") * number(zoo, "n_envs"), batch = number(zoo, "batch_size");

        put_number(zoo, "Learner", "MinibatchSize", "batch_size", batch > rows ? rows : batch);
        put_scheduled(zoo, "clip_range", "Clip", "ClipSchedule");
}

static void put_dqn(Zoo *zoo) {
        double steps = number(zoo, "n_timesteps");
        double every = floor(number(zoo, "target_update_interval") * train_ratio(zoo));

        /* target_update_interval counts environment steps, and TargetInterval= counts gradient steps */
        put_number(zoo, "Learner", "TargetInterval", "target_update_interval", every < 1 ? 1 : every);
        put_number(zoo, "Learner", "EpsilonSteps", "exploration_fraction",
                        floor(steps * number(zoo, "exploration_fraction")));
}

/* Reads ent_coef, which is auto, auto_0.1 or a number. */
static void put_sac(Zoo *zoo) {
        if (g_str_has_prefix(get(zoo, "ent_coef"), "auto"))
                put(zoo, "Learner", "Temperature",
                                strcmp(get(zoo, "ent_coef"), "auto") == 0 ? "ent_coef" : NULL, "");
        else
                put_number(zoo, "Learner", "Temperature", "ent_coef", number(zoo, "ent_coef"));
}

static void put_noise(Zoo *zoo) {
        const char *kind = get(zoo, "noise_type");

        if (strcmp(kind, "normal") == 0) {
                draft_tell(&zoo->draft, "noise_type");
                put_number(zoo, "Learner", "ActionNoise", "noise_std", number(zoo, "noise_std"));
        } else if (strcmp(kind, "none") == 0)
                put(zoo, "Learner", "ActionNoise", "noise_type", "0");
}

/* Sets the optimiser as PyTorch and Stable-Baselines3 define it. */
static void put_optimiser(Zoo *zoo) {
        if (zoo->family & A2C)
                put(zoo, "Learner", "NormalizeAdvantages", NULL, "no");
        if (zoo->family & A2C && g_ascii_strcasecmp(get(zoo, "use_rms_prop"), "false") != 0) {
                /* RMSProp with alpha 0.99 and eps 1e-5 is nearly Adam without a first moment. */
                put(zoo, "Learner", "AdamBeta1", NULL, "0");
                put(zoo, "Learner", "AdamBeta2", NULL, "0.99");
        }
        put(zoo, "Learner", "AdamEpsilon", NULL, zoo->family & ON_POLICY ? "1e-5" : "1e-8");
        if (zoo->family & CRITICS)
                put(zoo, "Learner", "MaxGradNorm", NULL, "0");
}

static void put_settings(Zoo *zoo) {
        for (size_t i = 0; i < G_N_ELEMENTS(plain); i++)
                if (plain[i].families & zoo->family)
                        put_number(zoo, plain[i].section, plain[i].setting, plain[i].key,
                                        number(zoo, plain[i].key));
        put_scheduled(zoo, "learning_rate", "LearningRate", "LearningRateSchedule");
        if (zoo->family & PPO)
                put_ppo(zoo);
        /* vf_coef weighs the squared error, and ValueWeight= half of the squared error */
        if (zoo->family & ON_POLICY)
                put_number(zoo, "Learner", "ValueWeight", "vf_coef", 2 * number(zoo, "vf_coef"));
        if (zoo->family & OFF_POLICY)
                put_replay(zoo);
        if (zoo->family & DQN)
                put_dqn(zoo);
        if (zoo->family & SAC)
                put_sac(zoo);
        if (zoo->family & DETERMINISTIC)
                put_noise(zoo);
        put_normalize(zoo);
        put_network(zoo);
        put_optimiser(zoo);
}

static char *compose(Zoo *zoo, const char *name) {
        g_autofree char *file = draft_comment(zoo->request->file);
        g_autofree char *head = g_strdup_printf(
                        "# %s with %s: hyper-parameters of RL Zoo (%s). Keys that it lacks have the\n"
                        "# defaults of Stable-Baselines3.\n",
                        name, zoo->request->algorithm, file);

        return draft_compose(&zoo->draft, head, NULL);
}

static bool take(Zoo *zoo, char **ret_name) {
        g_autofree char *reason = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
                if (strcmp(families[i].name, zoo->request->algorithm) == 0)
                        zoo->family = families[i].family;
        if (!zoo->family)
                return draft_refuse(&zoo->draft,
                                "algorithm %s cannot be imported; these can: ppo, a2c, dqn, ddpg, td3, sac",
                                zoo->request->algorithm);
        if (!entry_read(zoo->request->text, zoo->request->n, zoo->request->entry, zoo->draft.values,
                            ret_name, &reason))
                return draft_refuse(&zoo->draft, "%s", reason);
        if (strspn(*ret_name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_./:") != strlen(*ret_name))
                return draft_refuse(&zoo->draft, "the entry's name is not an environment's");
        return check_counts(zoo);
}

char *zoo_to_job(const ZooRequest *request, char **ret_reason) {
        Zoo zoo = { .request = request };
        g_autofree char *name = NULL;
        char *job = NULL;

        draft_init(&zoo.draft, &source, request->file);
        if (take(&zoo, &name)) {
                add_defaults(&zoo);
                put(&zoo, "Job", "Environment", NULL, name);
                put(&zoo, "Job", "Algorithm", NULL, request->algorithm);
                put_number(&zoo, "Job", "StopSteps", "n_timesteps", number(&zoo, "n_timesteps"));
                put_settings(&zoo);
                job = compose(&zoo, name);
        }
        *ret_reason = g_steal_pointer(&zoo.draft.reason);
        draft_done(&zoo.draft);
        return job;
}
