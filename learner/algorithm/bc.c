/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Behaviour cloning: "ALVINN: An Autonomous Land Vehicle in a Neural Network" (Pomerleau 1988). The policy
 * minimises the mean of -log pi(a | s) over recorded steps. For choices this is the cross-entropy; for a
 * density of actions, it is the squared error of its mean, weighed by its own variance. Rewards are not
 * read. */
#include <math.h>

#include "learner/algorithm/algorithm.h"

enum { STATE_OWED }; /* gradient steps that are due but not taken yet */

enum { SUM_LOSS, SUM_ENTROPY, SUMS };

static void bc_loss(Tape *t, const void *arg) {
        Node log_probability = tape_term(t, TERM_LOG_PROBABILITY);

        tape_loss(t, log_probability, -1.0);
        tape_sum(t, SUM_LOSS, log_probability, -1.0);
        tape_sum(t, SUM_ENTROPY, tape_term(t, TERM_ENTROPY), 1.0);
}

static int bc_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        double *owed = &runtime_state(runtime)[STATE_OWED];
        double loss = 0.0, entropy = 0.0, norms = 0.0;
        Statistics *statistics = runtime_statistics(runtime);
        uint32_t n = 0;

        if (runtime_store(runtime) >= s->replay_min)
                *owed += (double) runtime_rows(runtime).n * s->train_ratio;
        for (; *owed >= 1.0; *owed -= 1.0, n++) {
                Rows rows = runtime_replay(runtime, n, s->gamma);
                double sums[SUMS], norm;
                int r;

                r = runtime_gradient(runtime, NET_POLICY, rows, bc_loss, NULL, sums, SUMS);
                if (r < 0)
                        return r;
                r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
                if (r < 0)
                        return r;
                loss += sums[SUM_LOSS];
                entropy += sums[SUM_ENTROPY];
                norms += norm;
        }

        statistics->learning_rate = rate;
        statistics->loss_policy = n > 0 ? loss / n : NAN;
        statistics->entropy = n > 0 ? entropy / n : NAN;
        statistics->gradient_norm = n > 0 ? norms / n : NAN;
        return 0;
}

/* Whether a checkpoint's state is possible: at the end of a round, less than one gradient step is due. */
static bool bc_possible(const double state[ALGORITHM_STATE_MAX]) {
        return state[STATE_OWED] >= 0.0 && state[STATE_OWED] < 1.0;
}

const Algorithm algorithm_BC = {
        .name = "bc",
        .learn = bc_learn,
        .possible = bc_possible,
};
