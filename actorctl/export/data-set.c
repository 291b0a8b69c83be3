/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects one episode at a time, passes it to the module for HDF5, and writes the metadata in the end. Both
 * files get their names when they are complete. */
#include "actorctl/export/data-set.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actorctl/private.h"
#include "actorctl/view/json.h"
#include "lib/settings/print.h"
#include "lib/slot.h"

#define DATA_NAME     "main_data.hdf5"
#define METADATA_NAME "metadata.json"
/* The version of Minari whose layout of metadata is written; a Minari that is older refuses the data set. */
#define LAYOUT_VERSION "0.5.0"
/* The most bytes of one episode, which this program holds until the episode's end. An episode of images has
 * few steps but many numbers. */
#define EPISODE_BYTES_MAX (UINT64_C(1) << 30)

static ExitStatus load_module(const DatasetModule **ret) {
        g_autofree char *path = private_program_path(DATASET_MODULE);
        int r;

        r = dataset_load(path, ret);
        if (r >= 0)
                return STATUS_OK;
        if (r == -EPROTO)
                complain("%s comes from another build than actorctl: install all parts of actord from one "
                         "build",
                                path);
        else
                complain("%s does not load: this actord was built without libhdf5-dev, or libhdf5 is not "
                         "installed",
                                path);
        return STATUS_FAILED;
}

