/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of a job file that need several values, or facts from outside of the file: names that must exist
 * elsewhere, and values that contradict each other. Each mistake that can be found before the job starts is
 * reported here, with the line to correct. */
#include <math.h>
#include <string.h>

#include "lib/algorithm-traits.h"
#include "lib/environments.h"
#include "lib/fragment.h"
#include "lib/rng.h"
#include "lib/settings/internal.h"
#include "lib/settings/print.h"
#include "lib/terms.h"

static GPtrArray *environment_names(void) {
        GPtrArray *names = g_ptr_array_new();

        for (size_t i = 0; i < environment_count(); i++)
                g_ptr_array_add(names, (gpointer) environment_at(i)->name);
        g_ptr_array_add(names, NULL);
        return names;
}

/* The keys of the environment's [Environment] section; NULL-terminated. */
static char **option_keys(const EnvironmentRow *row) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        ActordOption option;

        for (size_t i = 0; environment_option(row, i, &option); i++)
                g_strv_builder_add(builder, option.key);
        return g_strv_builder_end(builder);
}

/* Checks the keys of [Environment]. The keys of a built-in environment are known; a plugin reports its keys
 * when it is loaded. */
static void check_options(SettingsReader *reader, const JobSettings *settings, const EnvironmentRow *row) {
        g_auto(GStrv) known = option_keys(row);

        for (uint32_t i = 0; i < settings->n_options; i++) {
                const ActordOption *option = &settings->options[i];
                g_autofree char *hint = NULL;

                if (environment_takes(row, option->key))
                        continue;
                hint = did_you_mean(option->key, (const char *const *) known);
                reader_complain(reader, "Environment", option->key, option->value,
                                "%s does not take this key%s", row->name, hint);
        }
}

#define MODULE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

/* Whether the text can be the dotted name of a Python module. */
static bool names_module(const char *name) {
        size_t n = strlen(name);

        return n > 0 && strspn(name, MODULE_LETTERS) == n && name[0] != '.' && name[n - 1] != '.' &&
               !strstr(name, "..");
}

/* Checks a job with a Python environment. Only the environment's package knows its keys; the actor reports
 * wrong ones (actor/envs/gym/bridge.py). */
static void check_python_name(SettingsReader *reader, const JobSettings *settings) {
        bool of_agents = environment_is_pettingzoo(settings->environment);
        const char *id = strchr(settings->environment, ':') + 1;

        if (of_agents && !names_module(id))
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "write pettingzoo:MODULE, the dotted name of a module with parallel_env(), "
                                "such as pettingzoo:mpe2.simple_spread_v3");
        else if (!of_agents && (*id == '\0' || *id == ':' || id[strlen(id) - 1] == ':'))
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "write gym:ID, such as gym:CartPole-v1, or gym:MODULE:ID");
}

/* Whether a path ends in a file name, which becomes a name in the actors' root. */
static bool names_file(const char *path) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

        return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Checks the job's model: its file's name, that it has a reward, and the terms of Reward= and Terminate=.
 * Only the grammar of terms is checked here: only the model knows the names of joints and bodies. */
static void check_terms(SettingsReader *reader, const JobSettings *settings) {
        const char *file = settings->environment + strlen(ENVIRONMENT_MJCF_PREFIX);
        bool paid = false;

        if (!names_file(file))
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "write mujoco:FILE.xml, with the path of a model");
        for (uint32_t i = 0; i < settings->n_options; i++) {
                const ActordOption *option = &settings->options[i];
                bool reward = strcmp(option->key, MJCF_REWARD_KEY) == 0;
                char message[512];
                Terms terms;

                paid = paid || (option->value[0] && (reward || strcmp(option->key, MJCF_PLUGIN_KEY) == 0));
                if (!reward && strcmp(option->key, MJCF_TERMINATE_KEY) != 0)
                        continue;
                if (terms_parse(option->value, reward ? TERMS_REWARD : TERMS_TERMINATE, &terms, message,
                                    sizeof(message)) < 0)
                        reader_complain(reader, "Environment", option->key, option->value, "%s", message);
        }
        if (!paid)
                reader_complain(reader, "Environment", MJCF_REWARD_KEY, "",
                                "a model has no reward of its own: write terms, such as Reward=alive 1, or "
                                "RewardPlugin=");
}

