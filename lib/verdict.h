/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a child reports which step of its sandbox failed: a page that it shares with its parent alone,
 * and that is unmapped in the child once the sandbox has closed. So the code inside cannot pretend that
 * the sandbox failed; an exit status of 200, which any program can return, proves nothing. */
#pragma once

#include <stdint.h>

typedef struct Verdict {
        uint32_t failed; /* 1 + SandboxStep; 0: none did */
} Verdict;

Verdict *verdict_new(void); /* NULL: no memory */
/* Unmaps it in this process. */
Verdict *verdict_free(Verdict *verdict);
/* Children that are forked from now on do not inherit it. */
void verdict_keep(Verdict *verdict);
