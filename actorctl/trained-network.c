/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trained scheduler's network as the learner knows it: tensors with names, out of the training's checkpoint, and into the file that another training
 * begins with (docs/org.actord1.5, files of SubmitJob). */
#include "actorctl/trained-network.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/checkpoint.h"
#include "actorctl/json.h"
#include "include/launch.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { LAYERS = 6, HEADER_ALIGN = 8 };

typedef struct NetworkLayer {
        const char *weight, *bias;
        uint64_t n_in, n_out;
} NetworkLayer;

/* In the file's order (include/minions.h). */
static void list_layers(uint32_t n_choices, NetworkLayer ret[LAYERS]) {
        const NetworkLayer layers[LAYERS] = {
                { "actor.0.weight", "actor.0.bias", MINIONS_N_FEATURES, MINIONS_UNITS },
                { "actor.2.weight", "actor.2.bias", MINIONS_UNITS, MINIONS_UNITS },
                { "actor.4.weight", "actor.4.bias", MINIONS_UNITS, n_choices },
                { "critic.0.weight", "critic.0.bias", MINIONS_N_FEATURES, MINIONS_UNITS },
                { "critic.2.weight", "critic.2.bias", MINIONS_UNITS, MINIONS_UNITS },
                { "critic.4.weight", "critic.4.bias", MINIONS_UNITS, 1 },
        };

        memcpy(ret, layers, sizeof(layers));
}

int trained_network_read(int checkpoint_fd, uint32_t n_choices, float *ret, char **ret_message) {
        NetworkLayer layers[LAYERS];
        int r;

        g_assert(ret);
        g_assert(ret_message);

        list_layers(n_choices, layers);
        for (size_t i = 0; i < LAYERS; i++) {
                uint64_t n_weights = layers[i].n_in * layers[i].n_out;

                r = checkpoint_floats(checkpoint_fd, "the training's checkpoint", layers[i].weight,
                                n_weights, ret, ret_message);
                if (r >= 0)
                        r = checkpoint_floats(checkpoint_fd, "the training's checkpoint", layers[i].bias,
                                        layers[i].n_out, ret + n_weights, ret_message);
                if (r < 0)
                        return r;
                ret += n_weights + layers[i].n_out;
        }
        return 0;
}

static void describe_tensor(
                JsonBuilder *b, const char *name, uint64_t rows, uint64_t columns, uint64_t *at) {
        uint64_t end = *at + rows * (columns > 0 ? columns : 1) * sizeof(float);

        (void) json_builder_set_member_name(b, name);
        (void) json_builder_begin_object(b);
        (void) json_builder_set_member_name(b, "dtype");
        (void) json_builder_add_string_value(b, "F32");
        (void) json_builder_set_member_name(b, "shape");
        (void) json_builder_begin_array(b);
        (void) json_builder_add_int_value(b, (gint64) rows);
        if (columns > 0)
                (void) json_builder_add_int_value(b, (gint64) columns);
        (void) json_builder_end_array(b);
        (void) json_builder_set_member_name(b, "data_offsets");
        (void) json_builder_begin_array(b);
        (void) json_builder_add_int_value(b, (gint64) *at);
        (void) json_builder_add_int_value(b, (gint64) end);
        (void) json_builder_end_array(b);
        (void) json_builder_end_object(b);
        *at = end;
}

static char *describe_network(uint32_t n_choices) {
        g_autoptr(JsonBuilder) b = json_builder_new();
        g_autoptr(JsonNode) root = NULL;
        NetworkLayer layers[LAYERS];
        uint64_t at = 0;

        (void) json_builder_begin_object(b);
        (void) json_builder_set_member_name(b, "__metadata__");
        (void) json_builder_begin_object(b);
        (void) json_builder_set_member_name(b, METADATA_FORMAT);
        (void) json_builder_add_string_value(b, PARAMETERS_FORMAT);
        (void) json_builder_end_object(b);
        list_layers(n_choices, layers);
        for (size_t i = 0; i < LAYERS; i++) {
                describe_tensor(b, layers[i].weight, layers[i].n_out, layers[i].n_in, &at);
                describe_tensor(b, layers[i].bias, layers[i].n_out, 0, &at);
        }
        (void) json_builder_end_object(b);
        root = json_builder_get_root(b);
        return json_text(root, false, NULL);
}

int trained_network_open(const Trained *trained) {
        g_autofree char *described = describe_network(trained->model.n_choices), *header = NULL;
        size_t length = strlen(described);
        size_t padded = (length + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN, n_network;
        g_autoptr(GByteArray) file = g_byte_array_new();
        uint64_t n = htole64(padded);

        g_assert(trained->n > sizeof(trained->model));

        header = g_strdup_printf("%-*s", (int) padded, described);
        n_network = trained->n - sizeof(trained->model);
        (void) g_byte_array_append(file, (const guint8 *) &n, sizeof(n));
        (void) g_byte_array_append(file, (const guint8 *) header, (guint) padded);
        (void) g_byte_array_append(
                        file, (const guint8 *) trained->data + sizeof(trained->model), (guint) n_network);
        return memfd_make_sealed("actord-parameters", file->data, file->len);
}
