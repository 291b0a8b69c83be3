/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the text of an experiment, which is a key file. The job parser, and not this file, checks the
 * settings of each cell's job. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/experiment/reader.h"
#include "actorctl/experiment/sweep.h"
#include "actorctl/file.h"
#include "include/environments.h"
#include "lib/cleanup.h"
#include "lib/sheets.h"

#define SECTION_ARM    "Arm "
#define SECTION_FACTOR "Factor "
#define NAME_MAX_BYTES 48u

Experiment *experiment_free(Experiment *e) {
        if (!e)
                return NULL;
        g_free(e->file_name);
        g_free(e->text);
        g_free(e->title);
        g_free(e->job_file);
        g_free(e->job_text);
        if (e->seeds)
                g_array_unref(e->seeds);
        g_ptr_array_unref(e->sets);
        g_ptr_array_unref(e->arms);
        g_ptr_array_unref(e->factors);
        g_strfreev(e->prices);
        g_array_unref(e->metrics);
        sweep_free(e->sweep);
        g_free(e);
        return NULL;
}

static bool read_range(const char *word, guint64 *ret_first, guint64 *ret_last) {
        const char *dash = strchr(word, '-');
        g_autofree char *first = dash ? g_strndup(word, (size_t) (dash - word)) : g_strdup(word);

        return g_ascii_string_to_unsigned(g_strchomp(first), 10, 0, UINT64_MAX / 2, ret_first, NULL) &&
               g_ascii_string_to_unsigned(dash ? dash + 1 : first, 10, 0, UINT64_MAX / 2, ret_last, NULL);
}

GArray *seeds_parse(const char *text, char **ret_reason) {
        g_autoptr(GArray) seeds = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        g_auto(GStrv) words = g_strsplit_set(text, ", ", -1);

        for (char **word = words; *word; word++) {
                guint64 first, last;

                if (!**word)
                        continue;
                if (!read_range(*word, &first, &last) || last < first) {
                        *ret_reason = g_strdup_printf(
                                        "%s is neither a seed nor a range of them, such as 1-40", *word);
                        return NULL;
                }
                for (guint64 seed = first; seed <= last; seed++) {
                        if (seeds->len == SEEDS_MAX) {
                                *ret_reason = g_strdup_printf("more than %u seeds", SEEDS_MAX);
                                return NULL;
                        }
                        if (!g_hash_table_add(seen, g_memdup2(&seed, sizeof(seed)))) {
                                *ret_reason = g_strdup_printf(
                                                "seed %" G_GUINT64_FORMAT " is named twice", seed);
                                return NULL;
                        }
                        g_array_append_val(seeds, seed);
                }
        }
        if (seeds->len == 0) {
                *ret_reason = g_strdup("there are no seeds: write ranges and numbers, such as 1-40");
                return NULL;
        }
        return g_steal_pointer(&seeds);
}

static ExitStatus take_title(const Reader *reader, const char *key, const char *value) {
        g_free(reader->experiment->title);
        reader->experiment->title = g_strdup(value);
        return STATUS_OK;
}

static ExitStatus take_job(const Reader *reader, const char *key, const char *value) {
        g_autofree char *directory = g_path_get_dirname(reader->experiment->file_name),
                        *path = g_path_is_absolute(value) ? g_strdup(value)
                                                          : g_build_filename(directory, value, NULL);
        g_autofree char *text = NULL;
        size_t n;
        int r;

        r = file_read(path, JOB_TEXT_MAX, &text, &n);
        if (r < 0)
                return reader_wrong(reader, "Experiment", key, "the job file cannot be read: %s",
                                file_reason(r));
        if (strlen(text) < n)
                return reader_wrong(reader, "Experiment", key, "the job file holds a zero byte");
        reader->experiment->job_file = g_steal_pointer(&path);
        reader->experiment->job_text = g_steal_pointer(&text);
        return STATUS_OK;
}

