/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A strict reader of safetensors files. A header may contain two kinds of objects: one of strings, and one
 * of a type, a shape and two offsets. The reader refuses everything else, and deeper nesting, too. The file
 * may be cut short or forged, so every number is checked against the file's size before it is used. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/checkpoint/safetensors.h"
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

/* The header's text, and how far it has been read. */
typedef struct Parser {
        char *text, *at, *end; /* *end is a NUL, which the grammar accepts nowhere, so parsing stops there */
        char *reason;
} Parser;

__attribute__((format(printf, 2, 3))) static bool refuse(char *ret_reason, const char *format, ...) {
        va_list values;

        va_start(values, format);
        (void) vsnprintf(ret_reason, SAFETENSORS_REASON_MAX, format, values);
        va_end(values);
        return false;
}

static bool refuse_syntax(const Parser *p) {
        return refuse(p->reason,
                        "its header is not that of a safetensors file: byte %zu of it is unexpected",
                        (size_t) (p->at - p->text));
}

static void skip_space(Parser *p) {
        while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
                p->at++;
}

static bool skip(Parser *p, char c) {
        skip_space(p);
        if (*p->at != c)
                return false;
        p->at++;
        return true;
}

static bool expect(Parser *p, char c) {
        return skip(p, c) || refuse_syntax(p);
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

/* \uXXXX for ASCII characters only: a writer need not escape any others. */
static bool parse_unicode(Parser *p, char *ret) {
        int value = 0;

        for (unsigned i = 0; i < 4; i++) {
                int digit = hex_value(*p->at);

                if (digit < 0)
                        return refuse_syntax(p);
                value = value * 16 + digit;
                p->at++;
        }
        if (value < 1 || value > 0x7f)
                return refuse_syntax(p);
        *ret = (char) value;
        return true;
}

static bool parse_escape(Parser *p, char *ret) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *known;

        p->at++;
        if (*p->at == 'u') {
                p->at++;
                return parse_unicode(p, ret);
        }
        known = *p->at ? strchr(from, *p->at) : NULL;
        if (!known)
                return refuse_syntax(p);
        *ret = to[known - from];
        p->at++;
        return true;
}

/* Decodes a JSON string in place, since the result is never longer than its source. */
static bool parse_string(Parser *p, const char **ret) {
        char *out;

        if (!expect(p, '"'))
                return false;

        *ret = out = p->at;
        while (*p->at != '"') {
                if ((unsigned char) *p->at < 0x20)
                        return refuse_syntax(p);
                if (*p->at != '\\')
                        *out++ = *p->at++;
                else if (!parse_escape(p, out++))
                        return false;
        }

        p->at++;
        *out = '\0';
        return true;
}

static bool parse_number(Parser *p, uint64_t *ret) {
        uint64_t value = 0;

        skip_space(p);
        if (*p->at < '0' || *p->at > '9')
                return refuse_syntax(p);
        for (; *p->at >= '0' && *p->at <= '9'; p->at++)
                if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
                                __builtin_add_overflow(value, (uint64_t) (*p->at - '0'), &value))
                        return refuse(p->reason, "a number in its header is larger than any file can be");
        *ret = value;
        return true;
}

static bool parse_numbers(Parser *p, uint64_t *ret, uint32_t n_max, uint32_t *ret_n) {
        uint32_t n = 0;

        if (!expect(p, '['))
                return false;
        *ret_n = 0;
        if (skip(p, ']'))
                return true;
        do {
                if (n >= n_max)
                        return refuse(p->reason, "a list in its header has more than %u numbers", n_max);
                if (!parse_number(p, &ret[n++]))
                        return false;
        } while (skip(p, ','));

        *ret_n = n;
        return expect(p, ']');
}

static bool parse_offsets(Parser *p, Entry *entry) {
        uint64_t offsets[2];
        uint32_t n;

        if (!parse_numbers(p, offsets, ELEMENTSOF(offsets), &n))
                return false;
        if (n != ELEMENTSOF(offsets))
                return refuse_syntax(p);
        entry->begin = offsets[0];
        entry->end = offsets[1];
        return true;
}

enum { FIELD_DTYPE, FIELD_SHAPE, FIELD_OFFSETS, _FIELD_MAX };

/* Reads the value of one field of a tensor's entry. Each field may occur once. seen: a bit for each field
 * that was read already. */
