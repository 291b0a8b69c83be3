/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows how PI-FT's iterations approach a known optimum (tests/unit/linear-quadratic.h) if the weight of the
 * divergence becomes less and less. Each weight is a line of CSV. tests/experiments/generative.py makes a
 * table of the lines. */
#include <stdio.h>

#include "tests/unit/linear-quadratic.h"

int main(void) {
        static const uint32_t passes[] = { 1, 2, 5, 20, 50 };
        /* The weights of the divergence, as multiples of `near`: the least beta with which iterations that
         * begin near the optimum approach it. */
        static const double shares[] = { 100, 20, 10, 5, 2, 1.2, 1.05, 1.01, 0.95 };

        printf("passes,least_near,least,beta,predicted,ratio,r_squared,iterations,last\n");
        for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
                LinearQuadratic lq = { .curvature = 1, .goal = 1 };
                double near, least;

                lq_make(&lq, passes[i], 0, 0.5);
                near = lq_least_beta(lq, lq_comes_near);
                least = lq_least_beta(lq, lq_comes_from_before);
                for (unsigned k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
                        Descent descent;

                        lq.beta = shares[k] * near;
                        lq_descend(&lq, &descent);
                        printf("%u,%.6g,%.6g,%.6g,%.4f,%.4f,%.5f,%u,%.3g\n", passes[i], near, least, lq.beta,
                                        lq_ratio(&lq), descent.ratio, descent.r_squared, descent.n_to_goal,
                                        descent.last);
                }
        }
        return 0;
}
