/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For each environment step, TrainRatio= gradient steps are due, as in learner/algorithm/dqn.c. So a job
 * learns the same from many short rounds as from few long ones; only the policy that acts is older in long
 * rounds. */
#include "learner/algorithm/critics.h"

#include <math.h>
#include <stddef.h>

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

Node critics_policy(Tape *t, Net policy) {
        return tape_network(t, policy, tape_edit(t, policy, tape_input(t, INPUT_OBSERVATION)));
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
        return tape_output(t, tape_network(t, critic, tape_edit(t, critic, joined)), OUTPUT_VALUE);
}

void critics_target(Tape *t, Node value) {
        tape_result(t, tape_add(t, tape_column(t, COLUMN_REWARD),
                                       tape_multiply(t, tape_column(t, COLUMN_DISCOUNT), value)));
}

Smoothed critics_smoothed(const Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (Smoothed){
                .policy = runtime_policy(runtime),
                .noise = s->target_noise,
                .noise_clip = s->noise_clip,
        };
}

Node critics_smoothed_action(Tape *t, const Smoothed *p) {
        Node policy = critics_policy(t, NET_TARGET);
        Node noise = tape_clamp(t, tape_scale(t, tape_input(t, INPUT_NORMAL), p->noise), -p->noise_clip,
                        p->noise_clip);
        Node share = tape_add(t, tape_output(t, policy, OUTPUT_ACTION), noise);

        return critics_joined(t, critics_action(t, p->policy, share));
}

static void smoothed_target(Tape *t, const void *arg) {
        Node joined = critics_smoothed_action(t, arg);

        critics_target(t, tape_min(t, critics_value(t, NET_CRITIC_TARGET, joined),
                                          critics_value(t, NET_CRITIC_2_TARGET, joined)));
}

void critics_smoothed_targets(Runtime *runtime, Rows rows) {
        const Smoothed smoothed = critics_smoothed(runtime);

        runtime_targets(runtime, rows, smoothed_target, &smoothed);
}

void critics_loss(Tape *t, const void *arg) {
        Node value = critics_value(t, *(const Net *) arg, critics_joined(t, tape_input(t, INPUT_ACTION)));
        Node half = tape_half_square(t, tape_subtract(t, value, tape_column(t, COLUMN_TARGET)));

        tape_loss(t, half, 2.0);
        tape_sum(t, 0, half, 2.0);
}

/* The mean of -Q(s, mu(s)) by the first critic: equation (6) of "Continuous control with deep reinforcement
 * learning" (Lillicrap et al. 2016). arg: the policy's Network. */
static void policy_loss(Tape *t, const void *arg) {
        Node policy = critics_policy(t, NET_POLICY);
        Node action = critics_action(t, arg, tape_output(t, policy, OUTPUT_ACTION));
        Node value = critics_value(t, NET_CRITIC, critics_joined(t, action));

        tape_loss(t, value, -1.0);
        tape_sum(t, CRITICS_SUM_LOSS, value, -1.0);
}

int critics_move(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);

        for (uint32_t k = 0; k < n; k++) {
                Net critic = NET_OF(1 + k);
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

int critics_move_all(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps) {
        double entropy;
        int r;

        r = critics_move(runtime, rows, n, steps);
        if (r < 0)
                return r;
        if (!critics_policy_due(runtime))
                return 0;
        r = critics_move_policy(runtime, rows, policy_loss, runtime_policy(runtime), steps, &entropy);
        if (r < 0)
                return r;
        runtime_follow(runtime);
        return 0;
}

/* After a round, less than one gradient step is still due. A checkpoint with a larger number is refused,
 * since the learner would take all these steps first. */
bool critics_possible(const double state[ALGORITHM_STATE_MAX]) {
        return state[CRITICS_OWED] >= 0.0 && state[CRITICS_OWED] < 1.0 && state[CRITICS_STEPS] >= 0.0;
}
