/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether this host has the CPUs that a job names. */
#pragma once

#include "include/settings.h"

/* Why actors would find none of the CPUs of AllowedCPUs=; g_free(). NULL: it is unset, they find one, or the
 * kernel does not say which CPUs there are. */
char *cpus_reason(const JobSettings *settings);
