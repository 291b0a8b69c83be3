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

Node critics_action(Tape *t, const Network *policy, Node share) {
        double low = policy->action_low, high = policy->action_high;
        Node action = tape_shift(t, tape_scale(t, share, 0.5 * high - 0.5 * low), 0.5 * low + 0.5 * high);

        return tape_clamp(t, action, low, high);
}

Node critics_joined(Tape *t, Node action) {
        return tape_join(t, tape_input(t, INPUT_OBSERVATION), action);
}

Node critics_value(Tape *t, Net critic, Node joined) {
        return tape_output(t, tape_network(t, critic, joined), OUTPUT_VALUE);
}

void critics_target(Tape *t, Node value) {
        tape_result(t, tape_add(t, tape_column(t, COLUMN_REWARD),
                                       tape_multiply(t, tape_column(t, COLUMN_DISCOUNT), value)));
}

void critics_loss(Tape *t, const void *arg) {
        Node value = critics_value(t, *(const Net *) arg, critics_joined(t, tape_input(t, INPUT_ACTION)));
        Node half = tape_half_square(t, tape_subtract(t, value, tape_column(t, COLUMN_TARGET)));

        tape_loss(t, half, 2.0);
        tape_sum(t, 0, half, 2.0);
}

void critics_policy_loss(Tape *t, const void *arg) {
        Node policy = tape_network(t, NET_POLICY, tape_input(t, INPUT_OBSERVATION));
        Node action = critics_action(t, arg, tape_output(t, policy, OUTPUT_ACTION));
        Node value = critics_value(t, NET_CRITIC, critics_joined(t, action));

        tape_loss(t, value, -1.0);
        tape_sum(t, CRITICS_SUM_LOSS, value, -1.0);
}

int critics_move(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);

        for (uint32_t k = 0; k < n; k++) {
                Net critic = critic_of(k);
                double loss, norm;
                int r;

                r = runtime_gradient(runtime, critic, rows, critics_loss, &critic, &loss, 1);
                if (r < 0)
                        return r;
                r = runtime_apply(runtime, critic, steps->critic_rate, s->max_grad_norm, &norm);
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

int critics_move_policy(Runtime *runtime, Rows rows, Loss loss, const void *arg, CriticSteps *steps,
                double *ret_entropy) {
        const JobSettings *s = runtime_settings(runtime);
        double sums[CRITICS_SUMS], norm;
        int r;

        r = runtime_gradient(runtime, NET_POLICY, rows, loss, arg, sums, CRITICS_SUMS);
        if (r < 0)
                return r;
        r = runtime_apply(runtime, NET_POLICY, steps->rate, s->max_grad_norm, &norm);
        if (r < 0)
                return r;

        steps->loss_policy += sums[CRITICS_SUM_LOSS];
        steps->entropy += sums[CRITICS_SUM_ENTROPY];
        steps->norm += norm;
        steps->n_policy++;
        *ret_entropy = sums[CRITICS_SUM_ENTROPY];
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
