/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job's last record says if the job cannot begin, and the level of its sandboxes. A host that forbids
 * mounts gives Sandbox=auto the level process. A host that lacks memory for a moment does not: the life
 * fails, and its record says of what, so that the daemon tries again. An actor cannot claim such a lack. */
#include <errno.h>
#include <glib.h>
#include <seccomp.h>
#include <stdlib.h>

#include "include/turn.h"
#include "tests/unit/invoker-fixture.h"

#define CARTPOLE                                                                              \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=64\n[Actor]\nRolloutSteps=32\n[Learner]\n" \
        "MinibatchSize=32\n"

/* From now on this call fails with this error, also in the program that this process becomes. */
static void refuse_call(int number, int error) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t) error), number, 0) < 0 ||
                        seccomp_load(filter) < 0)
                _exit(1);
        seccomp_release(filter);
}

static void forbid_mounts(void) {
        refuse_call(SCMP_SYS(mount), EPERM);
}

/* As in a container whose filter is older than this call: the directory for the roots can be mounted, and
 * then no root can be finished. */
static void forbid_attributes(void) {
        refuse_call(SCMP_SYS(mount_setattr), EPERM);
}

static void lack_memory(void) {
        refuse_call(SCMP_SYS(mount), ENOMEM);
}

/* Starts a small job under such a filter. False: the test is skipped. */
static bool start(Job *job, gconstpointer level, void (*before_exec)(void)) {
        job_init(job, GPOINTER_TO_UINT(level), CARTPOLE);
        job->before_exec = before_exec;
        /* At level process the learner keeps the invoker's user id, and must write its checkpoint, too. */
        g_assert_cmpint(g_chmod(job->directory, 0777), ==, 0);
        return job_start_or_skip(job);
}

static void run_at_level_process(gconstpointer level, void (*before_exec)(void)) {
        const Record *ended;
        Job job;

        if (!start(&job, level, before_exec))
                return;
        ended = job_run(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_find(&job, RECORD_STARTED)->level, ==, SANDBOX_LEVEL_PROCESS);
        job_done(&job);
}

static void test_forbidden(gconstpointer level) {
        run_at_level_process(level, forbid_mounts);
}

/* The invoker must stay on the host's file system, where the learner finds its linker. */
static void test_half_built(gconstpointer level) {
        run_at_level_process(level, forbid_attributes);
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

/* Writes an answer into the page of the actor that was asked for the spec, as code in the actor could. The
 * invoker finds it when it looks at the hanging actor's deadline. False: this user may not do that here. */
static bool forge_answer(const Job *job, const Answer *answer) {
        WorkerPage *page = job_take_page(job, "actor-0", ACTOR_PAGE_BYTES);

        if (!page)
                return false;
        while (atomic_load(&page->turn.go) == atomic_load(&page->turn.done))
                g_usleep(1000);
        page->turn.answer = *answer;
        atomic_store(&page->turn.done, atomic_load(&page->turn.go));
        fd_unmap(page, ACTOR_PAGE_BYTES);
        return true;
}

/* The claim is recorded as the actor's, so the daemon does not take it for a lack of the host. */
static void test_claim(void) {
        const Answer claim = { .fault = FAULT_INTERNAL, .detail = ENOMEM };
        const Record *ended;
        Job job;

        if (!job_init_hostile(&job, SANDBOX_LEVEL_PROCESS,
                            "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=stall\n[Actor]\n"
                            "TimeoutSec=2\nRolloutSteps=16\n[Learner]\nMinibatchSize=16\n"))
                return;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        if (!forge_answer(&job, &claim)) {
                g_test_skip("this user may not take descriptors of another process");
                job_done(&job);
                return;
        }
        ended = job_finish(&job);
        job_print_log(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
        g_assert_cmpuint(ended->fault, ==, FAULT_INTERNAL);
        g_assert_cmpint(ended->detail, ==, ENOMEM);
        g_assert_cmpuint(ended->actor, ==, 0);
        job_done(&job);
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_data_func("/prepare/forbidden", level_full(), test_forbidden);
        g_test_add_data_func("/prepare/half-built", level_full(), test_half_built);
        g_test_add_data_func("/prepare/momentary", level_full(), test_momentary);
        g_test_add_func("/prepare/claim", test_claim);
        return job_tests_run();
}
