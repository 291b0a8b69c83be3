/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trains a scheduler by a job whose environment is a job. */
#pragma once

#include "actorctl/actorctl.h"

/* actorctl scheduler train FILE */
ExitStatus train(const Options *options, const char *file);
