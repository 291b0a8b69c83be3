/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page in which a child reports which step of its sandbox failed. Only its parent shares the page, and the
 * child unmaps it once the sandbox has closed. So code inside the sandbox cannot pretend that the sandbox
 * failed. An exit status would not be proof, since any program can return 200. */
#pragma once

#include <stdint.h>

typedef struct Verdict {
        uint32_t failed; /* 1 + SandboxStep; 0: no step failed */
} Verdict;

Verdict *verdict_new(void); /* NULL: there is no memory */
/* Unmaps the page in this process. */
Verdict *verdict_free(Verdict *verdict);
/* Call this in the parent: children that are forked later do not inherit the page. */
void verdict_keep(Verdict *verdict);
