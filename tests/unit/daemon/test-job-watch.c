/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The deadline of a job's invoker: what happens when it passes, and which clock counts it. */
#include "daemon/job-watch.h"

#include <glib.h>
#include <time.h>

#define PATIENCE_USEC (60ull * 1000 * 1000)

typedef struct Fixture {
        JobContext context;
        Job job;
} Fixture;

/* A job whose invoker is gone, in a daemon without a bus and a ledger. */
static void open_fixture(Fixture *f) {
        *f = (Fixture){ .job = { .pid_fd = -EBADF, .stderr_fd = -EBADF, .context = &f->context } };
        g_assert_cmpint(sd_event_new(&f->context.event), ==, 0);
}

static void close_fixture(Fixture *f) {
        job_forget_work(&f->job);
        job_life_clear(&f->job);
        f->context.event = sd_event_unref(f->context.event);
}

/* After the deadline the life is over, for the reason that was given with the newest deadline. */
static void test_passes(void) {
        Fixture f;

        open_fixture(&f);
        job_arm_deadline(&f.job, 1000 * PATIENCE_USEC, "an earlier one");
        job_arm_deadline(&f.job, 0, "it did not start");
        g_assert_cmpint(sd_event_run(f.context.event, PATIENCE_USEC), >, 0);
        g_assert_cmpstr(f.job.life_error, ==, "it did not start");
        g_assert_true(f.job.link_over && f.job.exited);
        g_assert_true(jobs_next_work(&f.context.jobs) == &f.job);
        close_fixture(&f);
}

/* CLOCK_MONOTONIC stands still while the host sleeps. With another clock a host that wakes up would at once
 * kill an invoker that writes its last checkpoint. */
static void test_sleep(void) {
        clockid_t clock = CLOCK_BOOTTIME;
        Fixture f;

        open_fixture(&f);
        job_arm_deadline(&f.job, PATIENCE_USEC, NULL);
        g_assert_cmpint(sd_event_source_get_time_clock(f.job.deadline, &clock), >=, 0);
        g_assert_cmpint(clock, ==, CLOCK_MONOTONIC);
        close_fixture(&f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/job-watch/passes", test_passes);
        g_test_add_func("/job-watch/sleep", test_sleep);
        return g_test_run();
}
