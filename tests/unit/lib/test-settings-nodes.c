/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests which jobs may have nodes of a cluster. Actors on a node choose their actions themselves, and see no
 * file of this host. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/settings/print.h"
#include "lib/settings/settings.h"

#define ON_NODES "[Distribution]\nCluster=slurm\nNodes=2\n"

/* Returns why the job file is refused; NULL: it is accepted. */
static char *refusal_of(const char *text) {
        static const char *const sheets[] = { "aws-lambda-x86", "local", NULL };
        char *message = NULL;
        JobSettings settings;
        int r;

        r = settings_parse(text, "x.conf", NULL, 0, sheets, &settings, &message);
        g_assert_cmpint(r, ==, message ? -EINVAL : 0);
        return message;
}

static void refuse(const char *text, const char *words) {
        g_autofree char *message = refusal_of(text);

        if (!message || !strstr(message, words) || !strstr(message, "[Distribution] Cluster=slurm"))
                g_error("%s\ndoes not say '%s', but '%s'", text, words, message ? message : "");
}

static void accept(const char *text) {
        g_autofree char *message = refusal_of(text);

        if (message)
                g_error("%s", message);
}

static void test_policies(void) {
        static const char *const reasons[_DISTRIBUTION_MAX] = {
                [DISTRIBUTION_FINE] = "its actors ask the learner for each action",
                [DISTRIBUTION_ENVIRONMENTS] = "its actors ask the learner for each action",
                [DISTRIBUTION_CENTRAL] = "its actors ask the learner for each action",
                [DISTRIBUTION_FUSED] = "its actors act in the learner's process",
                [DISTRIBUTION_AUTO] = "auto may choose a distribution that cannot use nodes",
        };

        for (uint32_t d = 0; d < _DISTRIBUTION_MAX; d++)
                for (int n = 0; n < 2; n++) {
                        g_autofree char *text = g_strdup_printf(
                                        "[Job]\nEnvironment=CartPole-v1\nAlgorithm=impala\n[Distribution]\n"
                                        "Cluster=slurm\nNodes=%d\nPolicy=%s\n",
                                        n, choice_distribution_to_string(d));

                        /* Nodes=0 is a job of one host, which any distribution may run. */
                        if (n > 0 && reasons[d])
                                refuse(text, reasons[d]);
                        else
                                accept(text);
                }
}

static void test_files(void) {
        accept("[Job]\nEnvironment=./mine.so\n" ON_NODES);
        refuse("[Job]\nEnvironment=gym:CartPole-v1\n" ON_NODES, "interpreter and packages are not sent");
        refuse("[Job]\nEnvironment=stormwater:theta\n" ON_NODES, "needs a Python package");
        refuse("[Job]\nEnvironment=mujoco:./leg.xml\n[Environment]\nReward=alive 1\n" ON_NODES,
                        "needs its folder, and only a plugin's file is sent");
        refuse("[Job]\nEnvironment=CartPole-v1\n[Actor]\nActorScope=each\n" ON_NODES, "a node has none");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/settings-nodes/policies", test_policies);
        g_test_add_func("/settings-nodes/files", test_files);
        return g_test_run();
}
