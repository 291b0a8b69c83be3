/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The safetensors file format: eight bytes with the length of a header, the header in JSON, then the
 * tensors' bytes, little-endian and row-major. The learner and actorctl share this reader and this writer.
 *
 * The writer adds a last tensor, the SHA-256 of every byte before it. So a file contains the proof that it
 * is complete, and can still be written in one pass. Other programs that read the format see the digest as
 * one more tensor.
 *
 * The reader trusts nothing. It accepts a header only if the tensors fill the rest of the file exactly: they
 * do not overlap, there is no gap between them, and nothing follows them. Every refusal comes with a
 * sentence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_DIMS_MAX          4u
#define TENSOR_NAME_MAX          64u /* with the terminating NUL */
#define SAFETENSORS_HEADER_MAX   (8u << 20)
#define SAFETENSORS_ENTRIES_MAX  16384u
#define SAFETENSORS_METADATA_MAX 1024u
#define SAFETENSORS_REASON_MAX   256u
#define SAFETENSORS_DIGEST       "file.sha256"

typedef struct TensorRow {
        char name[TENSOR_NAME_MAX];
        const char *dtype; /* F32, F64, I64, I32, U8 */
        uint32_t n_dims;
        uint64_t shape[TENSOR_DIMS_MAX];
        void *data; /* safetensors_write() reads from here, safetensors_read() writes to it */
} TensorRow;

typedef struct MetadataRow {
        const char *key, *value;
} MetadataRow;

typedef struct Safetensors Safetensors;

uint64_t tensor_bytes(const TensorRow *row);

/* Reads every byte of the tensors only once, and hashes and writes what it has read. So the hash is right
 * even if memory changes meanwhile. ret_sha256: the hash of the whole file, with its last tensor. 0 or a
 * negative errno. */
int safetensors_write(int fd, const TensorRow *rows, size_t n_rows, const MetadataRow *metadata,
                size_t n_metadata, uint8_t ret_sha256[32]);

/* The number of bytes that safetensors_write() would write. 0 or a negative errno. */
int safetensors_size(const TensorRow *rows, size_t n_rows, const MetadataRow *metadata, size_t n_metadata,
                uint64_t *ret_bytes);

/* Reads the header. 0; or an error with a sentence: -EBADMSG: it is not a safetensors file, or a damaged
 * one; another negative errno. The descriptor stays the caller's. */
int safetensors_open(int fd, Safetensors **ret, char ret_reason[SAFETENSORS_REASON_MAX]);
Safetensors *safetensors_close(Safetensors *file);
const char *safetensors_metadata(const Safetensors *file, const char *key); /* NULL: there is none */
const MetadataRow *safetensors_metadata_rows(const Safetensors *file, size_t *ret_n);

/* Whether the file ends with its digest. */
bool safetensors_has_digest(const Safetensors *file);

/* Reads the whole file and compares it with its digest. 0: they match, and the hash is the one that
 * safetensors_write() returned; -EBADMSG: a byte has changed, or there is no digest; another negative
 * errno. */
int safetensors_verify(const Safetensors *file, uint8_t ret_sha256[32]);

/* Reads a tensor into row->data. NULL: only checks that the file has it, with this type and shape. 0;
 * -ENOENT: there is no such tensor; -EMEDIUMTYPE: it has another type or shape; -EBADMSG: the file is cut
 * short; another negative errno. */
int safetensors_read(const Safetensors *file, const TensorRow *row);
