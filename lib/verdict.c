/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/verdict.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static Verdict *verdicts;           /* [VERDICTS_MAX]; NULL: none has been needed yet */
static uint8_t taken[VERDICTS_MAX]; /* 1: a process has this verdict */

Verdict *verdict_new(void) {
        const uint8_t *unused = memchr(taken, 0, sizeof(taken));
        ptrdiff_t i;

        if (!verdicts) {
                void *map = mmap(NULL, VERDICTS_MAX * sizeof(Verdict), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                if (map == MAP_FAILED)
                        return NULL;
                verdicts = map;
        }
        if (!unused)
                return NULL;
        i = unused - taken;
        taken[i] = 1;
        verdicts[i].failed = 0;
        return &verdicts[i];
}

Verdict *verdict_free(Verdict *verdict) {
        if (!verdict)
                return NULL;
        assert(verdict >= verdicts && verdict < verdicts + VERDICTS_MAX);
        taken[verdict - verdicts] = 0;
        return NULL;
}

void verdict_leave(void) {
        if (verdicts)
                (void) munmap(verdicts, VERDICTS_MAX * sizeof(Verdict));
        verdicts = NULL;
}
