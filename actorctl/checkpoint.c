/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* safetensors: eight bytes of length, a JSON header, the tensors' bytes without holes. The settings stand in __metadata__, so that a
 * policy can be played without the job file that it came from. */
#include "actorctl/checkpoint.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "actorctl/json.h"
#include "lib/fd.h"
#include "lib/settings-print.h"

#define HEADER_BYTES_MAX (16u << 20)

static int refuse(char **ret_message, const char *name, const char *reason) {
        *ret_message = g_strdup_printf("%s: %s", name, reason);
        return -EBADMSG;
}

/* *ret: holds an object. */
static int read_header(
                int fd, const char *name, JsonNode **ret, uint64_t *ret_data_bytes, char **ret_message) {
        g_autofree char *text = NULL, *reason = NULL;
        g_autoptr(JsonNode) root = NULL;
        uint64_t size, n;
        int r;

        r = fd_size(fd, &size);
        if (r < 0)
                return refuse(ret_message, name, g_strerror(-r));
        if (pread_full(fd, &n, sizeof(n), 0) < 0)
                return refuse(ret_message, name, "too short to be a checkpoint");
        n = le64toh(n);
        if (n < 2 || n > HEADER_BYTES_MAX)
                return refuse(ret_message, name, "not a safetensors file");
        if (n > size - sizeof(n))
                return refuse(ret_message, name, "cut short: its header is not complete");
        text = g_malloc(n + 1);
        if (pread_full(fd, text, n, sizeof(n)) < 0)
                return refuse(ret_message, name, "its header cannot be read");
        text[n] = '\0';
        if (json_parse(text, n, &root, &reason) < 0 || !root || !JSON_NODE_HOLDS_OBJECT(root))
                return refuse(ret_message, name, "not a safetensors file: its header is no JSON object");
        *ret = g_steal_pointer(&root);
        *ret_data_bytes = size - sizeof(n) - n;
        return 0;
}

/* The end of the last tensor; 0 when the header names none in the way it should. */
static uint64_t tensors_end(JsonObject *header) {
        g_autoptr(GList) names = json_object_get_members(header);
        uint64_t end = 0;

        for (GList *l = names; l; l = l->next) {
                JsonNode *node = json_object_get_member(header, l->data), *offsets;
                JsonArray *pair;

                if (!JSON_NODE_HOLDS_OBJECT(node) || strcmp(l->data, "__metadata__") == 0)
                        continue;
                offsets = json_object_get_member(json_node_get_object(node), "data_offsets");
                if (!offsets || !JSON_NODE_HOLDS_ARRAY(offsets))
                        continue;
                pair = json_node_get_array(offsets);
                if (json_array_get_length(pair) == 2 && json_array_get_int_element(pair, 1) > 0)
                        end = MAX(end, (uint64_t) json_array_get_int_element(pair, 1));
        }
        return end;
}

/* Sections one by one, since the members come in any order. */
static void append_section(JsonObject *metadata, const char *section, GString *text) {
        g_autoptr(GList) names = json_object_get_members(metadata);
        size_t n = strlen(section);
        bool any = false;

        for (GList *l = names; l; l = l->next) {
                const char *name = l->data;
                JsonNode *node = json_object_get_member(metadata, name);
                const char *value;

                if (strncmp(name, section, n) != 0 || name[n] != '.' || !JSON_NODE_HOLDS_VALUE(node) ||
                                json_node_get_value_type(node) != G_TYPE_STRING)
                        continue;
                value = json_node_get_string(node);
                if (value[0] == '\0' || strpbrk(value, "\r\n"))
                        continue;
                g_string_append_printf(text, "%s%s%s%s=%s\n", any ? "" : "[", any ? "" : section,
                                any ? "" : "]\n", name + n + 1, value);
                any = true;
        }
}