ExitStatus data_set_open(DataSet *set, const char *directory) {
        ExitStatus status;
        int r;

        status = load_module(&set->module);
        if (status != STATUS_OK)
                return status;
        set->directory = directory;
        set->data_path = g_build_filename(directory, DATA_NAME, NULL);
        set->metadata_path = g_build_filename(directory, METADATA_NAME, NULL);
        set->observations = g_array_new(FALSE, FALSE, sizeof(double));
        set->actions = g_array_new(FALSE, FALSE, sizeof(double));
        set->rewards = g_array_new(FALSE, FALSE, sizeof(double));
        set->terminations = g_byte_array_new();
        set->truncations = g_byte_array_new();
        if (!may_replace(set->data_path) || !may_replace(set->metadata_path))
                return STATUS_USAGE;

        r = g_mkdir_with_parents(directory, 0777) < 0 ? -errno
                                                      : aside_open(set->data_path, 0666, &set->data);
        if (r < 0) {
                complain("the data set cannot be written to %s: %s", directory, g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}

void data_set_done(DataSet *set) {
        if (set->writer)
                (void) set->module->close(set->writer);
        aside_done(&set->data);
        g_free(set->data_path);
        g_free(set->metadata_path);
        if (!set->observations)
                return;
        g_array_unref(set->observations);
        g_array_unref(set->actions);
        g_array_unref(set->rewards);
        g_byte_array_unref(set->terminations);
        g_byte_array_unref(set->truncations);
}

void data_set_describe(DataSet *set, const ActordEnvSpec *spec) {
        if (set->error < 0 || set->writer)
                return;
        set->spec = *spec;
        set->error = set->module->create(set->data.path, &set->spec, &set->writer);
}

static void append(DataSet *set, GArray *array, const double *numbers, uint64_t n) {
        for (uint64_t i = 0; i < n; i++)
                if (!isfinite(numbers[i]))
                        set->error = set->error ?: -EDOM;
        g_array_append_vals(array, numbers, (guint) n);
}

void data_set_begin(DataSet *set, const double *observation, uint64_t n) {
        if (set->error < 0)
                return;
        g_array_set_size(set->observations, 0);
        g_array_set_size(set->actions, 0);
        g_array_set_size(set->rewards, 0);
        g_byte_array_set_size(set->terminations, 0);
        g_byte_array_set_size(set->truncations, 0);
        append(set, set->observations, observation, n);
}

void data_set_step(DataSet *set, const DataSetStep *step) {
        uint64_t n_action = space_numbers(&set->spec.action),
                 n_observation = space_numbers(&set->spec.observation);
        const uint8_t terminated = step->terminated, truncated = step->truncated;
        uint64_t held = (uint64_t) set->observations->len + set->actions->len;

        if (set->error < 0)
                return;
        if (set->rewards->len >= DATASET_EPISODE_STEPS_MAX ||
                        held + n_action + n_observation > EPISODE_BYTES_MAX / sizeof(double)) {
                set->error = -EFBIG;
                return;
        }
        append(set, set->actions, step->action, n_action);
        append(set, set->observations, step->observation, n_observation);
        append(set, set->rewards, &step->reward, 1);
        g_byte_array_append(set->terminations, &terminated, 1);
        g_byte_array_append(set->truncations, &truncated, 1);
}

void data_set_end(DataSet *set) {
        const DatasetEpisode episode = {
                .number = set->n_episodes,
                .n_steps = set->rewards->len,
                .observations = (const double *) (const void *) set->observations->data,
                .actions = (const double *) (const void *) set->actions->data,
                .rewards = (const double *) (const void *) set->rewards->data,
                .terminations = set->terminations->data,
                .truncations = set->truncations->data,
        };
        double sum = 0.0;

        if (set->error < 0)
                return;
        /* A hostile plugin might send rows that do not begin with a reset, and so are no whole episode. */
        if (!set->writer || episode.n_steps == 0 ||
                        set->observations->len !=
                                        (episode.n_steps + 1) * space_numbers(&set->spec.observation)) {
                set->error = -EBADMSG;
                return;
        }
        set->error = set->module->add(set->writer, &episode);
        for (uint64_t t = 0; t < episode.n_steps; t++)
                sum += episode.rewards[t];
        set->n_steps += episode.n_steps;
        set->mean += (sum - set->mean) / (double) ++set->n_episodes;
}

/* Appends a number that is not NaN as Python's json module does, which writes Infinity. */
static void append_number(GString *text, double x) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        if (isinf(x))
                g_string_append(text, x > 0 ? "Infinity" : "-Infinity");
        else
                g_string_append(text, g_ascii_dtostr(digits, sizeof(digits), x));
}

/* Appends a bound for each number, in lists as deep as the shape. */
static void append_bound(GString *text, const ActordSpace *space, uint32_t dim, double bound) {
        if (dim == space->n_dims) {
                append_number(text, bound);
                return;
        }
        g_string_append_c(text, '[');
        for (uint32_t i = 0; i < space->shape[dim]; i++) {
                if (i > 0)
                        g_string_append(text, ", ");
                append_bound(text, space, dim + 1, bound);
        }
        g_string_append_c(text, ']');
}

static const char *element_word(const ActordSpace *space) {
        switch ((ActordElement) space->element) {
        case ACTORD_F32: return "float32";
        case ACTORD_F64: return "float64";
        case ACTORD_I32: return "int32";
        case ACTORD_U8: return "uint8";
        }
        g_assert_not_reached();
}

/* Appends how many choices there are for each number of a space. The numbers of an action may differ in
 * this. */
static void append_choices(GString *text, const ActordEnvSpec *spec, const ActordSpace *space) {
        if (space != &spec->action) {
                append_bound(text, space, 0, space->n_choices);
                return;
        }
        for (uint32_t k = 0; k < space->shape[0]; k++)
                g_string_append_printf(text, "%s%u", k > 0 ? ", " : "[", spec_choices(spec, k));
        g_string_append_c(text, ']');
}

/* A space as minari.serialization writes it: JSON, in a string of the metadata. */
static char *space_text(const ActordEnvSpec *spec, const ActordSpace *space) {
        GString *text = g_string_new(NULL);

        if (space->kind == ACTORD_DISCRETE) {
                g_string_printf(text,
                                "{\"type\": \"Discrete\", \"dtype\": \"int64\", \"start\": 0, \"n\": %u}",
                                space->n_choices);
                return g_string_free(text, FALSE);
        }
        if (space->kind == ACTORD_MULTI_DISCRETE) {
                g_string_append(text, "{\"type\": \"MultiDiscrete\", \"dtype\": \"int64\", \"nvec\": ");
                append_choices(text, spec, space);
                g_string_append(text, ", \"start\": ");
                append_bound(text, space, 0, 0);
                g_string_append_c(text, '}');
                return g_string_free(text, FALSE);
        }
        g_string_printf(text, "{\"type\": \"Box\", \"dtype\": \"%s\", \"shape\": [", element_word(space));
        for (uint32_t i = 0; i < space->n_dims; i++)
                g_string_append_printf(text, "%s%u", i > 0 ? ", " : "", space->shape[i]);
        g_string_append(text, "], \"low\": ");
        append_bound(text, space, 0, space->low);
        g_string_append(text, ", \"high\": ");
        append_bound(text, space, 0, space->high);
        g_string_append_c(text, '}');
        return g_string_free(text, FALSE);
}

/* The data set's name, such as "actord/Pendulum-v1". It ends in a version and has only characters that
 * Minari allows. */
static char *dataset_id(const char *environment) {
        g_autofree char *name = g_strdup(environment);

        g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_", '_');
        return g_regex_match_simple("-v[0-9]+$", name, G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT)
                               ? g_strconcat("actord/", name, NULL)
                               : g_strconcat("actord/", name, "-v0", NULL);
}

static char *metadata_text(const DataSet *set, const JobSettings *settings, uint64_t n_bytes) {
        g_autofree char *observation = space_text(&set->spec, &set->spec.observation),
                        *action = space_text(&set->spec, &set->spec.action);
        g_autofree char *id = dataset_id(settings->environment);
        char bytes[G_ASCII_DTOSTR_BUF_SIZE];
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "dataset_id", id);
        json_object_set_string_member(object, "minari_version", LAYOUT_VERSION);
        json_object_set_string_member(object, "data_format", "hdf5");
        json_object_set_member(object, "total_episodes", json_unsigned(set->n_episodes));
        json_object_set_member(object, "total_steps", json_unsigned(set->n_steps));
        (void) g_ascii_formatd(bytes, sizeof(bytes), "%.1f", (double) n_bytes / 1e6);
        json_object_set_member(object, "dataset_size", json_real(g_ascii_strtod(bytes, NULL)));
        json_object_set_boolean_member(object, "jpeg_encoding", FALSE);
        json_object_set_string_member(object, "observation_space", observation);
        json_object_set_string_member(object, "action_space", action);
        json_object_set_string_member(object, "environment", settings->environment);
        json_object_set_string_member(
                        object, "algorithm_name", choice_algorithm_to_string(settings->algorithm));
        json_object_set_string_member(object, "created_by", "actord " ACTORD_VERSION);
        json_object_unref(object);
        return json_text(node, true, NULL);
}

