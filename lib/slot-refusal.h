/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Says why job_page_make() has refused a job. Pure. */
#pragma once

#include <stdbool.h>

#include "lib/slot.h"

#define SIZE_SENTENCE_MAX 256u

/* The check of a spec that fails if job_page_make() returns this negative errno. */
SpecField spec_field_of_error(int error);

/* Whether a network or the rollouts of this job are too large. If so, ret is a sentence with the size, the
 * limit, and the keys that change the size. spec_check() must have accepted the spec. */
bool job_size_describe(const JobSettings *settings, const ActordEnvSpec *spec, char ret[SIZE_SENTENCE_MAX]);