static ExitStatus take_seeds(const Reader *reader, const char *key, const char *value) {
        g_autofree char *reason = NULL;

        reader->experiment->seeds = seeds_parse(value, &reason);
        return reader->experiment->seeds ? STATUS_OK : reader_wrong(reader, "Experiment", key, "%s", reason);
}

static ExitStatus take_metrics(const Reader *reader, const char *key, const char *value) {
        g_auto(GStrv) words = g_strsplit_set(value, ", ", -1);

        for (char **word = words; *word; word++) {
                Metric metric;
                ExitStatus status;

                if (!**word)
                        continue;
                status = reader_metric(reader, "Experiment", *word, &metric);
                if (status != STATUS_OK)
                        return status;
                g_array_append_val(reader->experiment->metrics, metric);
        }
        return STATUS_OK;
}

static ExitStatus take_target(const Reader *reader, const char *key, const char *value) {
        if (settings_parse_real(value, -JOB_TARGET_MAX, JOB_TARGET_MAX, &reader->experiment->target) < 0)
                return reader_wrong(reader, "Experiment", key, "it must be a number from %g to %g",
                                -JOB_TARGET_MAX, JOB_TARGET_MAX);
        return STATUS_OK;
}

/* Reports a missing price sheet before the first cell runs, since cells are billed only when they are
 * finished. */
static ExitStatus take_prices(const Reader *reader, const char *key, const char *value) {
        g_auto(GStrv) words = g_strsplit_set(value, ", ", -1);
        g_autoptr(GPtrArray) sheets = g_ptr_array_new_with_free_func(g_free);

        for (char **word = words; *word; word++) {
                g_autofree char *text = NULL;

                if (!**word)
                        continue;
                if (sheets_read(*word, &text) < 0)
                        return reader_wrong(reader, "Experiment", key,
                                        "there is no price sheet %s; `actorctl price list` lists them",
                                        *word);
                if (sheets->len == SHEETS_MAX)
                        return reader_wrong(
                                        reader, "Experiment", key, "more than %u price sheets", SHEETS_MAX);
                g_ptr_array_add(sheets, g_strdup(*word));
        }
        if (sheets->len == 0)
                return STATUS_OK;
        g_ptr_array_add(sheets, NULL);
        reader->experiment->prices = (GStrv) g_ptr_array_steal(sheets, NULL);
        return STATUS_OK;
}

/* Accepts any name: it is looked up when all arms are known. */
static ExitStatus take_baseline(const Reader *reader, const char *key, const char *value) {
        return STATUS_OK;
}

static const struct {
        const char *key;
        ExitStatus (*take)(const Reader *reader, const char *key, const char *value);
} experiment_keys[] = {
        { "Title", take_title },
        { "Job", take_job },
        { "Seeds", take_seeds },
        { "Metric", take_metrics },
        { "Target", take_target },
        { "Baseline", take_baseline },
        { "Prices", take_prices },
};

static ExitStatus read_key(const Reader *reader, const char *key, const char *value) {
        const char *known[G_N_ELEMENTS(experiment_keys) + 1] = {}, *nearest;

        for (size_t i = 0; i < G_N_ELEMENTS(experiment_keys); i++) {
                if (strcmp(experiment_keys[i].key, key) == 0)
                        return experiment_keys[i].take(reader, key, value);
                known[i] = experiment_keys[i].key;
        }
        nearest = nearest_word(key, known);
        return reader_wrong(reader, "Experiment", key, "unknown key%s%s%s",
                        nearest ? " (did you mean " : "; settings of the jobs belong in [Set]",
                        nearest ? nearest : "", nearest ? "?)" : "");
}

