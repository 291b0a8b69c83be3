/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the decisions of daemon/queue.c: starts jobs, and sends jobs back to the queue. */
#pragma once

#include "daemon/manager.h"

/* Starts the jobs that may start now. With Preempt=yes it also tells jobs beyond their user's share to go
 * back to the queue. */
void places_fill(Manager *manager);
