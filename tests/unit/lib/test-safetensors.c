/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that are cut short, changed by a bit or made up are refused, each with a sentence. A file that
 * checkpoint code wrote is read back unchanged. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

static int file_of(const void *content, size_t n) {
        int fd = memfd_make_sealed("file", content, n);

        g_assert_cmpint(fd, >=, 0);
        return fd;
}

/* The sentence with which the content is refused, g_free(); NULL: it is accepted. */
static char *reason_of(const void *content, size_t n) {
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        _cleanup_close_ int fd = file_of(content, n);
        char reason[SAFETENSORS_REASON_MAX] = "";
        int r;

        r = checkpoint_open(fd, &checkpoint, reason);
        g_assert_true((r < 0) == (reason[0] != '\0'));
        return r < 0 ? g_strdup(reason) : NULL;
}

static char *reason_of_header(const char *header, size_t data_bytes) {
        uint64_t n = strlen(header);
        g_autofree char *bytes = g_malloc0(sizeof(n) + n + data_bytes);

        memcpy(bytes, &n, sizeof(n));
        memcpy(bytes + sizeof(n), header, n);
        return reason_of(bytes, sizeof(n) + n + data_bytes);
}

/* A small checkpoint of the newest format, as bytes. */
static char *whole_file(size_t *ret_n) {
        float weights[6] = { 1, -2, 3, -4, 5, -6 };
        double count = 7;
        uint8_t bytes[16] = "sixteen letters";
        const TensorRow rows[] = {
                { "count", "F64", 1, { 1 }, &count },
                { "w", "F32", 2, { 2, 3 }, weights },
                { "nothing", "F32", 1, { 0 }, weights },
                { "bytes", "U8", 1, { sizeof(bytes) }, bytes },
        };
        const MetadataRow metadata[] = {
                { METADATA_FORMAT, CHECKPOINT_FORMAT "2" },
                { METADATA_ARITHMETIC, "1" },
                { "Job.Description", "a \"word\"\n\\" },
        };
        _cleanup_close_ int fd = memfd_create("whole", MFD_CLOEXEC);
        uint8_t written[32], read[32];
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        char reason[SAFETENSORS_REASON_MAX], *content;
        uint64_t n;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(safetensors_write(fd, rows, G_N_ELEMENTS(rows), metadata, G_N_ELEMENTS(metadata),
                                        written),
                        ==, 0);
        g_assert_cmpint(checkpoint_open(fd, &checkpoint, reason), ==, 0);
        g_assert_cmpint(safetensors_verify(checkpoint.file, read), ==, 0);
        g_assert_cmpmem(read, sizeof(read), written, sizeof(written));
        g_assert_cmpstr(safetensors_metadata(checkpoint.file, "Job.Description"), ==, "a \"word\"\n\\");

        g_assert_cmpint(fd_size(fd, &n), ==, 0);
        content = g_malloc(n + 1);
        g_assert_cmpint(pread_full(fd, content, n, 0), ==, 0);
        *ret_n = n;
        return content;
}

static void test_round_trip(void) {
        size_t n;
        g_autofree char *content = whole_file(&n);
        _cleanup_close_ int fd = file_of(content, n);
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        char reason[SAFETENSORS_REASON_MAX];
        float weights[6];
        TensorRow row = { "w", "F32", 2, { 2, 3 }, weights };

        g_assert_cmpint(checkpoint_open(fd, &checkpoint, reason), ==, 0);
        g_assert_cmpuint(checkpoint.format, ==, 2);
        g_assert_cmpint(checkpoint_read(&checkpoint, &row, reason), ==, 0);
        g_assert_cmpfloat(weights[5], ==, -6);
        row.shape[0] = 3;
        row.shape[1] = 2;
        g_assert_cmpint(checkpoint_read(&checkpoint, &row, reason), ==, -EMEDIUMTYPE);
        g_assert_nonnull(strstr(reason, "does not hold \"w\" in the shape"));
        row = (TensorRow){ "v", "F32", 2, { 2, 3 }, weights };
        g_assert_cmpint(checkpoint_read(&checkpoint, &row, reason), ==, -ENOENT);
        g_assert_nonnull(strstr(reason, "does not hold \"v\""));
}