void settings_apply_name(SettingsReader *reader, JobSettings *settings) {
        const char *n;
        const EnvironmentNumber *number = environment_number(settings->environment, &n);
        const ActordOption *given;
        ActordOption *option;

        if (!n)
                return;
        given = settings_option(settings, number->key);
        if (given) {
                /* A printed job file has both the name and the key, and they must agree. */
                if (strcmp(given->value, n) != 0)
                        reader_complain(reader, "Environment", given->key, given->value,
                                        "Environment=%s sets this key already", settings->environment);
                return;
        }
        if (settings->n_options >= OPTIONS_MAX) {
                reader_complain(reader, "Environment", NULL, NULL, "more than %u keys", OPTIONS_MAX - 1);
                return;
        }
        option = &settings->options[settings->n_options++];
        (void) g_strlcpy(option->key, number->key, sizeof(option->key));
        (void) g_strlcpy(option->value, n, sizeof(option->value));
}

static void check_plugin(SettingsReader *reader, const JobSettings *settings) {
        if (!names_file(settings->environment))
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "this names a directory; a plugin is a file, such as ./FILE.so");
}

static void check_environment(SettingsReader *reader, const JobSettings *settings) {
        const char *name = settings->environment;
        const EnvironmentNumber *number;
        const EnvironmentRow *row;
        const char *n;
        g_autoptr(GPtrArray) names = NULL;
        g_autofree char *hint = NULL;

        if (name[0] == '\0') {
                reader_complain(reader, "Job", "Environment", "",
                                "every job needs one: a name that `actorctl env list` shows, or ./FILE.so");
                return;
        }
        if (environment_is_python(name)) {
                check_python_name(reader, settings);
                return;
        }
        if (environment_is_file(name)) {
                check_plugin(reader, settings);
                return;
        }
        row = environment_find(name);
        if (row) {
                check_options(reader, settings, row);
                if (environment_is_mjcf(name))
                        check_terms(reader, settings);
                return;
        }
        number = environment_number(name, &n);
        if (number) {
                reader_complain(reader, "Job", "Environment", name,
                                "write %s:N, with a number of %s from %d to %d", number->name, number->what,
                                number->least, number->most);
                return;
        }
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
                check_plugin(reader, settings);
                return;
        }
        if (g_str_has_suffix(name, ".so")) {
                reader_complain(reader, "Job", "Environment", name,
                                "a file needs a slash; did you mean ./%s?", name);
                return;
        }
        names = environment_names();
        hint = did_you_mean(name, (const char *const *) names->pdata);
        reader_complain(reader, "Job", "Environment", name, "unknown environment%s", hint);
}

static void check_no_inner(SettingsReader *reader) {
        g_auto(GStrv) sections = g_key_file_get_groups(reader->file, NULL);

        for (char **section = sections; *section; section++)
                if (g_str_has_prefix(*section, SETTINGS_INNER_PREFIX))
                        reader_complain(reader, *section, NULL, NULL,
                                        "only Environment=" ENVIRONMENT_JOB_PREFIX "FILE has an inner job");
}

void settings_check_names(
                SettingsReader *reader, const JobSettings *settings, const char *const *price_sheets) {
        g_assert(reader);
        g_assert(settings);

        check_environment(reader, settings);
        if (!environment_is_job(settings->environment))
                check_no_inner(reader);
        if (price_sheets && !strchr(settings->price_sheet, '/') &&
                        !g_strv_contains(price_sheets, settings->price_sheet)) {
                g_autofree char *hint = did_you_mean(settings->price_sheet, price_sheets);

                reader_complain(reader, "Billing", "PriceSheet", settings->price_sheet,
                                "unknown price sheet%s", hint);
        }
}

static void check_actors(SettingsReader *reader, const JobSettings *settings) {
        const char *policy = choice_scheduler_to_string(settings->scheduler.kind);
        uint32_t most = settings_actors_max(settings);
        g_autofree char *text = NULL;

        if (settings->scheduler.kind != SCHEDULER_FIXED &&
                        !settings_present(settings, SETTING_Scaling_MaxActors)) {
                reader_complain(reader, "Scaling", "Policy", policy,
                                "this policy needs MaxActors=, the most actors that a round may have");
        } else if (settings->scheduler.kind == SCHEDULER_FIXED && settings->n_actors > most) {
                text = g_strdup_printf("%u", settings->n_actors);
                reader_complain(reader, "Scaling", "Actors", text, "more than MaxActors=%u allows", most);
        } else if (settings->n_actors_min > most) {
                text = g_strdup_printf("%u", settings->n_actors_min);
                reader_complain(reader, "Scaling", "MinActors", text, "more than %s=%u allows",
                                settings_present(settings, SETTING_Scaling_MaxActors) ? "MaxActors"
                                                                                      : "Actors",
                                most);
        } else if (settings->scheduler.kind == SCHEDULER_FIXED &&
                        settings->n_actors < settings->n_actors_min) {
                text = g_strdup_printf("%u", settings->n_actors);
                reader_complain(reader, "Scaling", "Actors", text,
                                "fewer than MinActors=%u, and Policy=fixed never changes the number",
                                settings->n_actors_min);
        }
}