static int write_metadata(const DataSet *set, const JobSettings *settings, uint64_t n_bytes) {
        g_autofree char *text = metadata_text(set, settings, n_bytes);

        return file_write(set->metadata_path, text, strlen(text));
}

static ExitStatus complain_data_set(const DataSet *set) {
        if (set->error == -EDOM)
                complain("episode %" G_GUINT64_FORMAT " has a number that is not finite: nothing is written",
                                set->n_episodes);
        else if (set->error == -EFBIG)
                complain("episode %" G_GUINT64_FORMAT " has more than %" G_GUINT64_FORMAT
                         " steps, or more than 1 GiB of numbers: nothing is written",
                                set->n_episodes, DATASET_EPISODE_STEPS_MAX);
        else if (set->error == -EBADMSG)
                complain("episode %" G_GUINT64_FORMAT " has no steps: nothing is written", set->n_episodes);
        else
                complain("the data set cannot be written to %s: %s", set->directory,
                                g_strerror(-set->error));
        return STATUS_FAILED;
}

ExitStatus data_set_commit(DataSet *set, const JobSettings *settings, bool quiet) {
        struct stat st;

        if (set->error >= 0 && set->n_episodes == 0)
                set->error = -EBADMSG;
        if (set->error >= 0)
                set->error = set->module->close(g_steal_pointer(&set->writer));
        if (set->error >= 0 && fstat(set->data.fd, &st) < 0)
                set->error = -errno;
        if (set->error >= 0)
                set->error = aside_commit(&set->data, set->data_path);
        if (set->error >= 0)
                set->error = write_metadata(set, settings, (uint64_t) st.st_size);
        if (set->error < 0)
                return complain_data_set(set);
        if (!quiet)
                fprintf(stderr,
                                "%s: %" G_GUINT64_FORMAT " episodes, %" G_GUINT64_FORMAT
                                " steps, return %.2f\n",
                                set->data_path, set->n_episodes, set->n_steps, set->mean);
        return STATUS_OK;
}
