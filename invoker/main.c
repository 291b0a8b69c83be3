/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-invoker: conducts one job, or tries an environment. Only the spawner starts it, with its
 * descriptors at fixed numbers (include/launch.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "include/launch.h"
#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "invoker/node.h"
#include "invoker/trial.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

DEFINE_CLEANUP(Invoker *, invoker_free)

/* The LaunchPurpose of this process; UINT32_MAX: it cannot be read, which invoker_new() will report. */
static uint32_t purpose_read(void) {
        uint32_t purpose;
        void *map;

        if (fd_map(INVOKER_FD_INVOKED, sizeof(Invoked), false, &map) < 0)
                return UINT32_MAX;
        purpose = ((const Invoked *) map)->launch.purpose;
        fd_unmap(map, sizeof(Invoked));
        return purpose;
}

int main(int argc, char **argv) {
        _cleanup_(invoker_freep) Invoker *invoker = NULL;
        uint32_t purpose;
        int r;

        if (argc > 1) {
                fprintf(stderr, "actord-invoker is started by actord-spawn, with a job's descriptors; "
                                "it takes no arguments.\n");
                return strcmp(argv[1], "--help") == 0 ? EXIT_SUCCESS : 2;
        }
        (void) prctl(PR_SET_NAME, "actord-invoker");

        r = fork_confine_ourselves();
        if (r < 0)
                (void) invoker_complain(r,
                                "the invoker's system call filter cannot be set; the invoker goes on "
                                "without a filter");
        purpose = purpose_read();
        if (purpose == LAUNCH_TRIAL)
                return trial_serve() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (purpose == LAUNCH_NODE)
                return node_serve() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = invoker_new(&invoker);
        if (r < 0)
                return EXIT_FAILURE;

        r = invoker_run(invoker);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
