/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `actord-cluster --verify` asks whether the cluster would give nodes to this job. Nothing is queued. */
#pragma once

#include "cluster/engine.h"

/* Lets the engine check whether it can start nodes on these terms. If not, prints its reason. Returns the
 * exit status. */
int verify_main(const EngineKind *kind, const EngineTerms *terms);