static ExitStatus read_overrides(const Reader *reader, const char *section, GPtrArray *sets) {
        g_auto(GStrv) keys = g_key_file_get_keys(reader->file, section, NULL, NULL);

        for (char **key = keys; key && *key; key++) {
                g_autofree char *value = g_key_file_get_value(reader->file, section, *key, NULL);

                if (!strchr(*key, '.'))
                        return reader_wrong(reader, section, *key, "write Section.Key=VALUE");
                if (strcmp(*key, "Job.Seed") == 0)
                        return reader_wrong(reader, section, *key, SEEDS_ARE);
                g_ptr_array_add(sets, g_strdup_printf("%s=%s", *key, value ? value : ""));
        }
        return STATUS_OK;
}

/* Allows no dot and no slash in the name of an arm, a factor or a level, since the names of arms and levels,
 * separated by dots, become the names of files. */
static bool name_is_fine(const char *name) {
        return name[0] && strlen(name) <= NAME_MAX_BYTES &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-") ==
                               strlen(name);
}

static ExitStatus read_arm(const Reader *reader, const char *section) {
        GPtrArray *arms = reader->experiment->arms;
        const char *name = section + strlen(SECTION_ARM);

        if (!name_is_fine(name))
                return reader_wrong(reader, section, NULL, "a name is up to %u letters, digits, +, - and _",
                                NAME_MAX_BYTES);
        if (arms->len == ARMS_MAX)
                return reader_wrong(reader, section, NULL, "more than %u arms", ARMS_MAX);
        g_ptr_array_add(arms, arm_new(name));
        return read_overrides(reader, section, ((Arm *) arms->pdata[arms->len - 1])->sets);
}

/* Reads "Section.Key=VALUE; Section.Key=VALUE", or nothing. */
static ExitStatus read_level(const Reader *reader, const char *section, const char *name, Factor *factor) {
        g_autofree char *value = g_key_file_get_value(reader->file, section, name, NULL);
        g_auto(GStrv) parts = g_strsplit(value ? value : "", ";", -1);
        Arm *level = arm_new(name);

        g_ptr_array_add(factor->levels, level);
        if (!name_is_fine(name))
                return reader_wrong(reader, section, name, "a name is up to %u letters, digits, +, - and _",
                                NAME_MAX_BYTES);
        for (char **part = parts; *part; part++) {
                static const char seed[] = "Job.Seed=";
                char *word = g_strstrip(*part), *equals = strchr(word, '=');
                const char *point = strchr(word, '.');
                g_autofree char *set = NULL;

                if (!*word)
                        continue;
                if (!equals || !point || point > equals)
                        return reader_wrong(reader, section, name,
                                        "%s: write LEVEL=Section.Key=VALUE, with ; between several", word);
                *equals = '\0';
                set = g_strconcat(g_strchomp(word), "=", g_strchug(equals + 1), NULL);
                if (g_str_has_prefix(set, seed))
                        return reader_wrong(reader, section, name, SEEDS_ARE);
                g_ptr_array_add(level->sets, TAKE_PTR(set));
        }
        return STATUS_OK;
}

static ExitStatus read_factor(const Reader *reader, const char *section) {
        g_auto(GStrv) keys = g_key_file_get_keys(reader->file, section, NULL, NULL);
        Factor *factor = factor_new(section + strlen(SECTION_FACTOR));

        g_ptr_array_add(reader->experiment->factors, factor);
        if (!name_is_fine(factor->name))
                return reader_wrong(reader, section, NULL, "a name is up to %u letters, digits, +, - and _",
                                NAME_MAX_BYTES);
        if (reader->experiment->factors->len > FACTORS_MAX)
                return reader_wrong(reader, section, NULL, "more than %u factors", FACTORS_MAX);
        for (char **key = keys; key && *key; key++) {
                ExitStatus status = read_level(reader, section, *key, factor);

                if (status != STATUS_OK)
                        return status;
        }
        if (factor->levels->len == 0 || factor->levels->len > LEVELS_MAX)
                return reader_wrong(reader, section, NULL,
                                "a factor has 1 to %u levels, such as LEVEL=Section.Key=VALUE", LEVELS_MAX);
        return STATUS_OK;
}

