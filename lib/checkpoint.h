/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What actord's checkpoints say of themselves and how their tensors are named: one list for the learner,
 * which writes and restores them, and for actorctl, which reads a policy or a number out of them.
 *
 * Format 2 ends with a digest of the whole file (lib/safetensors.h), names the version of our arithmetic,
 * and names each network: "networks.policy.actor.0.weight", "networks.policy.adam.m",
 * "networks.target.q.0.weight". A job with more networks than one policy adds names and needs no other
 * format. Format 1 had one network, whose tensors had no prefix, and a hash of the policy's parameters
 * alone; it still loads. */
#pragma once

#include "include/policy.h"
#include "lib/safetensors.h"

/* Keys of the metadata. Settings stand there as "Section.Key", options of the environment as
 * "Environment.KEY". */
#define METADATA_FORMAT        "format"
#define METADATA_VERSION       "version"
#define METADATA_ENVIRONMENT   "environment"
#define METADATA_KERNELS       "kernels"
#define METADATA_ARITHMETIC    "arithmetic"
#define METADATA_ROUND         "round"
#define METADATA_POLICY        "policy_version"
#define METADATA_POLICY_SHA256 "policy_sha256"

/* A checkpoint; and a file that holds parameters and nothing else, which a job may begin with, whatever
 * job they come from. Both are followed by the number of the format. */
#define CHECKPOINT_FORMAT        "actord-checkpoint-"
#define PARAMETERS_FORMAT        "actord-parameters-"
#define CHECKPOINT_FORMAT_NEWEST 2u
#define PARAMETERS_FORMAT_NEWEST 1u

/* To be raised with every change that makes the same job come to another policy on the same processor:
 * lib/forward*, learner/kernels*, the order of a sum. A checkpoint says which one it was computed with.
 * Files of format 1 are of the first. */
#define ARITHMETIC 1u

#define NETWORK_POLICY "policy"
#define NETWORK_TARGET "target"

typedef struct Checkpoint {
        Safetensors *file;
        bool parameters; /* a file of parameters alone */
        unsigned format;
        unsigned arithmetic;
} Checkpoint;

/* Reads the header, compares the file with its digest, and only then believes what it says of itself. The
 * descriptor stays the caller's. 0; or with a sentence: -EBADMSG: damaged, or no such file;
 * -EPROTONOSUPPORT: of a newer format; -ENOMSG: a whole file of tensors, but not of actord's; a negative
 * errno. */
int checkpoint_open(int fd, Checkpoint *ret, char ret_reason[SAFETENSORS_REASON_MAX]);
void checkpoint_close(Checkpoint *checkpoint);

/* Of a tensor that belongs to a network: "adam.m" of "policy". */
void checkpoint_tensor_name(
                unsigned format, const char *network, const char *tensor, char ret[TENSOR_NAME_MAX]);

/* Rows for the parameters of a network, named and shaped as CleanRL's modules have them behind the
 * network's name. Returns how many: at most 2 * LAYERS_MAX. */
size_t checkpoint_network_rows(unsigned format, const char *name, const Network *network, float *parameters,
                TensorRow *ret);

/* One row, with a sentence if it cannot be had; errors as safetensors_read(). */
int checkpoint_read(
                const Checkpoint *checkpoint, const TensorRow *row, char ret_reason[SAFETENSORS_REASON_MAX]);
