/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes episodes that a policy plays as a data set in Minari's layout (lib/dataset/dataset.h). */
#pragma once

#include "actorctl/checkpoint-open.h"

/* Writes main_data.hdf5 and metadata.json into the directory of --output=, or into "default_name" without
 * the option. STATUS_OK; or another status, with a message. */
ExitStatus rollouts_export(const Options *options, const NamedCheckpoint *from, const char *default_name);
