/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=minions: the number of actors comes from a network that `actorctl scheduler train` has trained, as
 * in MinionsRL ("Cheaper and Faster: Distributed Deep Reinforcement Learning with Serverless Computing", Yu
 * et al., AAAI 2024). The scheduler takes the most likely count, without sampling: only training needs to
 * explore. The network sees the same features as in its training (lib/minions.h). If the job has a budget,
 * the feature of the budget is the share of the steps or of the money that is left, whichever is smaller. */
#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>
#include "daemon/scheduler/scheduler.h"
#include "lib/minions.h"

typedef struct MinionsState {
        double return_mean; /* the newest return that a round reported; NaN: none has */
} MinionsState;
static_assert(sizeof(MinionsState) <= sizeof(((SchedulerState *) 0)->own), "it fits");

static double budget_left(const SchedulerView *view) {
        double steps = minions_steps_left(view->settings, view->statistics);

        if (!settings_present(view->settings, SETTING_Job_Budget))
                return steps;
        return fmin(steps, (double) view->facts->budget_left_nano / (double) view->settings->budget.nano);
}

static MinionsFacts minions_facts(const SchedulerView *view, double return_mean) {
        if (view->round == 0)
                return (MinionsFacts){ .return_mean = NAN };

        return (MinionsFacts){
                .round = view->round,
                .loss = minions_loss(view->settings, view->statistics),
                .return_mean = return_mean,
                .kl = view->statistics->kl,
                .learner_nsec = view->facts->learner_nsec,
                .actor_mean_nsec = view->facts->actor_mean_nsec,
                .round_nsec = view->facts->round_nsec,
                .budget_left = budget_left(view),
        };
}

static uint32_t minions_count(const SchedulerView *view, SchedulerState *state) {
        float features[MINIONS_N_FEATURES];
        MinionsState own;
        MinionsModel model;
        MinionsFacts facts;
        uint32_t count;

        memcpy(&own, state->own, sizeof(own));
        memcpy(&model, view->data, sizeof(model));
        own.return_mean = view->round == 0 ? NAN
                                           : minions_return(view->statistics,
                                                             view->settings->evaluation_episodes > 0,
                                                             own.return_mean);
        memcpy(state->own, &own, sizeof(own));

        facts = minions_facts(view, own.return_mean);
        minions_features(&facts, model.target, features);
        /* If memory is short, the job goes on with the fewest actors that it allows. */
        if (minions_decide(view->data, view->n_data, features, &count) < 0)
                return scheduler_lowest(view->settings);
        return count;
}

static int minions_check_data(
                const JobSettings *settings, const void *data, size_t n_data, char **ret_message) {
        const char *reason;

        if (n_data == 0) {
                *ret_message = g_strdup(
                                "Policy=minions needs a trained scheduler: write minions:NAME with a name "
                                "that `actorctl scheduler list` shows");
                return -EINVAL;
        }
        if (minions_check(data, n_data, &reason) < 0) {
                *ret_message = g_strdup_printf("Policy=minions: its scheduler file is refused: %s", reason);
                return -EINVAL;
        }
        return 0;
}

const Scheduler scheduler_MINIONS = {
        .count = minions_count,
        .check = minions_check_data,
};
