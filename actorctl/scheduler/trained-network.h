/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trained scheduler's network as tensors. */
#pragma once

#include "actorctl/scheduler/trained.h"

/* All MINIONS_PARAMETERS() of them, from a checkpoint of the training. 0; or a negative errno with
 * *ret_message, a sentence, g_free(). */
int trained_network_read(int checkpoint_fd, uint32_t n_choices, float *ret, char **ret_message);

/* A file of parameters that a training may begin with: a sealed descriptor, or a negative errno. */
int trained_network_open(const Trained *trained);