/* Any flipped bit of the file is noticed: of length, header, metadata, tensors or digest. */
static void test_bits(void) {
        size_t n;
        g_autofree char *content = whole_file(&n);

        for (size_t i = 0; i < n * 8; i++) {
                g_autofree char *reason = NULL;

                content[i / 8] ^= (char) (1 << i % 8);
                reason = reason_of(content, n);
                if (!reason)
                        g_error("bit %zu of byte %zu was flipped, and the file accepted", i % 8, i / 8);
                content[i / 8] ^= (char) (1 << i % 8);
        }
}

static void test_lengths(void) {
        size_t n;
        g_autofree char *content = whole_file(&n);

        for (size_t i = 0; i < n; i++) {
                g_autofree char *reason = reason_of(content, i);

                g_assert_nonnull(reason);
        }
        content[n] = '\0';
        g_autofree char *reason = reason_of(content, n + 1);
        g_assert_cmpstr(reason, ==, "bytes follow its last tensor: 1");
}

#define F32(name, n, begin, end) \
        "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" n "],\"data_offsets\":[" begin "," end "]}"
#define ONE "\"__metadata__\":{\"format\":\"actord-checkpoint-1\"}"

static void test_headers(void) {
        static const struct {
                const char *header;
                size_t data_bytes;
                const char *says; /* NULL: it is accepted */
        } cases[] = {
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("b", "1", "8", "12") "}", 12, NULL },
                { "{" ONE "," F32("b", "1", "8", "12") "," F32("a", "2", "0", "8") "}  ", 12, NULL },
                { "{" ONE "}", 0, NULL },
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("b", "1", "4", "8") "}", 8,
                                "\"b\" overlaps another" },
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("b", "2", "0", "8") "}", 8,
                                "overlaps another" },
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("b", "0", "4", "4") "}", 8,
                                "overlaps another" },
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("b", "1", "12", "16") "}", 16,
                                "before its tensor \"b\" belong to no tensor" },
                { "{" ONE "," F32("a", "2", "4", "12") "}", 12,
                                "before its tensor \"a\" belong to no "
                                "tensor" },
                { "{" ONE "," F32("a", "2", "0", "8") "}", 7, "cut short: 7 of 8 bytes" },
                { "{" ONE "," F32("a", "2", "0", "8") "}", 9, "bytes follow its last tensor: 1" },
                { "{" ONE "," F32("a", "3", "0", "8") "}", 8, "does not match its shape" },
                { "{" ONE "," F32("a", "2", "8", "0") "}", 8, "ends before it begins" },
                { "{" ONE "," F32("a", "4294967296,4294967296", "0", "8") "}", 8, "larger than any file" },
                { "{" ONE "," F32("a", "2", "0", "99999999999999999999") "}", 8, "larger than any file" },
                { "{" ONE "," F32("a", "1,1,1,1,2", "0", "8") "}", 8, "more than 4 numbers" },
                { "{" ONE "," F32("a", "2", "0", "8") "," F32("a", "0", "8", "8") "}", 8,
                                "have the same name" },
                { "{" ONE "," F32("", "2", "0", "8") "}", 8, "a tensor's name" },
                { "{" ONE "," F32("a\\u001b[31m", "2", "0", "8") "}", 8, "a tensor's name" },
                { "{" ONE ",\"a\":{\"dtype\":\"F9\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
                                "the type of its tensor \"a\" is unknown" },
                { "{" ONE
                  ",\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                                8, "is unexpected" },
                { "{" ONE ",\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "is unexpected" },
                { "{" ONE ",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8,
                                "is unexpected" },
                { "{" ONE ",\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
                                "is unexpected" },
                { "{" ONE ",\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8,
                                "is unexpected" },
                { "{" ONE "," ONE "}", 0, "two sections of metadata" },
                { "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "has a key twice" },
                { "{\"__metadata__\":{\"k\":1}}", 0, "is unexpected" },
                { "{" ONE "} x", 0, "is unexpected" },
                { "{" ONE, 0, "is unexpected" },
                { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, "is unexpected" },
                { "{\"__metadata__\":{\"format\":\"pt\"}}", 0, "not a checkpoint of actord" },
                { "{\"__metadata__\":{\"format\":\"actord-checkpoint-\"}}", 0,
                                "not a checkpoint of actord" },
                { "{\"__metadata__\":{\"format\":\"actord-checkpoint-0\"}}", 0,
                                "not a checkpoint of actord" },
                { "{\"__metadata__\":{\"format\":\"actord-checkpoint-2\"}}", 0, "its digest is missing" },
                { "{\"__metadata__\":{\"format\":\"actord-checkpoint-3\"}}", 0,
                                "a newer format, actord-checkpoint-3, and this actord reads up to 2" },
                { "{\"__metadata__\":{\"format\":\"actord-parameters-7\"}}", 0,
                                "a newer format, actord-parameters-7" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *reason = reason_of_header(cases[i].header, cases[i].data_bytes);

                if (cases[i].says ? !reason || !strstr(reason, cases[i].says) : reason != NULL)
                        g_error("%s: \"%s\" is said, not \"%s\"", cases[i].header, reason, cases[i].says);
        }
}

/* A header is limited in its length, its names and its depth. */
static void test_limits(void) {
        static const uint64_t lengths[] = { 0, 1, SAFETENSORS_HEADER_MAX + 1, UINT64_MAX - 7, UINT64_MAX };
        g_autofree char *brackets = g_strnfill(1000000, '['), *deep = g_strconcat("{\"w\":", brackets, NULL);
        g_autofree char *deep_reason = reason_of_header(deep, 8);
        GString *many = g_string_new("{");

        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                g_autofree char *reason = reason_of(&lengths[i], sizeof(lengths[i]));

                g_assert_nonnull(strstr(reason, "not a safetensors file"));
        }
        g_assert_nonnull(strstr(deep_reason, "is unexpected"));

        for (unsigned i = 0; i <= SAFETENSORS_ENTRIES_MAX; i++)
                g_string_append_printf(many,
                                "%s\"%u\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                                i > 0 ? "," : "", i);
        g_string_append_c(many, '}');
        g_autofree char *reason = reason_of_header(many->str, 0);
        g_assert_nonnull(strstr(reason, "more than 16384 tensors"));

        g_string_assign(many, "{\"__metadata__\":{");
        for (unsigned i = 0; i <= SAFETENSORS_METADATA_MAX; i++)
                g_string_append_printf(many, "%s\"%u\":\"\"", i > 0 ? "," : "", i);
        g_string_append(many, "}}");
        g_autofree char *lines = reason_of_header(many->str, 0);
        g_assert_nonnull(strstr(lines, "more than 1024 lines of metadata"));
        g_string_free(many, TRUE);
}

/* A NUL in a header does not hide the bytes behind it, as it would in a string of C. */
static void test_nul(void) {
        static const char header[] = "{" ONE "}\0 more";
        uint64_t n = sizeof(header) - 1;
        g_autofree char *bytes = g_malloc(sizeof(n) + n), *reason = NULL;

        memcpy(bytes, &n, sizeof(n));
        memcpy(bytes + sizeof(n), header, n);
        reason = reason_of(bytes, sizeof(n) + n);
        g_assert_nonnull(reason);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/safetensors/round-trip", test_round_trip);
        g_test_add_func("/safetensors/bits", test_bits);
        g_test_add_func("/safetensors/lengths", test_lengths);
        g_test_add_func("/safetensors/headers", test_headers);
        g_test_add_func("/safetensors/limits", test_limits);
        g_test_add_func("/safetensors/nul", test_nul);
        return g_test_run();
}