/* A slot's number is a part of the counter of its random streams, which has RANDOM_SLOT_BITS bits for it
 * (lib/rng.h). */
static void check_slots(SettingsReader *reader, const JobSettings *settings) {
        uint32_t most = settings_actors_max(settings);
        g_autofree char *text = NULL;

        if ((uint64_t) most * settings->envs_per_actor <= (uint64_t) RANDOM_SLOT_MAX + 1)
                return;
        text = g_strdup_printf("%u", settings->envs_per_actor);
        reader_complain(reader, "Actor", "EnvsPerActor", text,
                        "%u actors with this many each are %" G_GUINT64_FORMAT
                        " environments, and a job has %u at most",
                        most, (uint64_t) most * settings->envs_per_actor, RANDOM_SLOT_MAX + 1);
}

/* Whether the job gives the key a value that is not its default. */
static bool setting_differs(const JobSettings *settings, Setting i, char ret_text[SETTING_TEXT_MAX]) {
        g_autofree JobSettings *fallback = g_new0(JobSettings, 1);
        g_autofree char *reason = NULL;
        char usual[SETTING_TEXT_MAX];

        if (!settings_present(settings, i))
                return false;
        if (setting_row(i)->fallback[0] != '\0' &&
                        setting_parse(i, setting_row(i)->fallback, fallback, &reason) < 0)
                g_error("default of %s=: %s", setting_row(i)->key, reason);
        setting_print(fallback, i, usual);
        setting_print(settings, i, ret_text);
        return setting_row(i)->fallback[0] == '\0' || strcmp(ret_text, usual) != 0;
}

/* "ppo, impala": the algorithms that read a key. */
static char *users_of(Setting i) {
        GString *users = g_string_new(NULL);

        for (uint32_t a = 0; a < _ALGORITHM_MAX; a++)
                if (algorithm_uses(a, i))
                        g_string_append_printf(users, "%s%s", users->len > 0 ? ", " : "",
                                        choice_algorithm_to_string(a));
        return g_string_free(users, FALSE);
}

/* Refuses keys that the algorithm does not read, since they would have no effect. */
static void check_algorithm(SettingsReader *reader, const JobSettings *settings) {
        for (int i = 0; i < _SETTING_MAX; i++) {
                g_autofree char *users = NULL;
                char text[SETTING_TEXT_MAX];

                if (algorithm_uses(settings->algorithm, i) || !setting_differs(settings, i, text))
                        continue;
                users = users_of(i);
                reader_complain(reader, setting_row(i)->section, setting_row(i)->key, text,
                                "Algorithm=%s does not read this key; it is for %s",
                                choice_algorithm_to_string(settings->algorithm), users);
        }
}

/* Checks that the learner measures the figures that the scheduler reads. Without these figures all decisions
 * of the scheduler would be the same. */
static void check_measured(SettingsReader *reader, const JobSettings *settings) {
        uint32_t kind = settings->scheduler.kind;
        bool curvature = scheduler_has(kind, TRAIT_OBJECTIVE) || scheduler_has(kind, TRAIT_LOSS);
        bool noise = scheduler_has(kind, TRAIT_NOISE);

        if ((curvature && !algorithm_uses(settings->algorithm, SETTING_Learner_Curvature)) ||
                        (noise && !algorithm_uses(settings->algorithm, SETTING_Learner_NoiseScale)))
                reader_complain(reader, "Scaling", "Policy", choice_scheduler_to_string(kind),
                                "this policy reads the %s, which Algorithm=%s does not measure",
                                curvature ? "objective's curvature" : "gradient's noise scale",
                                choice_algorithm_to_string(settings->algorithm));
}

