/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The usual spaces of observations and actions (include/actord/env.h). */
#pragma once

#include "include/actord/env.h"

/* A space of n numbers, each from low to high. */
static inline ActordSpace space_of_numbers(uint32_t n, double low, double high) {
        return (ActordSpace){
                .kind = ACTORD_BOX,
                .element = ACTORD_F32,
                .n_dims = 1,
                .shape = { n },
                .low = low,
                .high = high,
        };
}

/* One of n choices. */
static inline ActordSpace space_of_choices(uint32_t n) {
        return (ActordSpace){ .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = n };
}
