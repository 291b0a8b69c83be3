/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The queue's decisions (daemon/queue.c), carried out on jobs: one starts, or goes back to the queue. */
#pragma once

#include "daemon/manager.h"

/* Starts what may start now, and with Preempt=yes tells jobs to go back that are beyond their user's
 * share. */
void places_fill(Manager *manager);