/* Checks the keys that weigh money against time, and the keys that those need. */
static void check_objective(SettingsReader *reader, const JobSettings *settings) {
        const char *word = choice_objective_to_string(settings->objective);

        if (settings->objective != OBJECTIVE_COST_TIME &&
                        !scheduler_has(settings->scheduler.kind, TRAIT_WEIGHS))
                reader_complain(reader, "Scaling", "Objective", word,
                                "Policy=%s weighs neither money nor time; only Policy=auto does",
                                choice_scheduler_to_string(settings->scheduler.kind));
        if (settings->objective == OBJECTIVE_DEADLINE &&
                        !settings_present(settings, SETTING_Scaling_Deadline))
                reader_complain(reader, "Scaling", "Objective", word,
                                "this objective needs Deadline=, a time on the emulated clock, as 90s or "
                                "2h");
        if (settings->objective == OBJECTIVE_BUDGET && !settings_present(settings, SETTING_Job_Budget))
                reader_complain(reader, "Scaling", "Objective", word,
                                "this objective needs [Job] Budget=, the money that the job may spend");
        if (settings->objective != OBJECTIVE_DEADLINE && settings->shares.kind == SHARES_KIND_EQUAL &&
                        settings_present(settings, SETTING_Scaling_Deadline))
                reader_complain(reader, "Scaling", "Deadline", NULL,
                                "Objective=%s does not read this key; write Objective=deadline, or "
                                "Shares=simppo:NAME",
                                word);
}

/* Checks that the file has the keys that its scheduler (Policy=) requires. */
static void check_policy(SettingsReader *reader, const JobSettings *settings) {
        const setting_counts *s = &settings->schedule;
        uint32_t most = settings_actors_max(settings), fewest = settings->n_actors_min;

        if (scheduler_has(settings->scheduler.kind, TRAIT_TARGET) && isnan(settings_target_return(settings)))
                reader_complain(reader, "Scaling", "Policy",
                                choice_scheduler_to_string(settings->scheduler.kind),
                                "this policy needs TargetReturn= or StopReturn=, the return to reach");
        check_measured(reader, settings);
        check_objective(reader, settings);
        if (settings->scheduler.kind != SCHEDULER_SCHEDULE)
                return;
        if (!settings_present(settings, SETTING_Scaling_Schedule))
                reader_complain(reader, "Scaling", "Policy", "schedule",
                                "this policy needs Schedule=, as in 25*10 30*5");
        for (uint32_t i = 0; i < s->n; i++)
                if (s->runs[i].n_actors > most || s->runs[i].n_actors < fewest) {
                        g_autofree char *text =
                                        g_strdup_printf("%u*%u", s->runs[i].n_actors, s->runs[i].n_rounds);

                        reader_complain(reader, "Scaling", "Schedule", text,
                                        "MinActors=%u and MaxActors=%u allow no such round", fewest, most);
                        return;
                }
}

/* Programs that know nothing about jobs print the tag, and it is part of the ledger's keys. So only
 * characters without a special meaning are allowed. */
