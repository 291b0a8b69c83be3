/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The level of the actors' sandboxes, if the strongest one cannot be made. A host that forbids mounts gives
 * Sandbox=auto the level process. A host that lacks memory for a moment does not: the life fails, and its
 * record says of what, so that the daemon tries again. */
#include <errno.h>
#include <glib.h>
#include <seccomp.h>
#include <stdlib.h>

#include "tests/unit/invoker-fixture.h"

#define CARTPOLE                                                                              \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=64\n[Actor]\nRolloutSteps=32\n[Learner]\n" \
        "MinibatchSize=32\n"

/* From now on mount() fails with this error, also in the program that this process becomes. */
static void refuse_mounts(int error) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t) error), SCMP_SYS(mount), 0) < 0 ||
                        seccomp_load(filter) < 0)
                _exit(1);
        seccomp_release(filter);
}

static void forbid_mounts(void) {
        refuse_mounts(EPERM);
}

static void lack_memory(void) {
        refuse_mounts(ENOMEM);
}

/* Starts a small job under such a filter. False: the test is skipped. */
static bool start(Job *job, gconstpointer level, void (*before_exec)(void)) {
        job_init(job, GPOINTER_TO_UINT(level), CARTPOLE);
        job->before_exec = before_exec;
        /* At level process the learner keeps the invoker's user id, and must write its checkpoint, too. */
        g_assert_cmpint(g_chmod(job->directory, 0777), ==, 0);
        return job_start_or_skip(job);
}

static void test_forbidden(gconstpointer level) {
        const Record *ended;
        Job job;

        if (!start(&job, level, forbid_mounts))
                return;
        ended = job_run(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_find(&job, RECORD_STARTED)->level, ==, SANDBOX_LEVEL_PROCESS);
        job_done(&job);
}

static void test_momentary(gconstpointer level) {
        const Record *ended;
        Job job;

        if (!start(&job, level, lack_memory))
                return;
        ended = job_run(&job);
        g_assert_cmpuint(job_count(&job, RECORD_STARTED, false), ==, 0);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
        g_assert_cmpuint(ended->fault, ==, FAULT_INTERNAL);
        g_assert_cmpint(ended->detail, ==, ENOMEM);
        g_assert_cmpuint(ended->actor, ==, UINT32_MAX);
        job_done(&job);
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_data_func("/prepare/forbidden", level_full(), test_forbidden);
        g_test_add_data_func("/prepare/momentary", level_full(), test_momentary);
        return job_tests_run();
}
