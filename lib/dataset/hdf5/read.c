/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads episodes from a file that may be hostile. The file is parsed in an actor's sandbox, from memory.
 * Lengths and shapes are checked before anything is read, and every number after that. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/slot.h"
#include "lib/cleanup.h"
#include "lib/dataset/hdf5/hdf5.h"
#include "lib/slot.h"

enum { DIMS_MAX = 5 };

DEFINE_HANDLE(driver, H5FDunregister)
DEFINE_HANDLE(file, H5Fclose)
DEFINE_HANDLE(list, H5Pclose)
DEFINE_HANDLE(group, H5Gclose)
DEFINE_HANDLE(dataset, H5Dclose)
DEFINE_HANDLE(extent, H5Sclose)
DEFINE_HANDLE(type, H5Tclose)

typedef struct Reader {
        hid_t file;
        const ActordEnvSpec *spec;
        uint64_t n_observation, n_action; /* numbers of one observation, and of one action */
        Dataset *dataset;
} Reader;

/* A driver of the library for a file in memory. The library's own driver asks the file system whether a file
 * of that name exists, which the sandbox forbids. */
typedef struct Image {
        const uint8_t *bytes;
        haddr_t n_bytes;
} Image;

typedef struct ImageFile {
        H5FD_t file; /* the library's own part must be first */
        Image image;
        haddr_t end; /* the end of the space that the library has allotted */
} ImageFile;

static H5FD_t *image_file_open(const char *name, unsigned flags, hid_t list, haddr_t most) {
        const Image *image = H5Pget_driver_info(list);
        ImageFile *f = image ? calloc(1, sizeof(*f)) : NULL;

        if (!f)
                return NULL;
        f->image = *image;
        return &f->file;
}

static herr_t image_file_close(H5FD_t *file) {
        free(file);
        return 0;
}

static haddr_t image_file_end(const H5FD_t *file, H5FD_mem_t kind) {
        return ((const ImageFile *) file)->end;
}

static herr_t image_file_set_end(H5FD_t *file, H5FD_mem_t kind, haddr_t end) {
        ((ImageFile *) file)->end = end;
        return 0;
}

static haddr_t image_file_bytes(const H5FD_t *file, H5FD_mem_t kind) {
        return ((const ImageFile *) file)->image.n_bytes;
}

static herr_t image_file_read(H5FD_t *file, H5FD_mem_t kind, hid_t list, haddr_t at, size_t n, void *ret) {
        const Image *image = &((const ImageFile *) file)->image;

        if (at > image->n_bytes || n > image->n_bytes - at)
                return -1;
        memcpy(ret, image->bytes + at, n);
        return 0;
}

static herr_t image_file_write(
                H5FD_t *file, H5FD_mem_t kind, hid_t list, haddr_t at, size_t n, const void *from) {
        return -1;
}

static hid_t image_driver(void) {
        static const H5FD_class_t driver = {
                .name = "actord-image",
                .maxaddr = (haddr_t) INT64_MAX,
                .fc_degree = H5F_CLOSE_WEAK,
                .fapl_size = sizeof(Image),
                .open = image_file_open,
                .close = image_file_close,
                .get_eoa = image_file_end,
                .set_eoa = image_file_set_end,
                .get_eof = image_file_bytes,
                .read = image_file_read,
                .write = image_file_write,
                .fl_map = H5FD_FLMAP_SINGLE,
        };

        return H5FDregister(&driver);
}

/* Opens a file that is in memory. The caller unregisters the driver after the file is closed. The name is
 * absolute: for a relative name the library would ask for the working directory. */
static hid_t image_open(hid_t driver, const void *image, size_t n_bytes) {
        _cleanup_(list_closep) hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        const Image place = { .bytes = image, .n_bytes = n_bytes };

        if (driver < 0 || access < 0 || H5Pset_driver(access, driver, &place) < 0)
                return -1;
        return H5Fopen("/dataset", H5F_ACC_RDONLY, access);
}

/* Whether the name is in this file itself. A link may lead into another file, and the sandbox would kill
 * this process for opening that. */
