/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a verb's product to --output=FILE, whole or not at all; without the option, or with -, to standard
 * output. */
#pragma once

#include "actorctl/actorctl.h"

/* STATUS_OK; or another status, with a message. */
ExitStatus output_text(const Options *options, const char *text);