static char *metadata_to_text(JsonObject *metadata) {
        GString *text = g_string_new(NULL);
        const char *before = "";

        for (int i = 0; i < _SETTING_MAX; i++) {
                const char *section = setting_row(i)->section;

                if (strcmp(section, before) != 0)
                        append_section(metadata, section, text);
                before = section;
        }
        append_section(metadata, "Environment", text);
        return g_string_free(text, FALSE);
}

int checkpoint_job_text(int fd, const char *name, char **ret_text, char **ret_message) {
        g_autoptr(JsonNode) root = NULL;
        JsonObject *header;
        JsonNode *metadata;
        uint64_t data_bytes, end;
        int r;

        r = read_header(fd, name, &root, &data_bytes, ret_message);
        if (r < 0)
                return r;
        header = json_node_get_object(root);
        end = tensors_end(header);
        if (end == 0)
                return refuse(ret_message, name, "it holds no tensor");
        if (end > data_bytes)
                return refuse(ret_message, name, "cut short: its tensors are not complete");
        metadata = json_object_get_member(header, "__metadata__");
        if (!metadata || !JSON_NODE_HOLDS_OBJECT(metadata) ||
                        !json_object_has_member(json_node_get_object(metadata), "Job.Environment"))
                return refuse(ret_message, name,
                                "it does not say which job wrote it, so it is no checkpoint of actord");
        *ret_text = metadata_to_text(json_node_get_object(metadata));
        return 0;
}

/* Where the tensor's bytes begin among the tensors'; -1: there is no such tensor of that type and size. */
static int64_t tensor_at(JsonObject *header, const char *tensor, const char *type, uint64_t bytes) {
        JsonNode *node = json_object_get_member(header, tensor), *dtype, *offsets;
        JsonArray *pair;
        int64_t at;

        if (!node || !JSON_NODE_HOLDS_OBJECT(node))
                return -1;
        dtype = json_object_get_member(json_node_get_object(node), "dtype");
        offsets = json_object_get_member(json_node_get_object(node), "data_offsets");
        if (!dtype || !JSON_NODE_HOLDS_VALUE(dtype) || g_strcmp0(json_node_get_string(dtype), type) != 0 ||
                        !offsets || !JSON_NODE_HOLDS_ARRAY(offsets))
                return -1;
        pair = json_node_get_array(offsets);
        if (json_array_get_length(pair) != 2)
                return -1;
        at = json_array_get_int_element(pair, 0);
        if (at < 0 || json_array_get_int_element(pair, 1) < at ||
                        (uint64_t) (json_array_get_int_element(pair, 1) - at) != bytes)
                return -1;
        return at;
}

static int read_tensor(int fd, const char *name, const char *tensor, const char *type, size_t bytes,
                void *ret, char **ret_message) {
        g_autoptr(JsonNode) root = NULL;
        uint64_t data_bytes, size;
        int64_t at;
        int r;

        r = read_header(fd, name, &root, &data_bytes, ret_message);
        if (r < 0)
                return r;
        at = tensor_at(json_node_get_object(root), tensor, type, bytes);
        if (at < 0 || (uint64_t) at + bytes > data_bytes)
                return refuse(ret_message, name, "it does not hold the network that was trained");
        r = fd_size(fd, &size);
        if (r >= 0)
                r = pread_full(fd, ret, bytes, (off_t) (size - data_bytes) + (off_t) at);
        return r < 0 ? refuse(ret_message, name, g_strerror(-r)) : 0;
}

int checkpoint_floats(
                int fd, const char *name, const char *tensor, size_t n, float *ret, char **ret_message) {
        return read_tensor(fd, name, tensor, "F32", n * sizeof(float), ret, ret_message);
}

int checkpoint_doubles(
                int fd, const char *name, const char *tensor, size_t n, double *ret, char **ret_message) {
        return read_tensor(fd, name, tensor, "F64", n * sizeof(double), ret, ret_message);
}

int checkpoint_integer(int fd, const char *name, const char *tensor, uint64_t *ret, char **ret_message) {
        return read_tensor(fd, name, tensor, "I64", sizeof(*ret), ret, ret_message);
}
