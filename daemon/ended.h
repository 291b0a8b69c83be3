/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ended jobs are rows of the ledger. Their paths on the bus stay valid: a row becomes a Job when a client
 * asks for it. A few Jobs stay in memory, since a client may read one property of a job after another. */
#pragma once

#include "daemon/manager.h"

#define ENDED_KEPT 16u /* ended jobs that stay in memory: each takes about 150 kB, with its curve */

/* The job of this number, whether it has ended or not; valid until the event loop's next turn. NULL: there
 * is none, or its row cannot be read any more, or it has not ended and this daemon only shows records. */
Job *ended_find(Manager *manager, uint64_t id);
/* Takes over a job that has ended and whose row says so. */
void ended_keep(Manager *manager, Job *job);
/* Frees the ended job, since its row is about to change. Returns false, and frees nothing, while a long call
 * about the job (daemon/long-call.h) is not answered. */
bool ended_forget(Manager *manager, uint64_t id);
void ended_done(Manager *manager);
