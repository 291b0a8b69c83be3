/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes what the replay store of a checkpoint holds as a data set in Minari's layout. */
#pragma once

#include "actorctl/checkpoint-open.h"

/* Writes main_data.hdf5 and metadata.json into the directory of --output=, or into "default_name" without
 * the option. STATUS_OK; or another status, with a message. */
ExitStatus replay_export(const Options *options, const NamedCheckpoint *from, const char *default_name);
