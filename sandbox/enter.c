/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of steps, in their order. The order matters: namespaces and root need capabilities, which identity and capabilities
 * take away; Landlock needs no_new_privs, which capabilities sets; the filter is last, since it forbids what all others call. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "sandbox/step.h"

static const struct {
        int (*apply)(const Sandbox *sandbox, const SandboxEntry *entry);
        int status;
        const char *name;
} steps[] = {
#define X(name, status) { sandbox_step_##name, status, #name },
        SANDBOX_STEPS(X)
#undef X
};

void sandbox_enter(const Sandbox *sandbox, const SandboxEntry *entry) {
        (void) prctl(PR_SET_NAME, entry->name);

        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                int r = steps[i].apply(sandbox, entry);

                if (r < 0) {
                        if (entry->verdict)
                                entry->verdict->failed = 1 + (uint32_t) i;
                        dprintf(STDERR_FILENO, "%s: step \"%s\" of its sandbox failed: %s\n", entry->name,
                                        steps[i].name, strerror(-r));
                        _exit(steps[i].status);
                }
        }
        (void) verdict_free(entry->verdict);
}
