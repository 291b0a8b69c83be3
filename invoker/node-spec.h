/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The spec of a user's environment, which a node asks for in a sandboxed actor, as the head does. */
#pragma once

#include "include/actord/env.h"
#include "invoker/pool.h"

/* c: absent, with a worker. Waits as long as an actor may take, while neither the stream ends nor a signal
 * comes. The process ends with its answer, so that a round begins in a new one, without traces of this.
 * -ECANCELED: the stream or a signal; another negative errno, with words. */
int node_spec_ask(
                const Placement *place, int signal_fd, Container *c, ActordEnvSpec *ret, const char **words);
