/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A safetensors file with only the policy: a file of parameters (lib/checkpoint/checkpoint.h), with the
 * normalisation of observations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "actorctl/export/model.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

static bool is_acting(const Model *model, const char *tensor) {
        for (uint32_t i = 0; i < model->network.n_layers; i++) {
                size_t n = strlen(model->network.layers[i].name);

                if (strncmp(tensor, model->network.layers[i].name, n) == 0 && strchr(".", tensor[n]))
                        return model->acts >> i & 1;
        }
        return false;
}

/* Lists the layers to write. A value network that reads other agents' observations is left out, since the
 * file's normalisation covers only an agent's own observation. */
static size_t list_layers(const Model *model, TensorRow *ret) {
        size_t n_kept = 0, n = checkpoint_network_rows(PARAMETERS_FORMAT_NEWEST, NETWORK_POLICY,
                                           &model->network, model->parameters, ret);

        for (size_t i = 0; i < n; i++)
                if (algorithm_row(model->settings.algorithm)->company != COMPANY_ALL ||
                                is_acting(model, ret[i].name))
                        ret[n_kept++] = ret[i];
        return n_kept;
}

static size_t list_rows(const Model *model, TensorRow *ret) {
        size_t n = list_layers(model, ret);
        const struct {
                const char *name;
                float *data;
        } scales[] = { { "observation.mean", model->mean },
                { "observation.inverse_sd", model->inverse_sd } };

        for (size_t i = 0; model->normalised && i < G_N_ELEMENTS(scales); i++) {
                ret[n] = (TensorRow){ .dtype = "F32",
                        .n_dims = 1,
                        .shape = { model->network.n_observation },
                        .data = scales[i].data };
                (void) snprintf(ret[n++].name, TENSOR_NAME_MAX, "%s", scales[i].name);
        }
        return n;
}

static const char *observation_word(const Model *model) {
        if (model->spec.observation.kind != ACTORD_BOX)
                return model->spec.observation.kind == ACTORD_DISCRETE ? "choice" : "choices";
        return model->network.pixels ? "bytes" : "numbers";
}

/* The metadata of the exported file: the policy's settings and origin, and the file's own format. */
static size_t list_metadata(const Model *model, const Checkpoint *checkpoint, const char *format,
                MetadataRow ret[SAFETENSORS_METADATA_MAX]) {
        size_t n, n_kept = 0;
        const MetadataRow *rows = safetensors_metadata_rows(checkpoint->file, &n);

        ret[n_kept++] = (MetadataRow){ METADATA_OBSERVATION, observation_word(model) };
        if (model->choices)
                ret[n_kept++] = (MetadataRow){ METADATA_CHOICES, model->choices };
        if (model->inputs)
                ret[n_kept++] = (MetadataRow){ METADATA_INPUTS, model->inputs };
        for (size_t i = 0; i < n && n_kept < SAFETENSORS_METADATA_MAX; i++) {
                if (strcmp(rows[i].key, METADATA_OBSERVATION) == 0 ||
                                strcmp(rows[i].key, METADATA_CHOICES) == 0 ||
                                strcmp(rows[i].key, METADATA_INPUTS) == 0)
                        continue;
                ret[n_kept] = rows[i];
                if (strcmp(rows[i].key, METADATA_FORMAT) == 0)
                        ret[n_kept].value = format;
                n_kept++;
        }
        return n_kept;
}

GByteArray *model_to_safetensors(const Model *model, const Checkpoint *checkpoint) {
        g_autofree TensorRow *rows = g_new0(TensorRow, 2 * LAYERS_MAX + 2);
        g_autofree MetadataRow *metadata = g_new0(MetadataRow, SAFETENSORS_METADATA_MAX);
        _cleanup_free_ char *bytes = NULL;
        _cleanup_close_ int fd = -EBADF;
        char format[64];
        uint8_t sha256[32];
        uint64_t size = 0;
        size_t n, n_metadata, n_bytes;
        int r;

        (void) snprintf(format, sizeof(format), PARAMETERS_FORMAT "%u", PARAMETERS_FORMAT_NEWEST);
        n = list_rows(model, rows);
        n_metadata = list_metadata(model, checkpoint, format, metadata);
        fd = memfd_create("actord-policy", MFD_CLOEXEC);
        if (fd < 0)
                return NULL;
        r = safetensors_write(fd, rows, n, metadata, n_metadata, sha256);
        if (r >= 0)
                r = safetensors_size(rows, n, metadata, n_metadata, &size);
        if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        if (r >= 0)
                r = read_all(fd, size + 1, &bytes, &n_bytes);
        if (r < 0) {
                errno = -r;
                return NULL;
        }
        return g_byte_array_append(g_byte_array_new(), (const uint8_t *) bytes, (guint) n_bytes);
}
