/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a child tells which step of its sandbox failed: a page that it shares with its parent alone, and
 * that is not in its memory any more once the sandbox has closed. So what runs inside cannot pretend that
 * the sandbox failed; an exit status of 200 is anybody's to give. */
#pragma once

#include <stdint.h>

typedef struct Verdict {
        uint32_t failed; /* 1 + SandboxStep; 0: none did */
} Verdict;

Verdict *verdict_new(void); /* NULL: no memory */
/* Unmaps it in this process. */
Verdict *verdict_free(Verdict *verdict);
/* Children that are forked from now on do not have it. */
void verdict_keep(Verdict *verdict);