static bool parse_field(Parser *p, Entry *entry, const char *key, unsigned *seen) {
        static const char *const names[_FIELD_MAX] = { "dtype", "shape", "data_offsets" };
        unsigned field = 0;

        while (field < _FIELD_MAX && strcmp(key, names[field]) != 0)
                field++;
        if (field == _FIELD_MAX || (*seen & 1u << field))
                return refuse_syntax(p);
        *seen |= 1u << field;
        if (field == FIELD_DTYPE)
                return parse_string(p, &entry->dtype);
        if (field == FIELD_SHAPE)
                return parse_numbers(p, entry->shape, TENSOR_DIMS_MAX, &entry->n_dims);
        return parse_offsets(p, entry);
}

static bool parse_entry(Parser *p, Entry *entry) {
        unsigned seen = 0;

        if (!expect(p, '{'))
                return false;
        do {
                const char *key;

                if (!parse_string(p, &key) || !expect(p, ':') || !parse_field(p, entry, key, &seen))
                        return false;
        } while (skip(p, ','));

        return (seen == (1u << _FIELD_MAX) - 1 || refuse_syntax(p)) && expect(p, '}');
}

static bool parse_metadata(Parser *p, Safetensors *file) {
        if (file->n_metadata > 0)
                return refuse(p->reason, "its header has two sections of metadata");
        if (!expect(p, '{'))
                return false;
        if (skip(p, '}'))
                return true;
        do {
                MetadataRow *row = &file->metadata[file->n_metadata];

                if (file->n_metadata >= SAFETENSORS_METADATA_MAX)
                        return refuse(p->reason, "its header has more than %u lines of metadata",
                                        SAFETENSORS_METADATA_MAX);
                if (!parse_string(p, &row->key) || !expect(p, ':') || !parse_string(p, &row->value))
                        return false;
                file->n_metadata++;
        } while (skip(p, ','));

        return expect(p, '}');
}

/* Names are printed in messages, so only characters that harm no terminal are allowed. */
static bool name_valid(const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < n; i++)
                if (name[i] < 0x20 || name[i] > 0x7e)
                        return false;
        return n > 0 && n < TENSOR_NAME_MAX;
}

static bool parse_tensor(Parser *p, Safetensors *file, const char *name) {
        Entry *entry = &file->entries[file->n_entries];

        if (!name_valid(name))
                return refuse(p->reason,
                                "a tensor's name is empty, longer than %u characters, or not plain ASCII",
                                TENSOR_NAME_MAX - 1);
        if (file->n_entries >= SAFETENSORS_ENTRIES_MAX)
                return refuse(p->reason, "its header has more than %u tensors", SAFETENSORS_ENTRIES_MAX);
        entry->name = name;
        if (!parse_entry(p, entry))
                return false;
        file->n_entries++;
        return true;
}

static bool parse_header(Parser *p, Safetensors *file) {
        if (!expect(p, '{'))
                return false;
        do {
                const char *name;

                if (!parse_string(p, &name) || !expect(p, ':'))
                        return false;
                if (strcmp(name, "__metadata__") == 0 ? !parse_metadata(p, file)
                                                      : !parse_tensor(p, file, name))
                        return false;
        } while (skip(p, ','));

        if (!expect(p, '}'))
                return false;
        skip_space(p);
        return p->at == p->end || refuse_syntax(p);
}

/* The bytes of one number; 0: the type is unknown. */
static size_t dtype_bytes(const char *dtype) {
        static const struct {
                const char *name;
                size_t bytes;
        } table[] = { { "F32", 4 }, { "F64", 8 }, { "I64", 8 }, { "I32", 4 }, { "U8", 1 }, { "U64", 8 },
                { "U32", 4 }, { "I16", 2 }, { "U16", 2 }, { "I8", 1 }, { "BOOL", 1 }, { "F16", 2 },
                { "BF16", 2 } };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strcmp(dtype, table[i].name) == 0)
                        return table[i].bytes;
        return 0;
}

uint64_t tensor_bytes(const TensorRow *row) {
        uint64_t n = dtype_bytes(row->dtype);

        assert(n > 0);
        for (uint32_t i = 0; i < row->n_dims; i++)
                n *= row->shape[i];
        return n;
}

