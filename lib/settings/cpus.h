/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of CPUs, and whether this host has the CPUs that a job names. */
#pragma once

#include "include/settings.h"

/* Parses "0-3,8". 0; or -EINVAL with *ret_reason, a sentence without a subject, g_free(). */
int cpus_parse(const char *text, setting_cpuset *ret, char **ret_reason);

/* Why actors could use none of the CPUs of AllowedCPUs=; g_free(). NULL: they can use one, the key is unset,
 * or the kernel does not report its CPUs. */
char *cpus_reason(const JobSettings *settings);
