/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TrainRatio= gradient steps are due for each environment step, as in learner/algorithm/dqn.c: a job learns
 * the same from many short rounds as from few long ones, but for the age of its policy. */
#include "learner/algorithm/critics.h"

#include <math.h>
#include <stddef.h>

static Net critic_of(uint32_t k) {
        return NET_CRITIC + 2 * k;
}

static double mean_of(double sum, uint32_t n) {
        return n > 0 ? sum / n : NAN;
}

int critics_learn(Runtime *runtime, CriticStep step, CriticSteps *ret) {
        const JobSettings *s = runtime_settings(runtime);
        double critic_rate = settings_present(s, SETTING_Learner_CriticLearningRate)
                                             ? s->critic_learning_rate
                                             : s->learning_rate;
        double *owed = &runtime_state(runtime)[CRITICS_OWED];
        Statistics *statistics = runtime_statistics(runtime);
        CriticSteps steps = {
                .rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule),
                .critic_rate = runtime_scheduled(runtime, critic_rate, s->learning_rate_schedule),
        };
        int r;

        if (runtime_store(runtime) >= s->replay_min)
                *owed += (double) runtime_rows(runtime).n * s->train_ratio;
        for (; *owed >= 1.0; *owed -= 1.0, steps.n++) {
                r = step(runtime, steps.n, &steps);
                if (r < 0)
                        return r;
        }

        statistics->learning_rate = steps.rate;
        statistics->loss_value = mean_of(steps.loss_value, steps.n);
        statistics->loss_policy = mean_of(steps.loss_policy, steps.n_policy);
        statistics->gradient_norm = mean_of(steps.norm, steps.n_policy);
        *ret = steps;
        return 0;
}

void critics_loss(Tape *tape, const void *arg) {
        Node error = tape_subtract(tape, tape_term(tape, TERM_VALUE), tape_column(tape, COLUMN_TARGET));
        Node half = tape_half_square(tape, error);

        tape_loss(tape, half, 2.0);
        tape_sum(tape, 0, half, 2.0);
}

int critics_move(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);

        for (uint32_t k = 0; k < n; k++) {
                double loss, norm;
                int r;

                r = runtime_critic_gradient(runtime, critic_of(k), rows, critics_loss, NULL, &loss, 1);
                if (r < 0)
                        return r;
                r = runtime_apply(runtime, critic_of(k), steps->critic_rate, s->max_grad_norm, &norm);
                if (r < 0)
                        return r;
                steps->loss_value += loss / n;
        }
        return 0;
}

bool critics_policy_due(Runtime *runtime) {
        double *n = &runtime_state(runtime)[CRITICS_STEPS];

        if (++*n < runtime_settings(runtime)->policy_delay)
                return false;
        *n = 0.0;
        return true;
}

int critics_move_policy(Runtime *runtime, Rows rows, uint32_t draw, double temperature, CriticSteps *steps,
                double *ret_entropy) {
        const JobSettings *s = runtime_settings(runtime);
        double loss, entropy, norm;
        int r;

        r = runtime_policy_gradient(runtime, rows, draw, temperature, &loss, &entropy);
        if (r < 0)
                return r;
        r = runtime_apply(runtime, NET_POLICY, steps->rate, s->max_grad_norm, &norm);
        if (r < 0)
                return r;

        steps->loss_policy += loss;
        steps->entropy += entropy;
        steps->norm += norm;
        steps->n_policy++;
        *ret_entropy = entropy;
        return 0;
}

void critics_follow(Runtime *runtime, uint32_t n, bool policy) {
        double share = runtime_settings(runtime)->tau;

        if (policy)
                runtime_average(runtime, NET_TARGET, NET_POLICY, share);
        for (uint32_t k = 0; k < n; k++)
                runtime_average(runtime, critic_of(k) + 1, critic_of(k), share);
}

double critics_epsilon(const JobSettings *s, uint64_t n_env_steps) {
        return n_env_steps < s->replay_min ? 1.0 : 0.0;
}

/* After a round less than one step is due. A checkpoint that claims more is refused: the learner would
 * take all those steps before anything else. */
bool critics_possible(const double state[ALGORITHM_STATE_MAX]) {
        return state[CRITICS_OWED] >= 0.0 && state[CRITICS_OWED] < 1.0 && state[CRITICS_STEPS] >= 0.0;
}
