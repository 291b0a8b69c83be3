/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks a user's environment for its spec, in a sandboxed actor on this node. The job's own invoker asks the
 * same on the daemon's host. */
#pragma once

#include "include/actord/env.h"
#include "invoker/pool.h"

/* c: a container in state CONTAINER_ABSENT, with a worker. Waits for the answer until TimeoutSec=, the end
 * of the stream or a signal. Then the process is killed, so each round begins in a new process. 0;
 * -ECANCELED: the stream ended, or a signal came; another negative errno, with a sentence in *words. */
int node_spec_ask(
                const Placement *place, int signal_fd, Container *c, ActordEnvSpec *ret, const char **words);
