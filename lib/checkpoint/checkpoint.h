/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What actord's checkpoints say of themselves, and the names of their tensors: one list for the learner,
 * which writes and restores checkpoints, and for actorctl, which reads a policy or a number out of them.
 *
 * Format 2 ends with a digest of the whole file (lib/checkpoint/safetensors.h), names the version of our
 * arithmetic, and names each network: "networks.policy.actor.0.weight", "networks.policy.adam.m",
 * "networks.target.q.0.weight". A job with more networks than one policy adds names and needs no other
 * format. Format 1 had one network, whose tensors had no prefix, and a hash of the policy's parameters
 * alone; it still loads. */
#pragma once

#include "include/policy.h"
#include "lib/checkpoint/safetensors.h"

/* Keys of the metadata. Settings stand there as "Section.Key", options of the environment as
 * "Environment.KEY". */
#define METADATA_FORMAT      "format"
#define METADATA_VERSION     "version"
#define METADATA_ENVIRONMENT "environment"
#define METADATA_ARITHMETIC  "arithmetic"
/* The versions of the arithmetic by which a job's policy came about, if there were several: "1 until
 * round 120". */
#define METADATA_ARITHMETIC_BEFORE "arithmetic_before"
#define METADATA_ROUND             "round"
#define METADATA_POLICY            "policy_version"
#define METADATA_POLICY_SHA256     "policy_sha256"
/* Of all that the learner learned and keeps, not of its policy alone: equal jobs come to equal ones,
 * whatever was killed and however they were distributed. It is made in learner/checkpoint/digest.c. */
#define METADATA_STATE_SHA256 "state_sha256"
/* Of an exported policy, what it reads: "numbers"; "bytes", each divided by 255; "choice", a 1 among
 * zeros. */
#define METADATA_OBSERVATION "observation"
/* And, where an action is several choices, how many each number of it has: "2 3 5". The outputs are those of
 * the first number, then those of the second, and so on. */
#define METADATA_CHOICES "choices"
/* And, where the policy reads monomials of the observation (PolicyInputAugmentation=, PolicyLinkEditing=),
 * which, in order: "2 0*0 0*2" are number 2, the square of number 0, and the product of numbers 0 and 2. */
#define METADATA_INPUTS "inputs"

/* The two kinds of files: a checkpoint, and a file of parameters alone, with which any job may begin. The
 * number of the format follows. */
#define CHECKPOINT_FORMAT        "actord-checkpoint-"
#define PARAMETERS_FORMAT        "actord-parameters-"
#define CHECKPOINT_FORMAT_NEWEST 2u
#define PARAMETERS_FORMAT_NEWEST 1u

/* The version of our arithmetic. Raise it with every change by which the same job comes to another policy:
 * in lib/kernel.c or lib/doubles.c, in learner/kernel/, in the order of a sum. A checkpoint says which
 * version computed it. Version 1, of which all files of format 1 are, used OpenBLAS, whose sums depend on
 * the processor; from version 2 on a policy is the same on each. */
#define ARITHMETIC 2u

#define NETWORK_POLICY "policy"
#define NETWORK_TARGET "target"

typedef struct Checkpoint {
        Safetensors *file;
        bool parameters; /* a file of parameters alone */
        unsigned format;
        unsigned arithmetic;
} Checkpoint;

/* Reads the header and compares the file with its digest before it believes the metadata. The descriptor
 * stays the caller's. 0; or, with a sentence: -EBADMSG: damaged, or not a safetensors file;
 * -EPROTONOSUPPORT: of a newer format; -ENOMSG: a whole file of tensors, but not actord's; another
 * negative errno. */
int checkpoint_open(int fd, Checkpoint *ret, char ret_reason[SAFETENSORS_REASON_MAX]);
void checkpoint_close(Checkpoint *checkpoint);

/* Splits off the network's name: "adam.m" of network "policy". */
void checkpoint_tensor_name(
                unsigned format, const char *network, const char *tensor, char ret[TENSOR_NAME_MAX]);

/* Rows for the parameters of a network, named and shaped as CleanRL's modules have them behind the
 * network's name. Returns how many: at most 2 * LAYERS_MAX. */
size_t checkpoint_network_rows(unsigned format, const char *name, const Network *network, float *parameters,
                TensorRow *ret);

/* Reads one row, with a sentence on failure; errors as safetensors_read(). */
int checkpoint_read(
                const Checkpoint *checkpoint, const TensorRow *row, char ret_reason[SAFETENSORS_REASON_MAX]);
