/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the decisions of daemon/queue.c: starts jobs, and sends jobs back to the queue. */
#pragma once

#include "daemon/manager.h"

/* Ends queued jobs that can never run, sends back to the queue the jobs that are frozen or whose user has
 * spent the day's money, and starts the jobs that may start now. With Preempt=yes it then also sends back
 * jobs beyond their user's share. */
void places_fill(Manager *manager);
