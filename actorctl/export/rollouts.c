/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the episodes of an evaluation as a data set. An actor plays them in its sandbox
 * (actor/trial/play.c) and reports each step. */
#include "actorctl/export/rollouts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actorctl/file.h"
#include "actorctl/private.h"
#include "actorctl/recording/policy.h"
#include "actorctl/trial.h"
#include "actorctl/view/json.h"
#include "lib/cleanup.h"
#include "lib/dataset/dataset.h"
#include "lib/fd.h"
#include "lib/settings/print.h"
#include "lib/slot.h"

#define DATA_NAME     "main_data.hdf5"
#define METADATA_NAME "metadata.json"
/* The version of Minari whose layout of metadata is written; a Minari that is older refuses the data set. */
#define LAYOUT_VERSION "0.5.0"
/* The most bytes of one episode, which this program holds until the episode's end. An episode of images has
 * few steps but many numbers. */
#define EPISODE_BYTES_MAX (UINT64_C(1) << 30)

typedef struct Rollouts {
        const DatasetModule *module;
        const char *path; /* the data file's path while it is being written */
        void *writer;     /* the module's open data file; NULL: the spec has not come yet */
        ActordEnvSpec spec;
        GArray *observations, *actions, *rewards; /* doubles: the episode that is being played */
        GByteArray *terminations, *truncations;
        uint64_t n_episodes, n_steps;
        double mean; /* of returns */
        int error;   /* the first error; complain_rollouts() says what each one means */
} Rollouts;

static void rollouts_init(Rollouts *r, const DatasetModule *module, const char *path) {
        *r = (Rollouts){
                .module = module,
                .path = path,
                .observations = g_array_new(FALSE, FALSE, sizeof(double)),
                .actions = g_array_new(FALSE, FALSE, sizeof(double)),
                .rewards = g_array_new(FALSE, FALSE, sizeof(double)),
                .terminations = g_byte_array_new(),
                .truncations = g_byte_array_new(),
        };
}

static void rollouts_done(Rollouts *r) {
        if (r->writer)
                (void) r->module->close(r->writer);
        if (!r->observations)
                return;
        g_array_unref(r->observations);
        g_array_unref(r->actions);
        g_array_unref(r->rewards);
        g_byte_array_unref(r->terminations);
        g_byte_array_unref(r->truncations);
}

static void append(Rollouts *r, GArray *array, const double *numbers, uint64_t n) {
        for (uint64_t i = 0; i < n; i++)
                if (!isfinite(numbers[i]))
                        r->error = r->error ?: -EDOM;
        g_array_append_vals(array, numbers, (guint) n);
}

static void episode_begin(Rollouts *r, const double *observation, uint64_t n) {
        g_array_set_size(r->observations, 0);
        g_array_set_size(r->actions, 0);
        g_array_set_size(r->rewards, 0);
        g_byte_array_set_size(r->terminations, 0);
        g_byte_array_set_size(r->truncations, 0);
        append(r, r->observations, observation, n);
}

static void step_take(Rollouts *r, const TrialStep *step, const double *numbers) {
        uint64_t n_action = space_numbers(&r->spec.action),
                 n = n_action + space_numbers(&r->spec.observation);
        const uint8_t terminated = step->terminated != 0, truncated = step->truncated != 0;
        uint64_t held = (uint64_t) r->observations->len + r->actions->len;

        if (r->rewards->len >= DATASET_EPISODE_STEPS_MAX || held + n > EPISODE_BYTES_MAX / sizeof(double)) {
                r->error = -EFBIG;
                return;
        }
        append(r, r->actions, numbers, n_action);
        append(r, r->observations, numbers + n_action, n - n_action);
        append(r, r->rewards, &step->reward, 1);
        g_byte_array_append(r->terminations, &terminated, 1);
        g_byte_array_append(r->truncations, &truncated, 1);
}

static void episode_end(Rollouts *r) {
        const DatasetEpisode episode = {
                .number = r->n_episodes,
                .n_steps = r->rewards->len,
                .observations = (const double *) (const void *) r->observations->data,
                .actions = (const double *) (const void *) r->actions->data,
                .rewards = (const double *) (const void *) r->rewards->data,
                .terminations = r->terminations->data,
                .truncations = r->truncations->data,
        };
        double sum = 0.0;

        /* A hostile plugin might send rows that do not begin with a reset, and so are no whole episode. */
        if (episode.n_steps == 0 ||
                        r->observations->len !=
                                        (episode.n_steps + 1) * space_numbers(&r->spec.observation)) {
                r->error = -EBADMSG;
                return;
        }
        r->error = r->module->add(r->writer, &episode);
        for (uint64_t t = 0; t < episode.n_steps; t++)
                sum += episode.rewards[t];
        r->n_steps += episode.n_steps;
        r->mean += (sum - r->mean) / (double) ++r->n_episodes;
}

