/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports errors on the job's stream. Each error is reported once, by the function that gives up. */
#pragma once

#include <stdio.h>
#include <string.h>

/* Prints what failed and why to standard error. Returns r, a negative errno. */
static inline int invoker_complain(int r, const char *what) {
        fprintf(stderr, "actord-invoker: %s: %s\n", what, strerror(-r));
        return r;
}
