/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remove: removes the files of ended jobs. Their rows and records in the ledger stay. */
#include "actorctl/bus.h"

ExitStatus verb_remove(const Options *options, char **arguments, size_t n) {
        return jobs_call(options, arguments, n, "RemoveJobFiles");
}
