/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The invoker in a node's role (LAUNCH_NODE): it forks, confines, meters and reaps actors of a job whose
 * rounds another host conducts. It has no learner, no records and no daemon, decides nothing, and takes
 * orders from a stream (invoker/frame.h) until that ends. */
#pragma once

#include <stdbool.h>

bool node_is_wanted(void);
int node_serve(void);
