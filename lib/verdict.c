/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/verdict.h"

#include <stddef.h>
#include <sys/mman.h>

Verdict *verdict_new(void) {
        void *page = mmap(NULL, sizeof(Verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        return page == MAP_FAILED ? NULL : page;
}

Verdict *verdict_free(Verdict *verdict) {
        if (verdict)
                (void) munmap(verdict, sizeof(*verdict));
        return NULL;
}

void verdict_keep(Verdict *verdict) {
        (void) madvise(verdict, sizeof(*verdict), MADV_DONTFORK);
}
