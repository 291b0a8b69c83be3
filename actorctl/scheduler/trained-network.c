/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trained scheduler's network in the learner's form: named tensors. This file reads them from the
 * training's checkpoint, and writes them into the file with which another training begins
 * (docs/org.actord1.5, files of SubmitJob). */
#include "actorctl/scheduler/trained-network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "actorctl/checkpoint.h"
#include "lib/cleanup.h"

enum { N_LAYERS = 6 };

/* Describes the layers in the order of the file (include/minions.h). */
static void describe_network(uint32_t n_choices, Network *ret) {
        const struct {
                const char *name;
                uint32_t n_in, n_out;
        } layers[N_LAYERS] = {
                { "actor.0", MINIONS_N_FEATURES, MINIONS_UNITS },
                { "actor.2", MINIONS_UNITS, MINIONS_UNITS },
                { "actor.4", MINIONS_UNITS, n_choices },
                { "critic.0", MINIONS_N_FEATURES, MINIONS_UNITS },
                { "critic.2", MINIONS_UNITS, MINIONS_UNITS },
                { "critic.4", MINIONS_UNITS, 1 },
        };
        uint64_t at = 0;

        for (size_t i = 0; i < N_LAYERS; i++) {
                Layer *layer = &ret->layers[ret->n_layers++];
                uint64_t n_weights = (uint64_t) layers[i].n_in * layers[i].n_out;

                *layer = (Layer){
                        .kind = LAYER_DENSE,
                        .n_units = layers[i].n_out,
                        .n_reads = layers[i].n_in,
                        .weight_at = at,
                        .bias_at = at + n_weights,
                };
                (void) snprintf(layer->name, sizeof(layer->name), "%s", layers[i].name);
                at += n_weights + layers[i].n_out;
        }
        ret->n_parameters = at;
}

int trained_network_read(int checkpoint_fd, uint32_t n_choices, float *ret, char **ret_message) {
        static const char name[] = "the training's checkpoint";
        g_autofree Network *network = g_new0(Network, 1);
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        int r;

        g_assert(ret);
        g_assert(ret_message);

        r = checkpoint_load(checkpoint_fd, name, &checkpoint, ret_message);
        if (r < 0)
                return r;
        describe_network(n_choices, network);
        return checkpoint_network(&checkpoint, name, NETWORK_POLICY, network, ret, ret_message);
}

int trained_network_open(const Trained *trained) {
        char *parameters = (char *) trained->data + sizeof(trained->model), format[64];
        const MetadataRow metadata = { METADATA_FORMAT, format };
        g_autofree Network *network = g_new0(Network, 1);
        TensorRow rows[2 * N_LAYERS];
        _cleanup_close_ int fd = -EBADF;
        uint8_t sha256[32];
        size_t n;
        int r;

        g_assert(trained->n > sizeof(trained->model));

        (void) snprintf(format, sizeof(format), PARAMETERS_FORMAT "%u", PARAMETERS_FORMAT_NEWEST);
        describe_network(trained->model.n_choices, network);
        n = checkpoint_network_rows(PARAMETERS_FORMAT_NEWEST, NETWORK_POLICY, network,
                        (float *) (void *) parameters, rows);
        fd = memfd_create("actord-parameters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        r = safetensors_write(fd, rows, n, &metadata, 1, sha256);
        if (r < 0)
                return r;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}
