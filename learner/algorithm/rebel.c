/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "REBEL: Reinforcement Learning via Regressing Relative Rewards" (Gao et al. 2024), algorithm 1. For two
 * answers y, y' to one prompt x, the logarithms of the policy's probabilities should show which reward is
 * greater, and by how much. So the loss is
 *
 *     mean of ( ( ln p(y|x) / q(y|x) - ln p(y'|x) / q(y'|x) ) / eta - ( r(x, y) - r(x, y') ) )^2
 *
 * and is minimised over p. q is the policy that gave the answers. No value is estimated, and nothing is
 * clipped. If the loss can be 0 for all pairs, p is proportional to q exp(eta r).
 *
 * Here x is a state of the environment. An answer is the actions of a rollout from a snapshot of this state,
 * and its reward is the rollout's discounted return (lib/pair.h says when it ends). An answer's probability
 * is the product of its actions' probabilities: the environment's part is the same under p and q.
 *
 * The square is of a sum over all steps of a pair, and these may be more than a shard has. So the derivative
 * of the loss by each logarithm of probability is computed first, for whole pairs. These derivatives are the
 * weights of the rows in a second loss, which is linear in the logarithms and has the same gradient. The
 * regression goes on for Epochs= steps of Adam on all pairs of a round. */
#include "learner/algorithm/algorithm.h"

enum { SUM_ENTROPY, _SUM_MAX };

static void rebel_loss(Tape *t, const void *arg) {
        Node weight = tape_column(t, COLUMN_ADVANTAGE);

        tape_loss(t, tape_multiply(t, weight, tape_term(t, TERM_LOG_PROBABILITY)), 1.0);
        tape_sum(t, SUM_ENTROPY, tape_term(t, TERM_ENTROPY), 1.0);
}

/* Returns the loss of the recomputed policy, a mean over pairs. Weighs each row with the derivative of this
 * loss by the row's log-probability, times the number of rows, since the gradient is a mean over rows. */
static double rebel_regress(Runtime *runtime, const Pairs *pairs, double eta) {
        double scale = 2.0 / eta * (double) pairs->rows.n / (double) pairs->n, sum = 0.0;

        for (uint32_t k = 0; k < pairs->n; k++) {
                const Pair *pair = &pairs->pairs[k];
                double log_ratio = runtime_pair_log_probability(runtime, pair) - pair->log_probability;
                double error = log_ratio / eta - pair->reward;

                runtime_pair_weigh(runtime, pair, scale * error);
                sum += error * error;
        }
        return sum / (double) pairs->n;
}

static int rebel_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        double loss = 0.0, entropy = 0.0, norms = 0.0;
        Statistics *statistics = runtime_statistics(runtime);
        Pairs pairs;
        int r;

        runtime_recompute(runtime, NET_POLICY);
        pairs = runtime_pairs(runtime, s->gamma);

        for (uint32_t epoch = 0; epoch < s->epochs; epoch++) {
                double sums[_SUM_MAX], norm;

                if (epoch > 0)
                        runtime_recompute(runtime, NET_POLICY);
                loss += rebel_regress(runtime, &pairs, s->eta);
                r = runtime_gradient(runtime, NET_POLICY, pairs.rows, rebel_loss, NULL, sums, _SUM_MAX);
                if (r < 0)
                        return r;
                r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
                if (r < 0)
                        return r;
                entropy += sums[SUM_ENTROPY];
                norms += norm;
        }

        statistics->loss_policy = loss / s->epochs;
        statistics->entropy = entropy / s->epochs;
        statistics->gradient_norm = norms / s->epochs;
        statistics->learning_rate = rate;
        return 0;
}

const Algorithm algorithm_REBEL = {
        .name = "rebel",
        .learn = rebel_learn,
};
