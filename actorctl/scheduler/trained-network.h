/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trained scheduler's network as tensors. */
#pragma once

#include "actorctl/scheduler/trained.h"

/* Reads all MINIONS_PARAMETERS() parameters from a checkpoint of the training. 0; or a negative errno with
 * *ret_message, a sentence, g_free(). */
int trained_network_read(int checkpoint_fd, uint32_t n_choices, float *ret, char **ret_message);

/* Makes a file of parameters with which a training may begin. A sealed descriptor, or a negative errno. */
int trained_network_open(const Trained *trained);
