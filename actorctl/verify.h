/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading an environment in its sandbox and going no further: behind `verify` and `env check`. */
#pragma once

#include "actorctl/submission.h"

/* submission: loaded. STATUS_OK: the environment loads, and "NAME: …" was printed. */
ExitStatus verify_submission(const Options *options, Submission *submission);
