/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table that dataset.so exports. */
#include "lib/dataset/hdf5/hdf5.h"

extern const DatasetModule actord_dataset __attribute__((visibility("default")));

const DatasetModule actord_dataset = {
        .abi = DATASET_ABI,
        .struct_bytes = sizeof(DatasetModule),
        .create = dataset_create,
        .add = dataset_add,
        .close = dataset_close,
        .read = dataset_read,
};