static void take_row(const TrialRow *row, void *userdata) {
        Rollouts *r = userdata;

        if (r->error < 0)
                return;
        if (row->kind == TRIAL_SPEC && !r->writer) {
                r->spec = row->spec->spec;
                r->error = r->module->create(r->path, &r->spec, &r->writer);
        }
        if (row->kind == TRIAL_RESET)
                episode_begin(r, row->numbers, row->n_numbers);
        if (row->kind == TRIAL_STEP)
                step_take(r, row->head, row->numbers);
        if (row->kind == TRIAL_EPISODE)
                episode_end(r);
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

static char *metadata_text(const Rollouts *r, const JobSettings *settings, uint64_t n_bytes) {
        g_autofree char *observation = space_text(&r->spec, &r->spec.observation),
                        *action = space_text(&r->spec, &r->spec.action);
        g_autofree char *id = dataset_id(settings->environment);
        char bytes[G_ASCII_DTOSTR_BUF_SIZE];
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "dataset_id", id);
        json_object_set_string_member(object, "minari_version", LAYOUT_VERSION);
        json_object_set_string_member(object, "data_format", "hdf5");
        json_object_set_member(object, "total_episodes", json_unsigned(r->n_episodes));
        json_object_set_member(object, "total_steps", json_unsigned(r->n_steps));
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

static int write_metadata(
                const Rollouts *r, const JobSettings *settings, uint64_t n_bytes, const char *path) {
        g_autofree char *text = metadata_text(r, settings, n_bytes);

        return file_write(path, text, strlen(text));
}

static ExitStatus complain_rollouts(const Rollouts *r, const char *directory) {
        if (r->error == -EDOM)
                complain("episode %" G_GUINT64_FORMAT " has a number that is not finite: nothing is written",
                                r->n_episodes);
        else if (r->error == -EFBIG)
                complain("episode %" G_GUINT64_FORMAT " has more than %" G_GUINT64_FORMAT
                         " steps, or more than 1 GiB of numbers: nothing is written",
                                r->n_episodes, DATASET_EPISODE_STEPS_MAX);
        else if (r->error == -EBADMSG)
                complain("episode %" G_GUINT64_FORMAT " has no steps: nothing is written", r->n_episodes);
        else
                complain("the data set cannot be written to %s: %s", directory, g_strerror(-r->error));
        return STATUS_FAILED;
}

/* Closes the writer, then moves the finished data and metadata to their names in the directory. */
static ExitStatus commit(Rollouts *r, const JobSettings *settings, Aside *data, const char *directory) {
        g_autofree char *data_path = g_build_filename(directory, DATA_NAME, NULL);
        g_autofree char *metadata_path = g_build_filename(directory, METADATA_NAME, NULL);
        struct stat st;

        if (r->error >= 0 && r->n_episodes == 0)
                r->error = -EBADMSG;
        if (r->error >= 0)
                r->error = r->module->close(TAKE_PTR(r->writer));
        if (r->error >= 0 && fstat(data->fd, &st) < 0)
                r->error = -errno;
        if (r->error >= 0)
                r->error = aside_commit(data, data_path);
        if (r->error >= 0)
                r->error = write_metadata(r, settings, (uint64_t) st.st_size, metadata_path);
        return r->error < 0 ? complain_rollouts(r, directory) : STATUS_OK;
}

static ExitStatus write_directory(const Options *options, const DatasetModule *module,
                const JobFile *job_file, const NamedCheckpoint *from, const char *directory) {
        g_autofree char *path = g_build_filename(directory, DATA_NAME, NULL),
                        *metadata_path = g_build_filename(directory, METADATA_NAME, NULL);
        _cleanup_(aside_done) Aside data = ASIDE_EMPTY;
        _cleanup_(rollouts_done) Rollouts rollouts = {};
        ExitStatus status;
        TrialRequest request = { .kind = TRIAL_PLAY_STEPS };
        int r;

        if (!may_replace(path) || !may_replace(metadata_path))
                return STATUS_USAGE;
        r = g_mkdir_with_parents(directory, 0777) < 0 ? -errno : aside_open(path, 0666, &data);
        if (r < 0) {
                complain("the data set cannot be written to %s: %s", directory, g_strerror(-r));
                return STATUS_FAILED;
        }
        rollouts_init(&rollouts, module, data.path);
        request.n_episodes = options->n_episodes > 0 ? options->n_episodes : EPISODES_DEFAULT;
        status = policy_play(from, job_file, &request, NULL, take_row, &rollouts);
        if (status == STATUS_OK)
                status = commit(&rollouts, &job_file->settings, &data, directory);
        if (status == STATUS_OK && !options->quiet)
                fprintf(stderr,
                                "%s: %" G_GUINT64_FORMAT " episodes, %" G_GUINT64_FORMAT
                                " steps, return %.2f\n",
                                path, rollouts.n_episodes, rollouts.n_steps, rollouts.mean);
        return status;
}

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

ExitStatus rollouts_export(const Options *options, const NamedCheckpoint *from, const char *default_name) {
        const char *directory = options->output ?: default_name;
        const DatasetModule *module;
        JobFile job_file;
        ExitStatus status;

        status = load_module(&module);
        if (status != STATUS_OK)
                return status;
        status = job_file_load_text(&job_file, from->name, from->text, options->sets);
        if (status == STATUS_OK)
                status = write_directory(options, module, &job_file, from, directory);
        job_file_done(&job_file);
        return status;
}
