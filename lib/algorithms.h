/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of an algorithm outside of the learner, as data: the keys that it reads. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

/* Whether the learner of this algorithm (Algorithm_) reads the key; keys that are nobody's own are everybody's. */
bool algorithm_uses(uint32_t algorithm, Setting setting);
