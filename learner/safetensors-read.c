/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A strict reader of the header: objects of strings, or of a type, a shape and two offsets; nothing else is JSON here. The file may be
 * cut short or made up, so that every number is checked against the file's size before it is used. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "learner/safetensors.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

typedef struct Entry {
        const char *name, *dtype;
        uint32_t n_dims;
        uint64_t shape[TENSOR_DIMS_MAX], begin, end;
} Entry;

struct Safetensors {
        int fd;
        uint64_t data_at, data_bytes;
        char *text; /* names, types and metadata point into it */
        Entry *entries;
        size_t n_entries;
        MetadataRow *metadata;
        size_t n_metadata;
};

DEFINE_CLEANUP(Safetensors *, safetensors_close)

Safetensors *safetensors_close(Safetensors *file) {
        if (!file)
                return NULL;

        free(file->text);
        free(file->entries);
        free(file->metadata);
        free(file);
        return NULL;
}

/* The text ends with a NUL, which no rule accepts: no look beyond it is possible. */
static void skip_space(char **at) {
        while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r')
                (*at)++;
}

static bool skip(char **at, char c) {
        skip_space(at);
        if (**at != c)
                return false;
        (*at)++;
        return true;
}

static int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

/* \uXXXX of the ASCII range, which is all that a writer has to escape. */
static bool parse_unicode(char **at, char *ret) {
        int value = 0;

        for (unsigned i = 0; i < 4; i++) {
                int digit = hex_value(**at);

                if (digit < 0)
                        return false;
                value = value * 16 + digit;
                (*at)++;
        }
        if (value < 1 || value > 0x7f)
                return false;
        *ret = (char) value;
        return true;
}

/* Decodes in place: what is written is never longer than what was read. */
static bool parse_string(char **at, const char **ret) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *known;
        char *out;

        if (!skip(at, '"'))
                return false;

        *ret = out = *at;
        while (**at != '"') {
                if ((unsigned char) **at < 0x20)
                        return false;
                if (**at != '\\') {
                        *out++ = *(*at)++;
                        continue;
                }

                (*at)++;
                if (**at == 'u') {
                        (*at)++;
                        if (!parse_unicode(at, out++))
                                return false;
                        continue;
                }
                known = **at ? strchr(from, **at) : NULL;
                if (!known)
                        return false;
                *out++ = to[known - from];
                (*at)++;
        }

        (*at)++;
        *out = '\0';
        return true;
}

static bool parse_number(char **at, uint64_t *ret) {
        uint64_t value = 0;

        skip_space(at);
        if (**at < '0' || **at > '9')
                return false;
        for (; **at >= '0' && **at <= '9'; (*at)++)
                if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
                                __builtin_add_overflow(value, (uint64_t) (**at - '0'), &value))
                        return false;
        *ret = value;
        return true;
}

static bool parse_numbers(char **at, uint64_t *ret, uint32_t n_max, uint32_t *ret_n) {
        uint32_t n = 0;

        if (!skip(at, '['))
                return false;
        if (skip(at, ']')) {
                *ret_n = 0;
                return true;
        }
        do
                if (n >= n_max || !parse_number(at, &ret[n++]))
                        return false;
        while (skip(at, ','));

        *ret_n = n;
        return skip(at, ']');
}

static bool parse_entry(char **at, Entry *entry) {
        uint64_t offsets[2];
        uint32_t n;
        unsigned seen = 0;

        if (!skip(at, '{'))
                return false;
        do {
                const char *key;

                if (!parse_string(at, &key) || !skip(at, ':'))
                        return false;
                if (strcmp(key, "dtype") == 0) {
                        seen |= 1;
                        if (!parse_string(at, &entry->dtype))
                                return false;
                } else if (strcmp(key, "shape") == 0) {
                        seen |= 2;
                        if (!parse_numbers(at, entry->shape, TENSOR_DIMS_MAX, &entry->n_dims))
                                return false;
                } else if (strcmp(key, "data_offsets") == 0) {
                        seen |= 4;
                        if (!parse_numbers(at, offsets, 2, &n) || n != 2)
                                return false;
                        entry->begin = offsets[0];
                        entry->end = offsets[1];
                } else
                        return false;
        } while (skip(at, ','));

        return seen == 7 && skip(at, '}');
}

