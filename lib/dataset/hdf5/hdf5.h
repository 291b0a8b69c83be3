/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to the module: the functions that DatasetModule points to, and the handles of the HDF5 library. */
#pragma once

#include <hdf5.h>

#include "lib/dataset/dataset.h"

int dataset_create(const char *path, const ActordEnvSpec *spec, void **ret);
int dataset_add(void *writer, const DatasetEpisode *episode);
int dataset_close(void *writer);
int32_t dataset_read(const void *image, size_t n_bytes, const ActordEnvSpec *spec, Dataset **ret);

/* Takes a handle, so that the end of its scope does not close it. */
static inline hid_t handle_take(hid_t *handle) {
        hid_t taken = *handle;

        *handle = -1;
        return taken;
}

/* Each handle of the library is closed at the end of its scope; a negative number is not a handle. */
#define DEFINE_HANDLE(name, function)                           \
        static inline void name##_closep(const hid_t *handle) { \
                if (*handle >= 0)                               \
                        (void) function(*handle);               \
        }
