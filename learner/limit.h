/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The speed that one core of this host reaches in matrix products, with the learner's kernel. A profile
 * compares a job with this limit. */
#pragma once

/* Multiplications and additions per second, in the best of several short measurements. 0: there is not
 * enough memory. */
double limit_measure(void);
