/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of jobs that an older actord wrote: what lists show of them stands in their texts only, until it
 * has been written down. */
#pragma once

#include "daemon/manager.h"

/* The newest KeepJobs= of them at once, the others when there is nothing else to do. */
void older_start(Manager *manager);
