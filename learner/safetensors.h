/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The safetensors file format: the length of a header, the header in JSON, then the tensors' bytes without holes, little-endian and
 * row-major. Written from, and read back into, one list of rows that say where the numbers live. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TENSOR_DIMS_MAX          4u
#define SAFETENSORS_HEADER_MAX   (8u << 20)
#define SAFETENSORS_ENTRIES_MAX  4096u
#define SAFETENSORS_METADATA_MAX 1024u

typedef struct TensorRow {
        char name[64];
        const char *dtype; /* F32, F64, I64, I32, U8 */
        uint32_t n_dims;
        uint64_t shape[TENSOR_DIMS_MAX];
        void *data; /* read by safetensors_write(), written by safetensors_read() */
} TensorRow;

typedef struct MetadataRow {
        const char *key, *value;
} MetadataRow;

typedef struct Safetensors Safetensors;

uint64_t tensor_bytes(const TensorRow *row);

/* Every byte is read once, copied and hashed, even if its memory changes meanwhile. 0 or a negative errno. */
int safetensors_write(int fd, const TensorRow *rows, size_t n_rows, const MetadataRow *metadata,
                size_t n_metadata, uint8_t ret_sha256[32]);

/* Reads the header. 0; -EBADMSG: it is no such file, or cut short; a negative errno. The descriptor stays the caller's. */
int safetensors_open(int fd, Safetensors **ret);
Safetensors *safetensors_close(Safetensors *file);
const char *safetensors_metadata(const Safetensors *file, const char *key); /* NULL: not there */

/* 0; -ENOENT: no such tensor; -EMEDIUMTYPE: of another type or shape; -EBADMSG; a negative errno. */
int safetensors_read(const Safetensors *file, const TensorRow *row);
