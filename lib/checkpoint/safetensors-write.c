/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes safetensors files in one pass. The header is built in memory, since its length comes first. Tensors
 * pass through one buffer, where they are hashed. The digest of everything comes last. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/checkpoint/safetensors.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { BUFFER_BYTES = 256 * 1024, HEADER_ALIGN = 8 };

static void print_string(FILE *f, const char *s) {
        (void) fputc('"', f);
        for (; *s; s++)
                if (*s == '"' || *s == '\\')
                        (void) fprintf(f, "\\%c", *s);
                else if ((unsigned char) *s < 0x20)
                        (void) fprintf(f, "\\u%04x", (unsigned char) *s);
                else
                        (void) fputc(*s, f);
        (void) fputc('"', f);
}

static void print_tensor(FILE *f, const TensorRow *row, uint64_t *at) {
        uint64_t end = *at + tensor_bytes(row);

        (void) fputc(',', f);
        print_string(f, row->name);
        (void) fprintf(f, ":{\"dtype\":\"%s\",\"shape\":[", row->dtype);
        for (uint32_t k = 0; k < row->n_dims; k++)
                (void) fprintf(f, "%s%" PRIu64, k > 0 ? "," : "", row->shape[k]);
        (void) fprintf(f, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, end);
        *at = end;
}

static void print_header(FILE *f, const TensorRow *rows, size_t n_rows, const MetadataRow *metadata,
                size_t n_metadata) {
        const TensorRow digest = { SAFETENSORS_DIGEST, "U8", 1, { SHA256_DIGEST_SIZE }, NULL };
        uint64_t at = 0;

        (void) fputs("{\"__metadata__\":{", f);
        for (size_t i = 0; i < n_metadata; i++) {
                (void) fputs(i > 0 ? "," : "", f);
                print_string(f, metadata[i].key);
                (void) fputc(':', f);
                print_string(f, metadata[i].value);
        }
        (void) fputc('}', f);

        for (size_t i = 0; i < n_rows; i++)
                print_tensor(f, &rows[i], &at);
        print_tensor(f, &digest, &at);
        (void) fputc('}', f);
}

/* Makes the length and the header, padded with spaces so that the first tensor is aligned. */
static int header_make(const TensorRow *rows, size_t n_rows, const MetadataRow *metadata, size_t n_metadata,
                char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        uint64_t length;
        FILE *f;

        f = open_memstream(&text, &n);
        if (!f)
                return -ENOMEM;
        (void) fwrite("\0\0\0\0\0\0\0\0", 1, sizeof(length), f);
        print_header(f, rows, n_rows, metadata, n_metadata);
        while (ftell(f) > 0 && ftell(f) % HEADER_ALIGN != 0)
                (void) fputc(' ', f);
        if (fclose(f) != 0 || !text)
                return -ENOMEM;
        if (n > SAFETENSORS_HEADER_MAX)
                return -EFBIG;

        length = n - sizeof(length);
        memcpy(text, &length, sizeof(length));
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

static int put(int fd, struct sha256_ctx *sha, uint8_t *buffer, const void *data, uint64_t n) {
        const uint8_t *from = data;
        int r;

        while (n > 0) {
                size_t part = n < BUFFER_BYTES ? (size_t) n : BUFFER_BYTES;

                memcpy(buffer, from, part);
                sha256_update(sha, part, buffer);
                r = write_full(fd, buffer, part);
                if (r < 0)
                        return r;
                from += part;
                n -= part;
        }
        return 0;
}

int safetensors_write(int fd, const TensorRow *rows, size_t n_rows, const MetadataRow *metadata,
                size_t n_metadata, uint8_t ret_sha256[32]) {
        _cleanup_free_ uint8_t *buffer = malloc(BUFFER_BYTES);
        _cleanup_free_ char *header = NULL;
        uint8_t digest[SHA256_DIGEST_SIZE];
        struct sha256_ctx sha, whole;
        size_t n;
        int r;

        assert(fd >= 0);
        assert(n_rows < SAFETENSORS_ENTRIES_MAX && n_metadata <= SAFETENSORS_METADATA_MAX);

        if (!buffer)
                return -ENOMEM;
        r = header_make(rows, n_rows, metadata, n_metadata, &header, &n);
        if (r < 0)
                return r;

        sha256_init(&sha);
        r = put(fd, &sha, buffer, header, n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_rows; i++) {
                r = put(fd, &sha, buffer, rows[i].data, tensor_bytes(&rows[i]));
                if (r < 0)
                        return r;
        }

        whole = sha;
        sha256_digest(&sha, sizeof(digest), digest);
        r = put(fd, &whole, buffer, digest, sizeof(digest));
        if (r < 0)
                return r;
        sha256_digest(&whole, SHA256_DIGEST_SIZE, ret_sha256);
        return 0;
}

int safetensors_size(const TensorRow *rows, size_t n_rows, const MetadataRow *metadata, size_t n_metadata,
                uint64_t *ret_bytes) {
        _cleanup_free_ char *header = NULL;
        uint64_t bytes = SHA256_DIGEST_SIZE;
        size_t n;
        int r;

        assert(ret_bytes);

        r = header_make(rows, n_rows, metadata, n_metadata, &header, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_rows; i++)
                bytes += tensor_bytes(&rows[i]);
        *ret_bytes = bytes + n;
        return 0;
}
