/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A word in which a child reports which step of its sandbox failed. The words of all children are in one
 * piece of shared memory: a fork would take longer with each further mapping that its parent has. A child
 * inherits this memory and unmaps it once its sandbox has closed, and until then it runs only our own code.
 * So code inside a sandbox cannot pretend that a sandbox failed. An exit status would not be proof, since
 * any program can return 200. */
#pragma once

#include <stdint.h>
#include "include/settings.h"

/* of actors that train, of actors that only evaluate, and of learners */
#define VERDICTS_MAX (2 * ACTORS_MAX + 64)

typedef struct Verdict {
        uint32_t failed; /* 1 + SandboxStep; 0: no step failed */
} Verdict;

Verdict *verdict_new(void); /* NULL: there is no memory, or there are VERDICTS_MAX already */
Verdict *verdict_free(Verdict *verdict);
/* Call this in a child when it needs its verdict no longer: unmaps the verdicts of all processes. */
void verdict_leave(void);
