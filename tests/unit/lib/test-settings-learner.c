/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of [Learner] are refused if they contradict each other or the size of a round. The message has the
 * numbers. Values at the limit are accepted. */
#include <errno.h>
#include <string.h>

#include "lib/settings/settings.h"

#define CARTPOLE "[Job]\nEnvironment=CartPole-v1\n"

static int parse(const char *more, char **ret_message) {
        g_autofree char *text = g_strconcat(CARTPOLE, more, NULL);
        JobSettings settings;

        return settings_parse(text, "x.conf", NULL, 0, NULL, &settings, ret_message);
}

static void accept(const char *more) {
        g_autofree char *message = NULL;

        if (parse(more, &message) < 0)
                g_error("%s", message);
}

static void refuse(const char *more, const char *words) {
        g_autofree char *message = NULL;

        g_assert_cmpint(parse(more, &message), ==, -EINVAL);
        if (!strstr(message, words))
                g_error("no \"%s\" in: %s", words, message);
}

/* The number of a slot has 24 bits. */
static void test_slots(void) {
        accept("[Scaling]\nActors=4096\n[Actor]\nEnvsPerActor=4096\n");
        refuse("[Scaling]\nActors=4097\n[Actor]\nEnvsPerActor=4096\n",
                        "x.conf:6: [Actor] EnvsPerActor=4096: 4097 actors with this many each are 16781312 "
                        "environments, and a job has 16777216 at most");
        refuse("[Scaling]\nPolicy=random\nMaxActors=10000\n[Actor]\nEnvsPerActor=1678\n",
                        "EnvsPerActor=1678: 10000 actors");
}

static void test_replay_min(void) {
        refuse("Algorithm=ddpg\n[Learner]\nReplaySize=20000\nReplayMin=20001\n",
                        "ReplaySize=20000 never holds so many");
        refuse("Algorithm=dqn\n[Learner]\nReplaySize=200\nReplayMin=10\nMinibatchSize=201\n",
                        "MinibatchSize=201: more than ReplaySize=200");
}

/* A round may have 2^24 - 1 gradient steps. It has 4 x 4096 x 1024 = 2^24 rows here, so TrainRatio= must be
 * below 1. */
static void test_draws(void) {
        static const char *const rows = "Algorithm=dqn\n[Scaling]\nActors=4\n[Actor]\nEnvsPerActor=4096\n"
                                        "RolloutSteps=1024\n[Learner]\nReplaySize=20000000\n";
        g_autofree char *most = g_strconcat(rows, "TrainRatio=0.9999999\n", NULL);
        g_autofree char *more = g_strconcat(rows, "TrainRatio=1\n", NULL);

        accept(most);
        refuse(more, "TrainRatio=1: a round has up to 16777216 rows, "
                     "and no more than 16777215 gradient steps");
}

static void test_temperature(void) {
        accept("Algorithm=sac\n[Learner]\nTemperature=0.2\n");
        accept("Algorithm=sac\n[Learner]\nTargetEntropy=-1\n");
        refuse("Algorithm=sac\n[Learner]\nTemperature=0.2\nTargetEntropy=-1\n",
                        "x.conf:6: [Learner] TargetEntropy=-1: with Temperature= no temperature is");
}

/* A key that would do nothing is refused. */
static void test_delay(void) {
        accept("Algorithm=ddpg\n[Learner]\nPolicyDelay=3\n");
        accept("Algorithm=td3\n[Learner]\nPolicyDelay=3\n");
        refuse("Algorithm=sac\n[Learner]\nPolicyDelay=3\n",
                        "Algorithm=sac does not read this key; it is for ddpg, td3");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/settings-learner/slots", test_slots);
        g_test_add_func("/settings-learner/replay-min", test_replay_min);
        g_test_add_func("/settings-learner/draws", test_draws);
        g_test_add_func("/settings-learner/temperature", test_temperature);
        g_test_add_func("/settings-learner/delay", test_delay);
        return g_test_run();
}
