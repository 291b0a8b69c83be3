/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The metadata of actord's checkpoints, and the names of their tensors. By these lists the learner writes
 * and restores checkpoints, and actorctl reads policies and numbers from them.
 *
 * Format 2 ends with a digest of the whole file (lib/checkpoint/safetensors.h), names the version of
 * actord's arithmetic, and prefixes each tensor with its network's name: "networks.policy.actor.0.weight",
 * "networks.policy.adam.m", "networks.target.q.0.weight". More networks only add names, so the format stays
 * the same. Format 1 still loads. It had no prefixes for the policy, one tensor for all parameters of a
 * target, and only a hash of the policy's parameters. */
#pragma once

#include "include/policy.h"
#include "lib/checkpoint/safetensors.h"

/* Keys of the metadata. Settings are stored as "Section.Key", options of the environment as
 * "Environment.KEY". */
#define METADATA_FORMAT      "format"
#define METADATA_VERSION     "version"
#define METADATA_ENVIRONMENT "environment"
#define METADATA_ARITHMETIC  "arithmetic"
/* Earlier versions of the arithmetic that computed a part of the job's policy, if there were any: "1 until
 * round 120". */
#define METADATA_ARITHMETIC_BEFORE "arithmetic_before"
#define METADATA_ROUND             "round"
#define METADATA_POLICY            "policy_version"
#define METADATA_POLICY_SHA256     "policy_sha256"
/* A hash of the learner's whole state, not only of its policy. Equal jobs have equal hashes, even if
 * processes were killed or the jobs were distributed in other ways. It is made in
 * learner/checkpoint/digest.c. */
#define METADATA_STATE_SHA256 "state_sha256"
/* The form of an exported policy's input: "numbers"; "bytes", each divided by 255; "choice", a 1 among
 * zeros; "choices", a 1 among zeros for each of several numbers, all with the same number of choices. */
#define METADATA_OBSERVATION "observation"
/* If an action is several numbers: how many choices each number has, such as "2 3 5". The outputs for the
 * first number come first, then those for the second, and so on. */
#define METADATA_CHOICES "choices"
/* The monomials of the observation that the policy reads, in order, if it reads any
 * (PolicyInputAugmentation=, PolicyLinkEditing=). "2 0*0 0*2" means number 2, the square of number 0, and
 * the product of numbers 0 and 2. */
#define METADATA_INPUTS "inputs"

/* The two kinds of files: a checkpoint, and a file that has only parameters, with which any job may begin.
 * In the file, the number of the format follows this word. */
#define CHECKPOINT_FORMAT        "actord-checkpoint-"
#define PARAMETERS_FORMAT        "actord-parameters-"
#define CHECKPOINT_FORMAT_NEWEST 2u
#define PARAMETERS_FORMAT_NEWEST 1u

/* The version of actord's arithmetic. Raise it with every change that gives the same job another policy: in
 * lib/kernel.c, lib/doubles.c or learner/kernel/, or in the order of a sum. Each checkpoint says which
 * version computed it. All files of format 1 have version 1, which used OpenBLAS; its sums depend on the
 * processor. From version 2 on, a policy is the same on all processors. */
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

/* Writes the name of a network's tensor in a checkpoint: "networks.policy.adam.m" from "policy" and
 * "adam.m". In format 1 it is "adam.m"; for a network other than the policy, "NETWORK.adam.m". */
void checkpoint_tensor_name(
                unsigned format, const char *network, const char *tensor, char ret[TENSOR_NAME_MAX]);

/* Makes a row for each parameter tensor of a network. The row is named after the network and CleanRL's
 * module, and has the shape of that module's tensor. parameters NULL: the rows have no data. Returns the
 * number of rows, at most 2 * LAYERS_MAX. */
size_t checkpoint_network_rows(unsigned format, const char *name, const Network *network, float *parameters,
                TensorRow *ret);

/* Reads one row. Returns what safetensors_read() returns; after an error, ret_reason is a sentence. */
int checkpoint_read(
                const Checkpoint *checkpoint, const TensorRow *row, char ret_reason[SAFETENSORS_REASON_MAX]);
