/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one core of this host reaches in matrix products, with the kernel that learns: the limit that a
 * profile compares a job with. */
#pragma once

/* Multiplications and additions in a second: the best of several short runs. 0: there is no memory. */
double limit_measure(void);
