/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Human-level control through deep reinforcement learning" (Mnih et al. 2015): a network that estimates the
 * value of each action, replay, a target network, and a loss that is linear for large errors. Targets are
 * those of "Deep Reinforcement Learning with Double Q-learning" (van Hasselt et al. 2016): the policy
 * chooses an action, and the target network estimates its value, after NSteps= rewards.
 *
 * Gradient steps and exploration depend on environment steps: for each environment step, TrainRatio=
 * gradient steps are due. So a job learns the same from many short rounds as from few long ones; only the
 * policy that acts is older in long rounds. */
#include <math.h>

#include "learner/algorithm/algorithm.h"
#include "lib/algorithm-traits.h"

enum {
        STATE_OWED,  /* gradient steps that are due for the environment steps so far but not taken yet */
        STATE_STEPS, /* gradient steps since the target network was updated */
};

/* The default of TargetInterval=, in gradient steps. CleanRL's DQN for classic control has the same number,
 * but counts environment steps. */
enum { TARGET_INTERVAL = 500 };

static void dqn_loss(Tape *t, const void *arg) {
        const JobSettings *s = arg;
        Node error = tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET));
        Node loss = tape_huber(t, error, s->huber_bound);

        tape_loss(t, loss, 1.0);
        tape_sum(t, 0, loss, 1.0);
}

static int dqn_step(Runtime *runtime, uint32_t draw, double rate, double *loss, double *norm_sum) {
        const JobSettings *s = runtime_settings(runtime);
        double *n = &runtime_state(runtime)[STATE_STEPS], sum, norm;
        Rows rows;
        int r;

        rows = runtime_replay(runtime, draw, s->gamma);
        runtime_bootstrap(runtime, NET_POLICY, NET_TARGET);

        r = runtime_gradient(runtime, NET_POLICY, rows, dqn_loss, s, &sum, 1);
        if (r < 0)
                return r;
        r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
        if (r < 0)
                return r;

        if (++*n >= (settings_present(s, SETTING_Learner_TargetInterval) ? s->target_interval
                                                                         : TARGET_INTERVAL)) {
                runtime_follow(runtime);
                *n = 0.0;
        }
        *loss += sum;
        *norm_sum += norm;
        return 0;
}

static int dqn_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        double *owed = &runtime_state(runtime)[STATE_OWED], loss = 0.0, norm = 0.0;
        Statistics *statistics = runtime_statistics(runtime);
        uint32_t n = 0;
        int r;

        if (runtime_store(runtime) >= s->replay_min)
                *owed += (double) runtime_rows(runtime).n * s->train_ratio;
        for (; *owed >= 1.0; *owed -= 1.0, n++) {
                r = dqn_step(runtime, n, rate, &loss, &norm);
                if (r < 0)
                        return r;
        }

        statistics->learning_rate = rate;
        statistics->loss_value = n > 0 ? loss / n : NAN;
        statistics->gradient_norm = n > 0 ? norm / n : NAN;
        return 0;
}

/* After a round, less than one step is due. A checkpoint with a larger number is refused, since the learner
 * would take all these steps first. */
static bool dqn_possible(const double state[ALGORITHM_STATE_MAX]) {
        return state[STATE_OWED] >= 0.0 && state[STATE_OWED] < 1.0 && state[STATE_STEPS] >= 0.0;
}

const Algorithm algorithm_DQN = {
        .name = "dqn",
        .learn = dqn_learn,
        .possible = dqn_possible,
};
