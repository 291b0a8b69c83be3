/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/checkpoint/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

__attribute__((format(printf, 3, 4))) static int refuse(int r, char *ret_reason, const char *format, ...) {
        va_list values;

        va_start(values, format);
        (void) vsnprintf(ret_reason, SAFETENSORS_REASON_MAX, format, values);
        va_end(values);
        return r;
}

/* A decimal number of at most nine digits, and nothing else. */
static bool parse_version(const char *text, unsigned *ret) {
        size_t n = strlen(text);

        if (n == 0 || n > 9 || strspn(text, "0123456789") != n)
                return false;
        *ret = (unsigned) strtoul(text, NULL, 10);
        return *ret > 0;
}

static bool parse_format(const char *text, const char *kind, unsigned *ret) {
        return strncmp(text, kind, strlen(kind)) == 0 && parse_version(text + strlen(kind), ret);
}

/* Reads the format of a file whose digest, if it has one, is right. */
static int read_format(Checkpoint *c, char *ret_reason) {
        const char *text = safetensors_metadata(c->file, METADATA_FORMAT);
        unsigned newest;

        c->parameters = text && parse_format(text, PARAMETERS_FORMAT, &c->format);
        if (!text || (!c->parameters && !parse_format(text, CHECKPOINT_FORMAT, &c->format)))
                return refuse(-ENOMSG, ret_reason,
                                "it does not say which job wrote it, so it is not a checkpoint of actord");

        newest = c->parameters ? PARAMETERS_FORMAT_NEWEST : CHECKPOINT_FORMAT_NEWEST;
        if (c->format > newest)
                return refuse(-EPROTONOSUPPORT, ret_reason,
                                "it is of a newer format, %s%u, and this actord reads up to %u: read it "
                                "with the release that wrote it, or a later one",
                                c->parameters ? PARAMETERS_FORMAT : CHECKPOINT_FORMAT, c->format, newest);
        if (!c->parameters && c->format >= 2 && !safetensors_has_digest(c->file))
                return refuse(-EBADMSG, ret_reason, "it is damaged: its digest is missing");
        return 0;
}

static int read_arithmetic(Checkpoint *c, char *ret_reason) {
        const char *text = safetensors_metadata(c->file, METADATA_ARITHMETIC);

        c->arithmetic = 1;
        if ((text || c->format >= 2) && !c->parameters && (!text || !parse_version(text, &c->arithmetic)))
                return refuse(-EBADMSG, ret_reason,
                                "it does not say which version of actord's arithmetic computed it");
        return 0;
}

int checkpoint_open(int fd, Checkpoint *ret, char ret_reason[SAFETENSORS_REASON_MAX]) {
        _cleanup_(checkpoint_close) Checkpoint c = {};
        uint8_t sha256[32];
        int r;

        assert(ret);
        assert(ret_reason);

        r = safetensors_open(fd, &c.file, ret_reason);
        if (r < 0)
                return r;
        if (safetensors_has_digest(c.file)) {
                r = safetensors_verify(c.file, sha256);
                if (r == -EBADMSG)
                        return refuse(r, ret_reason,
                                        "it is damaged: its bytes are not those that were written");
                if (r < 0)
                        return refuse(r, ret_reason, "it cannot be read: %s", strerror(-r));
        }
        r = read_format(&c, ret_reason);
        if (r < 0)
                return r;
        r = read_arithmetic(&c, ret_reason);
        if (r < 0)
                return r;

        *ret = c;
        c.file = NULL;
        return 0;
}

void checkpoint_close(Checkpoint *checkpoint) {
        checkpoint->file = safetensors_close(checkpoint->file);
}

void checkpoint_tensor_name(
                unsigned format, const char *network, const char *tensor, char ret[TENSOR_NAME_MAX]) {
        int n;

        if (format >= 2)
                n = snprintf(ret, TENSOR_NAME_MAX, "networks.%s.%s", network, tensor);
        else if (strcmp(network, NETWORK_POLICY) == 0)
                n = snprintf(ret, TENSOR_NAME_MAX, "%s", tensor);
        else
                n = snprintf(ret, TENSOR_NAME_MAX, "%s.%s", network, tensor);
        assert(n > 0 && n < (int) TENSOR_NAME_MAX);
}

/* at: where the row's numbers lie among the parameters. */
static void layer_row(unsigned format, const char *network, const Layer *layer, const char *part,
                float *parameters, uint64_t at, TensorRow *ret) {
        char name[TENSOR_NAME_MAX];

        *ret = (TensorRow){
                .dtype = "F32",
                .n_dims = 1,
                .shape = { layer->n_units },
                .data = parameters ? parameters + at : NULL,
        };
        (void) snprintf(name, sizeof(name), "%s%s", layer->name, part);
        checkpoint_tensor_name(format, network, name, ret->name);
}

size_t checkpoint_network_rows(unsigned format, const char *name, const Network *network, float *parameters,
                TensorRow *ret) {
        size_t n = 0;

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];
                TensorRow *row = &ret[n++];

                if (layer->kind == LAYER_PARAMETER) {
                        layer_row(format, name, layer, "", parameters, layer->bias_at, row);
                        row->n_dims = 2;
                        row->shape[0] = 1;
                        row->shape[1] = layer->n_out;
                        continue;
                }

                layer_row(format, name, layer, ".weight", parameters, layer->weight_at, row);
                row->n_dims = 2;
                row->shape[1] = layer->n_reads;
                if (layer->kind == LAYER_CONVOLUTION) {
                        row->n_dims = 4;
                        row->shape[1] = layer->convolution.channels;
                        row->shape[2] = row->shape[3] = layer->convolution.kernel;
                }
                layer_row(format, name, layer, ".bias", parameters, layer->bias_at, &ret[n++]);
        }
        return n;
}

int checkpoint_read(const Checkpoint *checkpoint, const TensorRow *row,
                char ret_reason[SAFETENSORS_REASON_MAX]) {
        int r;

        r = safetensors_read(checkpoint->file, row);
        if (r == -ENOENT)
                return refuse(r, ret_reason, "it does not hold \"%s\"", row->name);
        if (r == -EMEDIUMTYPE)
                return refuse(r, ret_reason, "it does not hold \"%s\" in the shape that this job has",
                                row->name);
        return r < 0 ? refuse(r, ret_reason, "\"%s\" cannot be read: %s", row->name, strerror(-r)) : 0;
}