static ExitStatus read_section(const Reader *reader, const char *section) {
        static const char *const known[] = { "Experiment", "Set", "Arm NAME", "Factor NAME", "Sweep",
                "Range", NULL };
        const char *nearest;

        if (strcmp(section, "Experiment") == 0) {
                g_auto(GStrv) keys = g_key_file_get_keys(reader->file, section, NULL, NULL);

                for (char **key = keys; key && *key; key++) {
                        g_autofree char *value = g_key_file_get_value(reader->file, section, *key, NULL);
                        ExitStatus status = read_key(reader, *key, g_strstrip(value));

                        if (status != STATUS_OK)
                                return status;
                }
                return STATUS_OK;
        }
        if (strcmp(section, "Set") == 0)
                return read_overrides(reader, section, reader->experiment->sets);
        if (g_str_has_prefix(section, SECTION_ARM))
                return read_arm(reader, section);
        if (g_str_has_prefix(section, SECTION_FACTOR))
                return read_factor(reader, section);
        if (strcmp(section, "Sweep") == 0)
                return sweep_read(reader);
        if (strcmp(section, "Range") == 0)
                return ranges_read(reader);
        if (strcmp(section, "Job") == 0)
                return reader_wrong(reader, section, NULL,
                                "unknown section; this is a job file: `actorctl run` trains it");
        nearest = nearest_word(section, known);
        return reader_wrong(reader, section, NULL, "unknown section%s%s%s",
                        nearest ? " (did you mean "
                                : "; known: [Experiment], [Set], [Arm NAME], [Factor NAME], [Sweep], "
                                  "[Range]",
                        nearest ? nearest : "", nearest ? "?)" : "");
}

/* Refuses repeated sections and keys: GLib merges sections with equal names and takes the last one of equal
 * keys, so two arms could silently become one. */
static ExitStatus check_repeated(const Reader *reader) {
        g_autoptr(GPtrArray) all = settings_repeated(reader->experiment->text, true);
        const RepeatedKey *repeated;

        if (all->len == 0)
                return STATUS_OK;
        repeated = all->pdata[0];
        return reader_refuse(g_strdup_printf("%s:%u: [%s]%s%s is in line %u already",
                        reader->experiment->file_name, repeated->line, repeated->section,
                        repeated->key ? " " : "", repeated->key ? repeated->key : "", repeated->first));
}

