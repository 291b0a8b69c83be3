/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stop: asks the daemon to end jobs. The round in flight is finished first, and a checkpoint is written. */
#include "actorctl/bus.h"

ExitStatus verb_stop(const Options *options, char **arguments, size_t n) {
        return jobs_call(options, arguments, n, "StopJob");
}