static bool is_here(hid_t place, const char *name) {
        H5L_info_t info;

        return H5Lexists(place, name, H5P_DEFAULT) > 0 &&
               H5Lget_info(place, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

/* Whether the numbers of an array are in this file itself. HDF5 also allows them in another file. */
static bool holds_itself(hid_t dataset) {
        _cleanup_(list_closep) hid_t list = H5Dget_create_plist(dataset);

        return list >= 0 && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
}

static hid_t episode_open(hid_t file, uint64_t k) {
        char name[40];

        (void) snprintf(name, sizeof(name), "episode_%llu", (unsigned long long) k);
        return is_here(file, name) ? H5Gopen2(file, name, H5P_DEFAULT) : -1;
}

static bool holds_numbers(hid_t dataset) {
        _cleanup_(type_closep) hid_t type = H5Dget_type(dataset);
        H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);

        return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

/* Opens an array of numbers with *ret_rows rows of *ret_width numbers. Negative: it is missing, or is not
 * such an array. */
static hid_t array_open(hid_t group, const char *name, uint64_t *ret_rows, uint64_t *ret_width) {
        _cleanup_(extent_closep) hid_t extent = -1;
        hsize_t dims[DIMS_MAX] = {};
        uint64_t width = 1;
        hid_t dataset;
        int n;

        dataset = is_here(group, name) ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
        if (dataset < 0)
                return -1;
        extent = H5Dget_space(dataset);
        n = extent < 0 ? -1 : H5Sget_simple_extent_ndims(extent);
        if (n >= 1 && n <= DIMS_MAX && H5Sget_simple_extent_dims(extent, dims, NULL) == n &&
                        holds_numbers(dataset) && holds_itself(dataset)) {
                for (int i = 1; i < n; i++)
                        if (__builtin_mul_overflow(width, dims[i], &width))
                                width = 0;
                *ret_rows = dims[0];
                *ret_width = width;
                return dataset;
        }
        (void) H5Dclose(dataset);
        return -1;
}

/* The number of steps of an episode, which is the number of its rewards. 0, or a problem. */
static DatasetProblem episode_length(const Reader *r, hid_t group, uint64_t *ret) {
        uint64_t most = r->spec->horizon_steps > 0 ? r->spec->horizon_steps : DATASET_EPISODE_STEPS_MAX;
        _cleanup_(dataset_closep) hid_t dataset = -1;
        uint64_t width;

        dataset = array_open(group, "rewards", ret, &width);
        if (dataset < 0)
                return DATASET_LACKS;
        return *ret >= 1 && *ret <= most && width == 1 ? DATASET_NONE : DATASET_LENGTH;
}

/* Reads the lengths of all episodes, and allocates the arrays for their numbers. */
static int32_t lengths_read(Reader *r) {
        Dataset *d = r->dataset;
        uint64_t room = 0;

        for (;;) {
                _cleanup_(group_closep) hid_t group = episode_open(r->file, d->n_episodes);
                DatasetProblem problem;
                uint64_t n = 0, *first;

                if (group < 0)
                        break;
                if (d->n_episodes >= DATASET_EPISODES_MAX)
                        return dataset_detail(DATASET_EPISODES, 0);
                problem = episode_length(r, group, &n);
                if (problem != DATASET_NONE)
                        return dataset_detail(problem, d->n_episodes);
                if (d->n_episodes + 1 >= room) {
                        room = room > 0 ? 2 * room : 1024;
                        first = reallocarray(d->first, room, sizeof(*first));
                        if (!first)
                                return dataset_detail(DATASET_MEMORY, 0);
                        d->first = first;
                }
                d->first[d->n_episodes++] = d->n_steps;
                d->n_steps += n;
                d->first[d->n_episodes] = d->n_steps;
        }
        return d->n_episodes > 0 ? 0 : dataset_detail(DATASET_EMPTY, 0);
}

static bool take_memory(Reader *r) {
        Dataset *d = r->dataset;

        d->observations = reallocarray(NULL, d->n_steps + d->n_episodes, r->n_observation * sizeof(float));
        d->actions = reallocarray(NULL, d->n_steps, r->n_action * sizeof(float));
        d->rewards = reallocarray(NULL, d->n_steps, sizeof(double));
        d->ends = calloc(d->n_steps, sizeof(uint8_t));
        return d->observations && d->actions && d->rewards && d->ends;
}

/* Reads an array, which must have n_rows rows of `width` numbers. */
static DatasetProblem array_read(
                hid_t group, const char *name, uint64_t n_rows, uint64_t width, hid_t memory, void *ret) {
        _cleanup_(dataset_closep) hid_t dataset = -1;
        uint64_t rows, got;

        dataset = array_open(group, name, &rows, &got);
        if (dataset < 0)
                return DATASET_LACKS;
        if (rows != n_rows)
                return DATASET_LENGTH;
        if (got != width)
                return DATASET_SPACE;
        return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, ret) < 0 ? DATASET_LACKS
                                                                                : DATASET_NONE;
}

/* Whether the numbers are n values of choices: whole numbers, each below its number of choices. The numbers
 * of an action may have different numbers of choices. */
static bool choices_check(
                const ActordEnvSpec *spec, const ActordSpace *space, const float *values, uint64_t n) {
        uint64_t width = space_numbers(space);

        for (uint64_t i = 0; i < n * width; i++) {
                double x = values[i];
                uint32_t most = space == &spec->action ? spec_choices(spec, i % width) : space->n_choices;

                if (!(x >= 0 && x < most) || x != floor(x))
                        return false;
        }
        return true;
}

/* Whether the numbers are values of a BOX. A value may exceed a bound by a rounding error of another
 * program; it becomes the bound. */
static bool box_check(const ActordSpace *space, float *values, uint64_t n) {
        double low = space->low, high = space->high, slack = 1e-6;

        for (uint64_t i = 0; i < n; i++) {
                double x = values[i];

                if (!isfinite(x) || x < low - slack * fmax(1, fabs(low)) ||
                                x > high + slack * fmax(1, fabs(high)))
                        return false;
                values[i] = (float) fmin(fmax(x, low), high);
        }
        return true;
}

/* Whether the numbers are n values of the space. Values of a BOX that exceed a bound slightly become the
 * bound. */
static bool values_check(const ActordEnvSpec *spec, const ActordSpace *space, float *values, uint64_t n) {
        return space->kind == ACTORD_BOX ? box_check(space, values, n * space_numbers(space))
                                         : choices_check(spec, space, values, n);
}

/* An episode may end only with its last step. If the file marks no end there, recording stopped at that
 * step. */
static bool ends_check(uint64_t n, const uint8_t *terminations, const uint8_t *truncations, uint8_t *ret) {
        for (uint64_t t = 0; t < n; t++) {
                bool last = t == n - 1;

                if ((terminations[t] || truncations[t]) && !last)
                        return false;
                ret[t] = END_NOT;
                if (last)
                        ret[t] = terminations[t] ? END_TERMINATED : END_TRUNCATED;
        }
        return true;
}

static DatasetProblem ends_read(hid_t group, uint64_t n, uint8_t *ret) {
        _cleanup_free_ uint8_t *terminations = malloc(n), *truncations = malloc(n);
        DatasetProblem problem;

        if (!terminations || !truncations)
                return DATASET_MEMORY;
        problem = array_read(group, "terminations", n, 1, H5T_NATIVE_UINT8, terminations);
        if (problem == DATASET_NONE)
                problem = array_read(group, "truncations", n, 1, H5T_NATIVE_UINT8, truncations);
        if (problem != DATASET_NONE)
                return problem;
        return ends_check(n, terminations, truncations, ret) ? DATASET_NONE : DATASET_END;
}

static bool rewards_check(const ActordEnvSpec *spec, const double *rewards, uint64_t n) {
        double slack = 1e-6;

        for (uint64_t t = 0; t < n; t++)
                if (!isfinite((float) rewards[t]) ||
                                rewards[t] < spec->reward_low - slack * fmax(1, fabs(spec->reward_low)) ||
                                rewards[t] > spec->reward_high + slack * fmax(1, fabs(spec->reward_high)))
                        return false;
        return true;
}

static DatasetProblem episode_read(const Reader *r, uint64_t k) {
        _cleanup_(group_closep) hid_t group = episode_open(r->file, k);
        const Dataset *d = r->dataset;
        uint64_t at = d->first[k], n = d->first[k + 1] - at;
        float *observations = d->observations + (at + k) * r->n_observation;
        float *actions = d->actions + at * r->n_action;
        DatasetProblem problem;

        if (group < 0)
                return DATASET_LACKS;
        problem = array_read(group, "observations", n + 1, r->n_observation, H5T_NATIVE_FLOAT, observations);
        if (problem != DATASET_NONE)
                return problem;
        problem = array_read(group, "actions", n, r->n_action, H5T_NATIVE_FLOAT, actions);
        if (problem != DATASET_NONE)
                return problem;
        problem = array_read(group, "rewards", n, 1, H5T_NATIVE_DOUBLE, d->rewards + at);
        if (problem != DATASET_NONE)
                return problem;
        if (!values_check(r->spec, &r->spec->observation, observations, n + 1))
                return DATASET_OBSERVATION;
        if (!values_check(r->spec, &r->spec->action, actions, n))
                return DATASET_ACTION;
        if (!rewards_check(r->spec, d->rewards + at, n))
                return DATASET_REWARD;
        return ends_read(group, n, d->ends + at);
}

static int32_t reader_read(Reader *r) {
        int32_t detail = lengths_read(r);

        if (detail != 0)
                return detail;
        if (!take_memory(r))
                return dataset_detail(DATASET_MEMORY, 0);
        for (uint64_t k = 0; k < r->dataset->n_episodes; k++) {
                DatasetProblem problem = episode_read(r, k);

                if (problem != DATASET_NONE)
                        return dataset_detail(problem, k);
        }
        return 0;
}

int32_t dataset_read(const void *image, size_t n_bytes, const ActordEnvSpec *spec, Dataset **ret) {
        _cleanup_(driver_closep) hid_t driver = -1;
        _cleanup_(file_closep) hid_t file = -1;
        Dataset *dataset;
        int32_t detail;
        Reader reader;

        assert(image);
        assert(spec);
        assert(ret);

        /* The library must not print errors or look for plugins, as it does by default. */
        (void) H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        (void) H5PLset_loading_state(0);
        if (spec->stack > 0)
                return dataset_detail(DATASET_STACKS, 0);
        driver = image_driver();
        file = image_open(driver, image, n_bytes);
        if (file < 0)
                return dataset_detail(DATASET_NO_FILE, 0);
        dataset = calloc(1, sizeof(*dataset));
        if (!dataset)
                return dataset_detail(DATASET_MEMORY, 0);
        reader = (Reader){
                .file = file,
                .spec = spec,
                .n_observation = space_numbers(&spec->observation),
                .n_action = space_numbers(&spec->action),
                .dataset = dataset,
        };
        detail = reader_read(&reader);
        if (detail != 0) {
                dataset_free(dataset);
                return detail;
        }
        *ret = dataset;
        return 0;
}