static void check_tag(SettingsReader *reader, const JobSettings *settings) {
        size_t n = strspn(settings->tag, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-._+:@/");

        if (settings->tag[n] != '\0' || n > JOB_TAG_MAX)
                reader_complain(reader, "Job", "Tag", settings->tag,
                                "a tag has at most %u characters: ASCII letters, digits and - . _ + : @ /",
                                JOB_TAG_MAX);
}

/* An inner job's run cannot go on in another invocation: it begins and ends inside one. */
static void check_job(SettingsReader *reader, const JobSettings *settings) {
        const ActordOption *rounds = settings_option(settings, "Rounds");
        uint64_t n_rounds = JOB_ROUNDS_DEFAULT;
        g_autofree char *text = NULL;

        if (!environment_is_job(settings->environment))
                return;
        if (settings->environment[strlen(ENVIRONMENT_JOB_PREFIX)] == '\0') {
                reader_complain(reader, "Job", "Environment", settings->environment,
                                "write " ENVIRONMENT_JOB_PREFIX "FILE, with the path of a job file");
                return;
        }
        if (rounds && !g_ascii_string_to_unsigned(rounds->value, 10, 1, JOB_ROUNDS_MAX, &n_rounds, NULL)) {
                reader_complain(reader, "Environment", rounds->key, rounds->value,
                                "it must be a whole number from 1 to %u", JOB_ROUNDS_MAX);
                return;
        }
        if (settings->carry != CARRY_RESET)
                reader_complain(reader, "Actor", "Carry", choice_carry_to_string(settings->carry),
                                "an inner job cannot go on in the next invocation: write "
                                "Carry=reset");
        if (settings->rollout_steps < n_rounds) {
                text = g_strdup_printf("%u", settings->rollout_steps);
                reader_complain(reader, "Actor", "RolloutSteps", text,
                                "an inner run ends within an invocation, so RolloutSteps= must be at "
                                "least Rounds=%" G_GUINT64_FORMAT,
                                n_rounds);
        }
}

static void check_python(SettingsReader *reader, const JobSettings *settings) {
        if (settings->python[0] != '\0' && !environment_loads_packages(settings->environment))
                reader_complain(reader, "Actor", "Python", settings->python,
                                "only Environment=" ENVIRONMENT_GYM_PREFIX
                                "ID, " ENVIRONMENT_PETTINGZOO_PREFIX
                                "MODULE and stormwater:… read this key");
        if (settings->python_path[0] != '\0' && !environment_is_python(settings->environment))
                reader_complain(reader, "Actor", "PythonPath", settings->python_path,
                                "only Environment=" ENVIRONMENT_GYM_PREFIX
                                "ID and " ENVIRONMENT_PETTINGZOO_PREFIX "MODULE read this key");
}

/* The name of a unit as in systemd.unit(5). %j is the job's number and %r its result, so that an instance of
 * a template unit gets both. */
static void check_on_end(SettingsReader *reader, const JobSettings *settings) {
        static const char *const kinds[] = { ".service", ".target", ".timer", ".path", ".socket", ".mount" };
        const char *unit = settings->on_end;
        size_t n = strlen(unit);
        bool known = n == 0;

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                known = known || (n > strlen(kinds[i]) && g_str_has_suffix(unit, kinds[i]));
        for (const char *p = unit; *p; p++)
                known = known && (g_ascii_isalnum(*p) || strchr(":-_.\\@", *p) ||
                                                 (*p == '%' && (p[1] == 'j' || p[1] == 'r')));
        if (!known || unit[0] == '@' || unit[0] == '.' || unit[0] == '-')
                reader_complain(reader, "Job", "OnEnd", unit,
                                "write the name of a unit, such as mail.service or tell@%%j.service; %%j is "
                                "the job's number, and %%r how it ended");
}

static void check_evaluation(SettingsReader *reader, const JobSettings *settings) {
        char text[SETTING_TEXT_MAX];

        if (!settings_present(settings, SETTING_Evaluation_StopReturn) || settings->evaluation_episodes > 0)
                return;
        setting_print(settings, SETTING_Evaluation_StopReturn, text);
        reader_complain(reader, "Evaluation", "StopReturn", text,
                        "nothing is evaluated: set Episodes= as well");
}

/* Checks that the distribution is possible with the job's number of processes. */
static void check_distribution(SettingsReader *reader, const JobSettings *settings) {
        const Distribution *row = distribution_of(settings);
        const char *word = choice_distribution_to_string(settings->distribution);
        char reason[256];
        Graph graph;

        graph_make(row, settings, &graph);
        if (graph_validate(&graph, reason, sizeof(reason)) < 0)
                reader_complain(reader, "Distribution", "Policy", word, "%s", reason);
        if (settings->n_learners > 1 && distribution_learners(row, settings) == 1)
                reader_complain(reader, "Distribution", "Policy", word,
                                "this policy has one learner, and Learners=%u asks for more: use "
                                "multi-learner or central",
                                settings->n_learners);
        if (row->inference_barrier == BARRIER_ALL &&
                        settings_processes(settings) < settings_actors_max(settings))
                reader_complain(reader, "Distribution", "Policy", word,
                                "all actors of a round step together, so each needs a process of its "
                                "own, and Processes=%u is fewer than %u actors: leave Processes= unset, "
                                "or use single-learner-fine",
                                settings->n_processes, settings_actors_max(settings));
}

/* "impala, impact": the algorithms that may learn from rollouts of an older policy. */
static char *patient_algorithms(void) {
        GString *words = g_string_new(NULL);

        for (uint32_t a = 0; a < _ALGORITHM_MAX; a++)
                if (algorithm_row(a)->stale)
                        g_string_append_printf(words, "%s%s", words->len > 0 ? ", " : "",
                                        choice_algorithm_to_string(a));
        return g_string_free(words, FALSE);
}

static void check_overlap(SettingsReader *reader, const JobSettings *settings) {
        g_autofree char *others = patient_algorithms();

        if (!distribution_overlaps(distribution_of(settings)))
                return;
        if (!algorithm_row(settings->algorithm)->stale)
                reader_complain(reader, "Distribution", "Policy",
                                choice_distribution_to_string(settings->distribution),
                                "Algorithm=%s learns only from rollouts of the newest policy, and here "
                                "the learner does not wait for actors, so rollouts may be of an older "
                                "one: use an Algorithm= from %s, or Policy=single-learner-coarse",
                                choice_algorithm_to_string(settings->algorithm), others);
        if (algorithm_uses(settings->algorithm, SETTING_Learner_NoiseScale) &&
                        settings_noise_scale(settings))
                reader_complain(reader, "Distribution", "Policy",
                                choice_distribution_to_string(settings->distribution),
                                "the gradient's noise scale compares the actors of a round, and here a "
                                "round has one: leave NoiseScale= unset and use a Scaling.Policy= that "
                                "does not need it, or use single-learner-coarse");
}

static void check_fused(SettingsReader *reader, const JobSettings *settings) {
        const char *why = distribution_refuses_fused(settings);

        if (why && distribution_fuses(distribution_of(settings)))
                reader_complain(reader, "Distribution", "Policy",
                                choice_distribution_to_string(settings->distribution),
                                "%s; single-learner-coarse makes the same policy", why);
}

/* Why a job cannot have nodes; NULL: it can. A node has only actord's programs and the job's settings, and
 * its actors choose their actions themselves. */
static const char *refuses_nodes(const JobSettings *settings) {
        const Distribution *row = distribution_of(settings);

        if (settings->distribution == DISTRIBUTION_AUTO)
                return "auto may choose a distribution that cannot use nodes";
        if (distribution_serves(row))
                return "its actors ask the learner for each action, which would take too long from a node";
        if (distribution_fuses(row))
                return "its actors act in the learner's process, which stays on one host";
        return NULL;
}

/* Why an environment cannot run on nodes; NULL: it can. Then it is built in or installed on nodes, or it is
 * one file, which nodes get. */
static const char *stays_here(const char *environment) {
        if (environment_is_python(environment))
                return "runs in Python, whose interpreter and packages are not sent to nodes";
        if (environment_loads_packages(environment))
                return "needs a Python package, and packages are not sent to nodes";
        if (environment_is_mjcf(environment))
                return "needs its folder, and only a plugin's file is sent to nodes";
        return NULL;
}

static void check_cluster(SettingsReader *reader, const JobSettings *settings) {
        const char *word = choice_cluster_to_string(settings->cluster), *why = refuses_nodes(settings);
        const char *stays = stays_here(settings->environment);

        if (!settings_has_nodes(settings))
                return;
        if (why)
                reader_complain(reader, "Distribution", "Cluster", word,
                                "Policy=%s has no actors for nodes: %s; single-learner-coarse, "
                                "multi-learner and async have them",
                                choice_distribution_to_string(settings->distribution), why);
        if (stays)
                reader_complain(reader, "Distribution", "Cluster", word,
                                "Environment=%s %s: use a plugin, an environment that `actorctl env "
                                "list` shows as built in or installed, or Cluster=none",
                                settings->environment, stays);
        if (settings->dataset[0])
                reader_complain(reader, "Distribution", "Cluster", word,
                                "Dataset= is a file that nodes do not see; such a job has no actors that "
                                "act, and needs Cluster=none");
        if (settings->actor_scope == ACTOR_SCOPE_EACH)
                reader_complain(reader, "Distribution", "Cluster", word,
                                "ActorScope=each asks this host's systemd for scopes, and a node has none: "
                                "leave ActorScope= unset");
}

void settings_check_relations(SettingsReader *reader, const JobSettings *settings) {
        g_assert(reader);
        g_assert(settings);

        check_actors(reader, settings);
        check_slots(reader, settings);
        check_distribution(reader, settings);
        check_fused(reader, settings);
        check_overlap(reader, settings);
        check_cluster(reader, settings);
        check_algorithm(reader, settings);
        check_policy(reader, settings);
        settings_check_learner(reader, settings);
        check_tag(reader, settings);
        check_on_end(reader, settings);
        check_job(reader, settings);
        check_python(reader, settings);
        check_evaluation(reader, settings);
}
