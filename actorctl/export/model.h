/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy for other programs: the network, its parameters, and the normalisation of observations. */
#pragma once

#include "actorctl/checkpoint-open.h"
#include "include/actord/env.h"
#include "include/policy.h"
#include "include/settings.h"

typedef struct Model {
        JobSettings settings;
        ActordEnvSpec spec;
        Network network;
        uint64_t acts; /* bit i: layer i is needed to act */
        bool normalised;
        double clip;              /* normalised observations are clipped to [-clip, clip] */
        float *mean, *inverse_sd; /* [n_observation] */
        float *parameters;        /* [n_parameters] */
        const char *sha256, *round;
        char *choices; /* "2 3 5" for an action of several choices; otherwise NULL */
        /* the inputs of an edited network: "2 0*0 0*2" is x2, x0 squared and x0 x2; NULL: not edited */
        char *inputs;
} Model;

/* Reads the policy of a checkpoint, which must outlive the model. The environment is loaded in a sandbox,
 * since the network's shape follows from its spec. numbers_max: the most numbers for which the file's format
 * has room. STATUS_OK; or another status, with a message. */
ExitStatus model_read(const Options *options, const NamedCheckpoint *checkpoint, uint64_t numbers_max,
                Model **ret);
Model *model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

/* The name of the output with which the policy acts: "logits", "action_values" or "mean". */
const char *model_output_name(const Model *model);

/* The formats. Each function returns the complete file. */
GByteArray *model_to_onnx(const Model *model);
GByteArray *model_to_header(const Model *model);
/* A number of a C header takes at most 20 bytes ("-1.17549435e-38f, " and a sixth of a line's beginning). A
 * GByteArray ends the program if it would grow beyond G_MAXUINT bytes, and the rest of the file is short. */
#define HEADER_NUMBERS_MAX ((G_MAXUINT - (1u << 20)) / 20u)
/* Makes a file of the policy's named tensors and the checkpoint's metadata. NULL, with errno: it failed, for
 * example for lack of memory. */
GByteArray *model_to_safetensors(const Model *model, const Checkpoint *checkpoint);
