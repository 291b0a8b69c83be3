/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "An Empirical Model of Large-Batch Training" (McCandlish et al. 2018), appendix A.1: the simple noise
 * scale tr(covariance) / |gradient|² of a row, from squared norms of gradients over few rows and over
 * many. */
#pragma once

/* square_small is a mean over several batches of rows_small rows. In rows; NaN: the noise hides the
 * gradient. */
double noise_scale_estimate(double rows_small, double square_small, double rows_big, double square_big);