static bool entry_fits_its_shape(const Entry *entry, char *reason) {
        uint64_t n = dtype_bytes(entry->dtype);

        if (n == 0)
                return refuse(reason, "the type of its tensor \"%s\" is unknown", entry->name);
        if (entry->end < entry->begin)
                return refuse(reason, "its tensor \"%s\" ends before it begins", entry->name);
        for (uint32_t i = 0; i < entry->n_dims; i++)
                if (__builtin_mul_overflow(n, entry->shape[i], &n))
                        return refuse(reason, "its tensor \"%s\" is larger than any file", entry->name);
        return n == entry->end - entry->begin ||
               refuse(reason, "the size of its tensor \"%s\" does not match its shape", entry->name);
}

static int by_place(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        return (x->end > y->end) - (x->end < y->end);
}

static int by_text(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Whether all texts differ. They are sorted first, so that a forged header with thousands of names costs
 * little time. */
static bool texts_differ(const char **texts, size_t n) {
        qsort(texts, n, sizeof(*texts), by_text);
        for (size_t i = 1; i < n; i++)
                if (strcmp(texts[i - 1], texts[i]) == 0)
                        return false;
        return true;
}

static bool names_differ(const Safetensors *file, char *reason) {
        _cleanup_free_ const char **texts = NULL;

        texts = calloc(SAFETENSORS_ENTRIES_MAX + SAFETENSORS_METADATA_MAX, sizeof(*texts));
        if (!texts)
                return refuse(reason, "there is not enough memory to read it");
        for (size_t i = 0; i < file->n_entries; i++)
                texts[i] = file->entries[i].name;
        if (!texts_differ(texts, file->n_entries))
                return refuse(reason, "two of its tensors have the same name");
        for (size_t i = 0; i < file->n_metadata; i++)
                texts[i] = file->metadata[i].key;
        return texts_differ(texts, file->n_metadata) || refuse(reason, "its metadata has a key twice");
}

/* Whether the tensors fill the file from the header to its end, without gaps or overlaps. */
static bool entries_fit(Safetensors *file, char *reason) {
        uint64_t at = 0;

        qsort(file->entries, file->n_entries, sizeof(Entry), by_place);
        for (size_t i = 0; i < file->n_entries; i++) {
                const Entry *entry = &file->entries[i];

                if (!entry_fits_its_shape(entry, reason))
                        return false;
                if (entry->begin < at)
                        return refuse(reason, "its tensor \"%s\" overlaps another one", entry->name);
                if (entry->begin > at)
                        return refuse(reason, "the bytes before its tensor \"%s\" belong to no tensor",
                                        entry->name);
                at = entry->end;
        }
        if (at > file->data_bytes)
                return refuse(reason,
                                "it is cut short: %" PRIu64 " of %" PRIu64 " bytes of its tensors are there",
                                file->data_bytes, at);
        return at == file->data_bytes ||
               refuse(reason, "bytes follow its last tensor: %" PRIu64, file->data_bytes - at);
}

static int refuse_errno(char *ret_reason, int r) {
        if (r == -ENODATA) {
                (void) refuse(ret_reason, "it is cut short");
                return -EBADMSG;
        }
        (void) refuse(ret_reason, "it cannot be read: %s", strerror(-r));
        return r;
}

/* Reads the length of the header, and compares it with the file's size. */
static int read_length(int fd, uint64_t *ret_length, uint64_t *ret_size, char *ret_reason) {
        uint64_t size, length;
        int r;

        r = fd_size(fd, &size);
        if (r < 0)
                return refuse_errno(ret_reason, r);
        if (size < sizeof(length)) {
                (void) refuse(ret_reason, "it is too short to be a safetensors file");
                return -EBADMSG;
        }
        r = pread_full(fd, &length, sizeof(length), 0);
        if (r < 0)
                return refuse_errno(ret_reason, r);
        if (length < 2 || length > SAFETENSORS_HEADER_MAX) {
                (void) refuse(ret_reason,
                                "it is not a safetensors file, or its header is longer than %u bytes",
                                SAFETENSORS_HEADER_MAX);
                return -EBADMSG;
        }
        if (length > size - sizeof(length)) {
                (void) refuse(ret_reason, "it is cut short: its header is not complete");
                return -EBADMSG;
        }

        *ret_length = length;
        *ret_size = size;
        return 0;
}

static Safetensors *file_new(int fd, uint64_t length, uint64_t size) {
        _cleanup_(safetensors_closep) Safetensors *file = calloc(1, sizeof(*file));

        if (!file)
                return NULL;
        file->fd = fd;
        file->data_at = sizeof(length) + length;
        file->data_bytes = size - file->data_at;
        file->text = calloc(1, length + 1);
        file->entries = calloc(SAFETENSORS_ENTRIES_MAX, sizeof(Entry));
        file->metadata = calloc(SAFETENSORS_METADATA_MAX, sizeof(MetadataRow));
        return file->text && file->entries && file->metadata ? TAKE_PTR(file) : NULL;
}

int safetensors_open(int fd, Safetensors **ret, char ret_reason[SAFETENSORS_REASON_MAX]) {
        _cleanup_(safetensors_closep) Safetensors *file = NULL;
        uint64_t size, length;
        Parser parser;
        int r;

        assert(ret);
        assert(ret_reason);

        r = read_length(fd, &length, &size, ret_reason);
        if (r < 0)
                return r;
        file = file_new(fd, length, size);
        if (!file)
                return refuse_errno(ret_reason, -ENOMEM);
        r = pread_full(fd, file->text, length, sizeof(length));
        if (r < 0)
                return refuse_errno(ret_reason, r);
        parser = (Parser){ file->text, file->text, file->text + length, ret_reason };
        if (!parse_header(&parser, file) || !names_differ(file, ret_reason) ||
                        !entries_fit(file, ret_reason))
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

const MetadataRow *safetensors_metadata_rows(const Safetensors *file, size_t *ret_n) {
        *ret_n = file->n_metadata;
        return file->metadata;
}

static const Entry *entry_find(const Safetensors *file, const char *name) {
        for (size_t i = 0; i < file->n_entries; i++)
                if (strcmp(file->entries[i].name, name) == 0)
                        return &file->entries[i];
        return NULL;
}

bool safetensors_has_digest(const Safetensors *file) {
        const Entry *entry = entry_find(file, SAFETENSORS_DIGEST);

        return entry && strcmp(entry->dtype, "U8") == 0 && entry->end - entry->begin == SHA256_DIGEST_SIZE &&
               entry->end == file->data_bytes;
}

/* Adds the first n bytes of the file to a hash. -EBADMSG: it is cut short. */
static int hash_bytes(int fd, uint64_t n, struct sha256_ctx *sha) {
        enum { BUFFER_BYTES = 256 * 1024 };
        _cleanup_free_ uint8_t *buffer = malloc(BUFFER_BYTES);
        int r;

        if (!buffer)
                return -ENOMEM;
        for (uint64_t at = 0; at < n;) {
                size_t part = n - at < BUFFER_BYTES ? (size_t) (n - at) : BUFFER_BYTES;

                r = pread_full(fd, buffer, part, (off_t) at);
                if (r < 0)
                        return r == -ENODATA ? -EBADMSG : r;
                sha256_update(sha, part, buffer);
                at += part;
        }
        return 0;
}

int safetensors_verify(const Safetensors *file, uint8_t ret_sha256[32]) {
        uint64_t n = file->data_at + file->data_bytes - SHA256_DIGEST_SIZE;
        uint8_t said[SHA256_DIGEST_SIZE], digest[SHA256_DIGEST_SIZE];
        struct sha256_ctx sha, whole;
        int r;

        assert(ret_sha256);

        if (!safetensors_has_digest(file))
                return -EBADMSG;
        r = pread_full(file->fd, said, sizeof(said), (off_t) n);
        if (r < 0)
                return r == -ENODATA ? -EBADMSG : r;
        sha256_init(&sha);
        r = hash_bytes(file->fd, n, &sha);
        if (r < 0)
                return r;

        whole = sha;
        sha256_digest(&sha, sizeof(digest), digest);
        if (memcmp(digest, said, sizeof(said)) != 0)
                return -EBADMSG;
        sha256_update(&whole, sizeof(said), said);
        sha256_digest(&whole, SHA256_DIGEST_SIZE, ret_sha256);
        return 0;
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
        if (!row->data)
                return 0;

        r = pread_full(file->fd, row->data, entry->end - entry->begin,
                        (off_t) (file->data_at + entry->begin));
        return r == -ENODATA ? -EBADMSG : r;
}
