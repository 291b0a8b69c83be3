/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes episodes into a file. The types of the elements are those that Gymnasium uses for the spaces.
 * Booleans have the type that h5py uses for NumPy's booleans. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "lib/dataset/hdf5/hdf5.h"

typedef struct Writer {
        hid_t file, truth;
        ActordSpace observation, action;
} Writer;

DEFINE_HANDLE(file, H5Fclose)
DEFINE_HANDLE(group, H5Gclose)
DEFINE_HANDLE(dataset, H5Dclose)
DEFINE_HANDLE(extent, H5Sclose)
DEFINE_HANDLE(attribute, H5Aclose)
DEFINE_HANDLE(type, H5Tclose)

static hid_t truth_new(void) {
        _cleanup_(type_closep) hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
        const int8_t no = 0, yes = 1;

        if (type < 0 || H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)
                return -1;
        return handle_take(&type);
}

static hid_t element_type(const ActordSpace *space) {
        if (space->kind != ACTORD_BOX)
                return H5T_STD_I64LE;
        switch ((ActordElement) space->element) {
        case ACTORD_F32: return H5T_IEEE_F32LE;
        case ACTORD_F64: return H5T_IEEE_F64LE;
        case ACTORD_I32: return H5T_STD_I32LE;
        case ACTORD_U8: return H5T_STD_U8LE;
        }
        return -1;
}

static int put(hid_t at, const char *name, const hsize_t *extent, int n_dims, hid_t type, hid_t memory,
                const void *values) {
        _cleanup_(extent_closep) hid_t space = H5Screate_simple(n_dims, extent, NULL);
        _cleanup_(dataset_closep) hid_t dataset =
                        H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

        if (dataset < 0 || H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
                return -EIO;
        return 0;
}

/* Writes n values of a space. A discrete value is one number, so its array has no dimension but n. */
static int put_values(
                hid_t at, const char *name, const ActordSpace *space, uint64_t n, const double *values) {
        hsize_t extent[5] = { n };
        int n_dims = 1;

        for (uint32_t i = 0; space->kind != ACTORD_DISCRETE && i < space->n_dims; i++)
                extent[n_dims++] = space->shape[i];
        return put(at, name, extent, n_dims, element_type(space), H5T_NATIVE_DOUBLE, values);
}

static int put_attribute(hid_t at, const char *name, int64_t value) {
        _cleanup_(extent_closep) hid_t space = H5Screate(H5S_SCALAR);
        _cleanup_(attribute_closep) hid_t attribute =
                        H5Acreate2(at, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);

        return attribute < 0 || H5Awrite(attribute, H5T_NATIVE_INT64, &value) < 0 ? -EIO : 0;
}

int dataset_create(const char *path, const ActordEnvSpec *spec, void **ret) {
        _cleanup_(file_closep) hid_t file = -1;
        _cleanup_free_ Writer *writer = NULL;

        assert(path);
        assert(spec);
        assert(ret);

        /* By default the library prints each error; this switches that off. */
        (void) H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        if (file < 0)
                return -EIO;
        writer = calloc(1, sizeof(*writer));
        if (!writer)
                return -ENOMEM;
        *writer = (Writer){ .truth = truth_new(), .observation = spec->observation, .action = spec->action };
        if (writer->truth < 0)
                return -ENOMEM;

        writer->file = handle_take(&file);
        *ret = TAKE_PTR(writer);
        return 0;
}

static int put_episode(const Writer *w, hid_t group, const DatasetEpisode *e) {
        const hsize_t n = e->n_steps;
        int r;

        r = put_attribute(group, "id", (int64_t) e->number);
        if (r < 0)
                return r;
        r = put_attribute(group, "total_steps", (int64_t) e->n_steps);
        if (r < 0)
                return r;
        r = put_values(group, "observations", &w->observation, e->n_steps + 1, e->observations);
        if (r < 0)
                return r;
        r = put_values(group, "actions", &w->action, e->n_steps, e->actions);
        if (r < 0)
                return r;
        r = put(group, "rewards", &n, 1, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, e->rewards);
        if (r < 0)
                return r;
        r = put(group, "terminations", &n, 1, w->truth, w->truth, e->terminations);
        if (r < 0)
                return r;
        return put(group, "truncations", &n, 1, w->truth, w->truth, e->truncations);
}

int dataset_add(void *writer, const DatasetEpisode *episode) {
        _cleanup_(group_closep) hid_t group = -1;
        const Writer *w = writer;
        char name[40];

        assert(w);
        assert(episode);

        (void) snprintf(name, sizeof(name), "episode_%llu", (unsigned long long) episode->number);
        group = H5Gcreate2(w->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        return group < 0 ? -EIO : put_episode(w, group, episode);
}

int dataset_close(void *writer) {
        Writer *w = writer;
        herr_t closed;

        assert(w);

        (void) H5Tclose(w->truth);
        closed = H5Fclose(w->file);
        free(w);
        return closed < 0 ? -EIO : 0;
}
