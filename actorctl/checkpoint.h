/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads facts about a job from a checkpoint of it. These functions call lib/checkpoint/checkpoint.h, and
 * their messages name the checkpoint's file. */
#pragma once

#include "lib/checkpoint/checkpoint.h"

/* Checks that the file is complete and one of actord's: a checkpoint, or a file of parameters only. name:
 * for messages. 0, with *ret to be closed by checkpoint_close(); or a negative errno with *ret_message, a
 * sentence, g_free(). */
int checkpoint_load(int fd, const char *name, Checkpoint *ret, char **ret_message);

/* Turns a checkpoint's metadata ("Section.Key": "VALUE") into the text of a job file. This function and
 * those below return errors as checkpoint_load() does. */
int checkpoint_job_text(const Checkpoint *checkpoint, const char *name, char **ret_text, char **ret_message);

/* Reads a tensor. row->data NULL: only checks that the file has it. */
int checkpoint_tensor(
                const Checkpoint *checkpoint, const char *name, const TensorRow *row, char **ret_message);

/* Reads all parameters of a network, in the network's order. of: the network's name in the checkpoint. ret
 * NULL: only checks that the file has them. */
int checkpoint_network(const Checkpoint *checkpoint, const char *name, const char *of,
                const Network *network, float *ret, char **ret_message);
