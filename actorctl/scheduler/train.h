/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trains a scheduler by an outer job, whose environment is an inner job (lib/settings/inner.c). */
#pragma once

#include "actorctl/actorctl.h"

/* actorctl scheduler train FILE */
ExitStatus train(const Options *options, const char *file);
