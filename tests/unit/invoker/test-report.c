/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last record of a life with ActorScope=each: what the kernel has counted is the use of this life alone,
 * although the slice around its scopes has also counted the lives before. */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "tests/unit/invoker-fixture.h"

#define CARTPOLE                                                                           \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=102400\n[Scaling]\nActors=2\n[Actor]\n" \
        "EnvsPerActor=2\nRolloutSteps=128\n[Learner]\nMinibatchSize=64\nEpochs=2\n"

enum { N_SCOPES = 2, EARLIER_MSEC = 500 };

/* Makes a cgroup, and starts a process in it that uses so much CPU time, and then ends or stays. */
static pid_t use_in(const char *cgroup, unsigned cpu_msec, bool stays) {
        g_autofree char *procs = g_build_filename(cgroup, "cgroup.procs", NULL);
        pid_t pid;

        g_assert_cmpint(g_mkdir(cgroup, 0755), ==, 0);
        pid = fork();
        if (pid == 0) {
                FILE *f = fopen(procs, "we");

                if (!f || fputs("0", f) < 0 || fclose(f) != 0)
                        _exit(1);
                (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
                while (clock() / (CLOCKS_PER_SEC / 1000) < cpu_msec)
                        ;
                while (stays)
                        (void) pause();
                _exit(0);
        }
        return pid;
}

static void end_in(const char *cgroup, pid_t pid, bool stays) {
        int status;

        if (stays)
                (void) kill(pid, SIGKILL);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(stays || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
        for (unsigned i = 0; i < WAIT_MSEC && g_rmdir(cgroup) < 0; i++)
                g_usleep(1000);
        g_assert_false(g_file_test(cgroup, G_FILE_TEST_EXISTS));
}

static char *scope_of(const Job *job, unsigned k) {
        g_autofree char *name = g_strdup_printf(ACTOR_SCOPE_NAME, "test", k);

        return g_build_filename(job->slice, name, NULL);
}

/* Makes the slice with the use of an earlier life, and the scopes of this one. False: no cgroup can be made
 * here. */
static bool make_slice(Job *job, pid_t anchors[N_SCOPES]) {
        g_autofree char *earlier = NULL;

        if (getuid() != 0 || access(CGROUP_ROOT "/cgroup.procs", W_OK) < 0) {
                g_test_skip("no cgroup can be made here");
                return false;
        }
        job->slice = g_strdup_printf("%s/actord-test-%d.slice", CGROUP_ROOT, (int) getpid());
        g_assert_cmpint(g_mkdir(job->slice, 0755), ==, 0);
        earlier = g_build_filename(job->slice, "earlier", NULL);
        end_in(earlier, use_in(earlier, EARLIER_MSEC, false), false);
        for (unsigned k = 0; k < N_SCOPES; k++) {
                g_autofree char *scope = scope_of(job, k);

                anchors[k] = use_in(scope, 0, true);
        }
        job->cgroup = g_build_filename(job->slice, "test.scope", NULL);
        g_assert_cmpint(g_mkdir(job->cgroup, 0755), ==, 0);
        job->invoked.cgroup = INVOKER_CGROUP_SCOPE;
        job->invoked.launch.scope_each = N_SCOPES;
        g_strlcpy(job->invoked.scope_prefix, "test", sizeof(job->invoked.scope_prefix));
        return true;
}

static void remove_slice(Job *job, const pid_t anchors[N_SCOPES]) {
        g_autofree char *slice = g_steal_pointer(&job->slice);

        for (unsigned k = 0; k < N_SCOPES; k++) {
                g_autofree char *name = g_strdup_printf(ACTOR_SCOPE_NAME, "test", k),
                                *scope = g_build_filename(slice, name, NULL),
                                *anchor = g_build_filename(scope, "anchor", NULL);

                (void) kill(anchors[k], SIGKILL);
                for (unsigned i = 0; i < WAIT_MSEC && g_rmdir(anchor) < 0; i++)
                        g_usleep(1000);
                end_in(scope, anchors[k], true);
        }
        job_done(job);
        g_assert_cmpint(g_rmdir(slice), ==, 0);
}

static void test_slice(void) {
        pid_t anchors[N_SCOPES];
        const Record *ended;
        double cpu = 0;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        if (!make_slice(&job, anchors)) {
                job_done(&job);
                return;
        }
        g_assert_true(job_start(&job));
        ended = job_run(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        for (size_t i = 0; i < job.n_records; i++)
                cpu += (double) job.records[i].metered.cpu_nsec;
        g_test_message("%.1f ms in records, %.1f ms counted", cpu / 1e6,
                        (double) ended->scope_cpu_nsec / 1e6);
        g_assert_cmpuint(ended->scope_cpu_nsec, >, 0);
        g_assert_cmpfloat(fabs(cpu / (double) ended->scope_cpu_nsec - 1), <, 0.05);
        remove_slice(&job, anchors);
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_func("/report/slice", test_slice);
        return job_tests_run();
}
