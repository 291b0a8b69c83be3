/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins a life of a job, or finds the one that runs. */
#pragma once

#include "daemon/job.h"

void job_start(Job *job);
/* After a restart of the daemon: connects to what runs, or begins the next life. */
void job_adopt(Job *job);