static bool parse_metadata(char **at, Safetensors *file) {
        if (!skip(at, '{'))
                return false;
        if (skip(at, '}'))
                return true;
        do {
                MetadataRow *row = &file->metadata[file->n_metadata];

                if (file->n_metadata >= SAFETENSORS_METADATA_MAX || !parse_string(at, &row->key) ||
                                !skip(at, ':') || !parse_string(at, &row->value))
                        return false;
                file->n_metadata++;
        } while (skip(at, ','));

        return skip(at, '}');
}

static bool parse_header(Safetensors *file) {
        char *at = file->text;

        if (!skip(&at, '{'))
                return false;
        do {
                const char *name;

                if (!parse_string(&at, &name) || !skip(&at, ':'))
                        return false;
                if (strcmp(name, "__metadata__") == 0) {
                        if (!parse_metadata(&at, file))
                                return false;
                        continue;
                }

                if (file->n_entries >= SAFETENSORS_ENTRIES_MAX)
                        return false;
                file->entries[file->n_entries].name = name;
                if (!parse_entry(&at, &file->entries[file->n_entries]))
                        return false;
                file->n_entries++;
        } while (skip(&at, ','));

        if (!skip(&at, '}'))
                return false;
        skip_space(&at);
        return *at == '\0';
}

/* Offsets within the file, and the file exactly as long as they say. */
static bool entries_fit(const Safetensors *file) {
        uint64_t end = 0;

        for (size_t i = 0; i < file->n_entries; i++) {
                const Entry *entry = &file->entries[i];

                if (entry->begin > entry->end || entry->end > file->data_bytes)
                        return false;
                if (entry->end > end)
                        end = entry->end;
        }
        return end == file->data_bytes;
}

int safetensors_open(int fd, Safetensors **ret) {
        _cleanup_(safetensors_closep) Safetensors *file = NULL;
        uint64_t size, length;
        int r;

        assert(ret);

        r = fd_size(fd, &size);
        if (r < 0)
                return r;
        if (size < sizeof(length))
                return -EBADMSG;
        r = pread_full(fd, &length, sizeof(length), 0);
        if (r < 0)
                return r == -ENODATA ? -EBADMSG : r;
        if (length > SAFETENSORS_HEADER_MAX || length > size - sizeof(length))
                return -EBADMSG;

        file = calloc(1, sizeof(*file));
        if (!file)
                return -ENOMEM;
        file->fd = fd;
        file->data_at = sizeof(length) + length;
        file->data_bytes = size - file->data_at;
        file->text = calloc(1, length + 1);
        file->entries = calloc(SAFETENSORS_ENTRIES_MAX, sizeof(Entry));
        file->metadata = calloc(SAFETENSORS_METADATA_MAX, sizeof(MetadataRow));
        if (!file->text || !file->entries || !file->metadata)
                return -ENOMEM;

        r = pread_full(fd, file->text, length, sizeof(length));
        if (r < 0)
                return r == -ENODATA ? -EBADMSG : r;
        if (!parse_header(file) || !entries_fit(file))
                return -EBADMSG;

        *ret = TAKE_PTR(file);
        return 0;
}

const char *safetensors_metadata(const Safetensors *file, const char *key) {
        for (size_t i = 0; i < file->n_metadata; i++)
                if (strcmp(file->metadata[i].key, key) == 0)
                        return file->metadata[i].value;
        return NULL;
}

static const Entry *entry_find(const Safetensors *file, const char *name) {
        for (size_t i = 0; i < file->n_entries; i++)
                if (strcmp(file->entries[i].name, name) == 0)
                        return &file->entries[i];
        return NULL;
}

int safetensors_read(const Safetensors *file, const TensorRow *row) {
        const Entry *entry;
        int r;

        assert(file);
        assert(row);

        entry = entry_find(file, row->name);
        if (!entry)
                return -ENOENT;
        if (strcmp(entry->dtype, row->dtype) != 0 || entry->n_dims != row->n_dims ||
                        entry->end - entry->begin != tensor_bytes(row))
                return -EMEDIUMTYPE;
        for (uint32_t i = 0; i < row->n_dims; i++)
                if (entry->shape[i] != row->shape[i])
                        return -EMEDIUMTYPE;

        r = pread_full(file->fd, row->data, entry->end - entry->begin,
                        (off_t) (file->data_at + entry->begin));
        return r == -ENODATA ? -EBADMSG : r;
}
