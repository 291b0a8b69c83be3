/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The metadata of actord's checkpoints, and the names of their tensors. The learner writes and restores
 * checkpoints by this list, and actorctl reads policies and numbers from them.
 *
 * Format 2 ends with a digest of the whole file (lib/checkpoint/safetensors.h), names the version of
 * actord's arithmetic, and prefixes each tensor with its network's name: "networks.policy.actor.0.weight",
 * "networks.policy.adam.m", "networks.target.q.0.weight". A job with more networks than one policy only adds
 * names, so the format stays the same. Format 1 had one network, whose tensors had no prefix, and only a
 * hash of the policy's parameters; it still loads. */
#pragma once

#include "include/policy.h"
#include "lib/checkpoint/safetensors.h"

/* Keys of the metadata. Settings are stored as "Section.Key", options of the environment as
 * "Environment.KEY". */
#define METADATA_FORMAT      "format"
#define METADATA_VERSION     "version"
#define METADATA_ENVIRONMENT "environment"
#define METADATA_ARITHMETIC  "arithmetic"
/* The earlier versions of the arithmetic that made a job's policy, if there were any: "1 until round
 * 120". */
#define METADATA_ARITHMETIC_BEFORE "arithmetic_before"
#define METADATA_ROUND             "round"
#define METADATA_POLICY            "policy_version"
#define METADATA_POLICY_SHA256     "policy_sha256"
/* A hash of everything that the learner has learned and keeps, not only of its policy. Equal jobs have equal
 * hashes, whatever was killed and however the jobs were distributed. It is made in
 * learner/checkpoint/digest.c. */
#define METADATA_STATE_SHA256 "state_sha256"
/* The form of an exported policy's input: "numbers"; "bytes", each divided by 255; "choice", a 1 among
 * zeros; "choices", the same for each of several numbers, which have as many choices each. */
#define METADATA_OBSERVATION "observation"
/* If an action is several choices: how many choices each number of it has, "2 3 5". The outputs for the
 * first number come first, then those for the second, and so on. */
#define METADATA_CHOICES "choices"
/* If the policy reads monomials of the observation (PolicyInputAugmentation=, PolicyLinkEditing=): these, in
 * order. "2 0*0 0*2" are number 2, the square of number 0, and the product of numbers 0 and 2. */
#define METADATA_INPUTS "inputs"

/* The two kinds of files: a checkpoint, and a file that has only parameters, with which any job may begin.
 * The number of the format follows. */
#define CHECKPOINT_FORMAT        "actord-checkpoint-"
#define PARAMETERS_FORMAT        "actord-parameters-"
#define CHECKPOINT_FORMAT_NEWEST 2u
#define PARAMETERS_FORMAT_NEWEST 1u

/* The version of actord's arithmetic. Raise it with every change that gives the same job another policy: in
 * lib/kernel.c, lib/doubles.c or learner/kernel/, or in the order of a sum. A checkpoint says which version
 * computed it. All files of format 1 have version 1, which used OpenBLAS; its sums depend on the processor.
 * From version 2 on a policy is the same on each processor. */
#define ARITHMETIC 2u

#define NETWORK_POLICY "policy"
#define NETWORK_TARGET "target"

typedef struct Checkpoint {
        Safetensors *file;
        bool parameters; /* the file has only parameters */
        unsigned format;
        unsigned arithmetic;
} Checkpoint;

/* Reads the header, and compares the file with its digest before it trusts the metadata. The descriptor
 * stays the caller's. 0; or an error with a sentence. -EBADMSG: the file is damaged, or not in the
 * safetensors format; -EPROTONOSUPPORT: it has a newer format; -ENOMSG: it is a whole file of tensors, but
 * not one of actord's; or another negative errno. */
int checkpoint_open(int fd, Checkpoint *ret, char ret_reason[SAFETENSORS_REASON_MAX]);
void checkpoint_close(Checkpoint *checkpoint);

/* Splits a name into the network and the rest: "policy" and "adam.m". */
void checkpoint_tensor_name(
                unsigned format, const char *network, const char *tensor, char ret[TENSOR_NAME_MAX]);

/* Makes rows for the parameters of a network. After the network's name, they have the names and shapes of
 * CleanRL's modules. Returns how many: at most 2 * LAYERS_MAX. */
size_t checkpoint_network_rows(unsigned format, const char *name, const Network *network, float *parameters,
                TensorRow *ret);

/* Reads one row, with a sentence on failure; errors as safetensors_read(). */
int checkpoint_read(
                const Checkpoint *checkpoint, const TensorRow *row, char ret_reason[SAFETENSORS_REASON_MAX]);