static ExitStatus find_baseline(const Reader *reader) {
        g_autofree char *name = g_key_file_get_value(reader->file, "Experiment", "Baseline", NULL);
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        if (!name)
                return STATUS_OK;
        for (guint i = 0; i < reader->experiment->arms->len; i++) {
                const Arm *arm = reader->experiment->arms->pdata[i];

                if (strcmp(arm->name, g_strstrip(name)) == 0) {
                        reader->experiment->baseline = (int) i;
                        return STATUS_OK;
                }
                g_ptr_array_add(names, arm->name);
        }
        g_ptr_array_add(names, NULL);
        nearest = nearest_word(name, (const char *const *) names->pdata);
        return reader_wrong(reader, "Experiment", "Baseline", "there is no [Arm %s]%s%s%s", name,
                        nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

static ExitStatus check_complete(const Reader *reader) {
        Experiment *e = reader->experiment;
        static const Metric fallback[] = { METRIC_EVALUATION_LAST5, METRIC_EVALUATION_AREA,
                METRIC_RETURN_LAST5, METRIC_COST, METRIC_TIME, METRIC_COST_TO_TARGET,
                METRIC_TIME_TO_TARGET };
        const guint n = G_N_ELEMENTS(fallback) - (isnan(e->target) ? 2 : 0);

        if (!e->job_text)
                return reader_wrong(reader, "Experiment", NULL,
                                "Job=FILE.conf is missing: name the job file to vary");
        if (!e->seeds)
                return reader_wrong(reader, "Experiment", NULL,
                                "Seeds= is missing: write the seeds, such as 1-40");
        if (!e->title) {
                g_autofree char *base = g_path_get_basename(e->file_name);

                e->title = g_steal_pointer(&base);
        }
        if (e->sweep)
                return sweep_complete(reader);
        if (e->arms->len == 0)
                return reader_wrong(
                                reader, "Experiment", NULL, "there is no [Arm NAME]: write at least one");
        if (e->metrics->len == 0)
                g_array_append_vals(e->metrics, fallback, n);
        for (guint i = 0; i < e->metrics->len; i++) {
                Metric metric = g_array_index(e->metrics, Metric, i);

                if ((metric == METRIC_COST_TO_TARGET || metric == METRIC_TIME_TO_TARGET) && isnan(e->target))
                        return reader_wrong(reader, "Experiment", "Metric",
                                        "Target= is missing: write the return to reach");
        }
        return find_baseline(reader);
}

/* Finds the wrong line of a text, which GLib's error does not name. It is the last line of the shortest
 * beginning of the text that does not parse. */
static unsigned broken_line(const char *text) {
        unsigned line = 1;

        for (const char *end = strchr(text, '\n'); end; end = strchr(end + 1, '\n'), line++) {
                g_autoptr(GKeyFile) file = g_key_file_new();

                if (!g_key_file_load_from_data(file, text, (gsize) (end - text), G_KEY_FILE_NONE, NULL))
                        break;
        }
        return line;
}

static ExitStatus refuse_line(const char *file_name, const char *text) {
        unsigned line = broken_line(text);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        const char *first = g_strstrip(lines[line - 1]), *reason = "invalid key name";

        if (first[0] == '[')
                reason = "not a section: write [Section], alone on its line";
        else if (!strchr(first, '='))
                reason = "neither a section nor KEY=VALUE, and not a comment (# ...)";
        else if (!strchr(text, '[') || strchr(text, '[') > strchr(text, '='))
                reason = "before the first section: write [Experiment] above it";
        return reader_refuse(g_strdup_printf("%s:%u: %s: %.60s", file_name, line, reason, first));
}

ExitStatus experiment_parse(const char *file_name, const char *text, Experiment **ret) {
        g_autoptr(Experiment) experiment = g_new0(Experiment, 1);
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_auto(GStrv) sections = NULL;
        Reader reader = { experiment, file };
        ExitStatus status = STATUS_OK;

        *experiment = (Experiment){
                .file_name = g_strdup(file_name),
                .text = g_strdup(text),
                .sets = g_ptr_array_new_with_free_func(g_free),
                .arms = g_ptr_array_new_with_free_func(arm_free),
                .factors = g_ptr_array_new_with_free_func(factor_free),
                .metrics = g_array_new(FALSE, FALSE, sizeof(Metric)),
                .target = NAN,
                .baseline = -1,
        };
        if (!g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, NULL))
                return refuse_line(file_name, text);
        status = check_repeated(&reader);
        sections = g_key_file_get_groups(file, NULL);
        for (char **section = sections; *section && status == STATUS_OK; section++)
                status = read_section(&reader, *section);
        if (status == STATUS_OK)
                status = check_complete(&reader);
        if (status == STATUS_OK)
                *ret = g_steal_pointer(&experiment);
        return status;
}

ExitStatus experiment_load(const char *file, Experiment **ret) {
        g_autofree char *text = NULL;
        size_t n;
        int r;

        r = file_read(file, JOB_TEXT_MAX, &text, &n);
        if (r < 0) {
                fprintf(stderr, "%s: the experiment cannot be read: %s\n", file, file_reason(r));
                return STATUS_USAGE;
        }
        if (strlen(text) < n || !g_utf8_validate(text, -1, NULL)) {
                fprintf(stderr, "%s: the text is not UTF-8\n", file);
                return STATUS_USAGE;
        }
        return experiment_parse(file, text, ret);
}
