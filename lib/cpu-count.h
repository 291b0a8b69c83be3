/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many CPUs a process may use. */
#pragma once

#include <stdint.h>

enum { CPU_COUNT_MAX = 1 << 16 };

/* How many CPUs the calling thread may use, at most CPU_COUNT_MAX. unknown: the result if the kernel does
 * not say. */
uint32_t cpu_count(uint32_t unknown);
