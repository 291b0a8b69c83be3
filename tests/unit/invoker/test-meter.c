/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The usage of a process: the kernel's texts are parsed, the readings add up, and the reason for the
 * process's end is found. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/record.h"
#include "include/sandbox.h"
#include "invoker/cgroup.h"
#include "invoker/divide.h"
#include "invoker/meter.h"
#include "invoker/worker.h"

static void test_cpu_stat(void) {
        uint64_t nsec = 7;

        g_assert_cmpint(cpu_stat_parse("usage_usec 123456\nuser_usec 1\nsystem_usec 2\n", &nsec), ==, 0);
        g_assert_cmpuint(nsec, ==, 123456000);
        g_assert_cmpint(cpu_stat_parse("user_usec 1\nusage_usec 5\n", &nsec), ==, 0);
        g_assert_cmpuint(nsec, ==, 5000);

        g_assert_cmpint(cpu_stat_parse("", &nsec), ==, -EBADMSG);
        g_assert_cmpint(cpu_stat_parse("core_sched.usage_usec 9\n", &nsec), ==, -EBADMSG);
        g_assert_cmpint(cpu_stat_parse("usage_usec \n", &nsec), ==, -EBADMSG);
        g_assert_cmpuint(nsec, ==, 5000);
}

static void test_status(void) {
        uint64_t bytes = 7;

        g_assert_cmpint(status_parse_peak("Name:\tVmHWM: 9 kB\nVmPeak:\t  8 kB\nVmHWM:\t    1536 kB\n",
                                        &bytes),
                        ==, 0);
        g_assert_cmpuint(bytes, ==, 1536 * 1024);
        g_assert_cmpint(status_parse_peak("Name:\tx\n", &bytes), ==, -EBADMSG);
        g_assert_cmpuint(bytes, ==, 1536 * 1024);
}

static void burn(unsigned msec) {
        struct timespec ts;

        do
                (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        while ((uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000 < msec);
}

/* Reads the CPU time of a child twice: while it sleeps, and when it is reaped. The two readings add up to
 * exactly the CPU time that it used. */
static void test_telescope(void) {
        char byte;
        Meter meter;
        uint64_t first, rest, reaped;
        int ready[2], go[2], status;
        pid_t pid;

        g_assert_cmpint(meter_init(-EBADF, &meter), ==, 0);
        g_assert_cmpint(pipe(ready), ==, 0);
        g_assert_cmpint(pipe(go), ==, 0);
        pid = fork();
        if (pid == 0) {
                burn(30);
                (void) !write(ready[1], "x", 1);
                (void) !read(go[0], &byte, 1);
                burn(50);
                _exit(0);
        }
        meter_watch(&meter, pid, -EBADF);
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        g_usleep(20000);
        first = meter_take(&meter);
        g_assert_cmpuint(first, >=, 29000000);
        g_assert_cmpuint(first, <, 45000000);
        g_assert_cmpuint(meter_take(&meter), <, 1000000);

        g_assert_cmpint(write(go[1], "x", 1), ==, 1);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        reaped = 51000000;
        rest = meter_unwatch(&meter, reaped);
        g_assert_cmpuint(first + rest, >=, reaped);
        g_assert_cmpuint(first + rest, <, reaped + 1000000);
        meter_done(&meter);
        for (int i = 0; i < 2; i++) {
                close(ready[i]);
                close(go[i]);
        }
}

static void test_peak(void) {
        const size_t bytes = 32u << 20;
        int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        Meter meter;
        uint64_t before, after;
        void *p;

        g_assert_cmpint(meter_init(-EBADF, &meter), ==, 0);
        meter_watch(&meter, getpid(), proc);
        before = meter_peak(&meter);
        if (before == 0 || meter.refs_fd < 0) {
                g_test_skip("/proc is not writable for us here");
                return;
        }
        g_assert_cmpuint(meter_peak(&meter), ==, 0); /* the last reading was too recent */
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        g_assert_true(p != MAP_FAILED);
        (void) munmap(p, bytes);
        g_usleep(PEAK_INTERVAL_NSEC / 1000 + 1);
        after = meter_peak(&meter);
        g_assert_cmpuint(after, >=, bytes);
        /* Reading the peak resets it, so the next invocation is not charged for this memory. */
        g_usleep(PEAK_INTERVAL_NSEC / 1000 + 1);
        g_assert_cmpuint(meter_peak(&meter), <, after - bytes / 2);
        meter_done(&meter);
        close(proc);
}

/* A directory that is no cgroup stands for a kernel without threaded cgroups. Then there is no meter of a
 * thread, and each thread stays where it is. */
static void test_threads_absent(void) {
        g_autofree char *path = g_dir_make_tmp("test-meter-XXXXXX", NULL);
        int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        Leaf leaf = { .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        const Leaf none = LEAF_EMPTY;
        ThreadMeters meters = {};

        g_assert_cmpint(thread_meters_init(&leaf, proc, getpid(), 1, &meters), ==, -ENOENT);
        g_assert_cmpint(thread_meters_init(&leaf, proc, getpid(), 2, &meters), ==, -ESRCH);
        g_assert_cmpint(thread_meters_init(&none, proc, getpid(), 1, &meters), ==, -EOPNOTSUPP);
        g_assert_cmpuint(meters.n, ==, 0);
        thread_meters_done(&meters, &leaf);
        close(leaf.fd);
        close(proc);
        g_assert_cmpint(rmdir(path), ==, 0);
}

static void test_divide(void) {
        uint64_t claims[] = { 1, 7, 3, CLAIM_NONE, 0, 9, CLAIM_NONE - 1, 5, 0, 0 };

        /* Divides the reading by the claims with even indices. An actor cannot claim more than was read, and
         * the whole reading is divided. */
        divide_reading(1000, 0, 2, 10, claims);
        g_assert_cmpuint(claims[0] + claims[2] + claims[4] + claims[6] + claims[8], ==, 1000);
        g_assert_cmpuint(claims[6], >=, 999);
        /* Divides by the claims with odd indices. Claim 3 is CLAIM_NONE, so it gets no part. */
        divide_reading(2100, 1, 2, 10, claims);
        g_assert_cmpuint(claims[1], ==, 700);
        g_assert_cmpuint(claims[3], ==, CLAIM_NONE);
        g_assert_cmpuint(claims[5], ==, 900);
        g_assert_cmpuint(claims[7], ==, 500);
        g_assert_cmpuint(claims[9], ==, 0);

        memset(claims, 0, sizeof(claims));
        divide_reading(100, 0, 4, 10, claims);
        g_assert_cmpuint(claims[0], ==, 33);
        g_assert_cmpuint(claims[4], ==, 33);
        g_assert_cmpuint(claims[8], ==, 34);
        g_assert_cmpuint(claims[1], ==, 0);
}

static void test_cpuset(void) {
        setting_cpuset cpus = {};
        char text[128];

        g_assert_cmpuint(cpuset_print(&cpus, text, sizeof(text)), ==, 0);
        g_assert_cmpstr(text, ==, "");
        cpus.words[0] = 0x10f;
        g_assert_cmpuint(cpuset_print(&cpus, text, sizeof(text)), ==, 5);
        g_assert_cmpstr(text, ==, "0-3,8");
        cpus.words[0] = 1ull << 63;
        cpus.words[1] = 1;
        cpus.words[15] = 1ull << 63;
        (void) cpuset_print(&cpus, text, sizeof(text));
        g_assert_cmpstr(text, ==, "63-64,1023");
        /* Too little room: a number is printed whole or not at all. */
        (void) cpuset_print(&cpus, text, 7);
        g_assert_cmpstr(text, ==, "63-64");
}

static void check_ended(
                int code, int status, uint32_t failed, OutOfMemory memory, uint32_t fault, int32_t detail) {
        uint32_t got;
        int32_t got_detail;

        ended_classify(code, status, failed, memory, &got, &got_detail);
        g_assert_cmpuint(got, ==, fault);
        g_assert_cmpint(got_detail, ==, detail);
}

/* An actor may claim only faults of its own. It may not claim that it was killed from outside, since such a
 * fault would not use up a retry. */
static void test_claims(void) {
        for (uint32_t fault = 0; fault <= _FAULT_MAX; fault++) {
                const Answer answer = { .fault = fault };
                bool own = fault == FAULT_NONE || fault == FAULT_LOAD || fault == FAULT_SPEC ||
                           fault == FAULT_ENVIRONMENT || fault == FAULT_DATASET || fault == FAULT_INTERNAL;

                g_assert_cmpuint(answer_claim(&answer), ==, own ? fault : FAULT_ANSWER);
        }
}

static void test_ended(void) {
        const OutOfMemory none = {};

        check_ended(CLD_EXITED, 0, 0, none, FAULT_EXITED, 0);
        check_ended(CLD_EXITED, 3, 0, none, FAULT_EXITED, 3);
        check_ended(CLD_EXITED, 200, 1 + SANDBOX_STEP_cgroup, none, FAULT_SANDBOX, SANDBOX_STEP_cgroup);
        check_ended(CLD_EXITED, 209, 1 + SANDBOX_STEP_seccomp, none, FAULT_SANDBOX, SANDBOX_STEP_seccomp);
        /* A plugin can exit with any status, so these statuses do not prove that a sandbox step failed. */
        check_ended(CLD_EXITED, 200, 0, none, FAULT_EXITED, 200);
        check_ended(CLD_EXITED, 200, 1 + _SANDBOX_STEP_MAX, none, FAULT_EXITED, 200);
        check_ended(CLD_EXITED, EXIT_ENVIRONMENT_LOAD, 0, none, FAULT_LOAD, ENOEXEC);
        check_ended(CLD_EXITED, EXIT_ABORTED, 0, none, FAULT_KILLED, SIGABRT);
        check_ended(CLD_KILLED, SIGSEGV, 0, none, FAULT_KILLED, SIGSEGV);
        check_ended(CLD_KILLED, SIGKILL, 0, none, FAULT_KILLED, SIGKILL);
        check_ended(CLD_KILLED, SIGKILL, 0, (OutOfMemory){ .n_limit = 3, .n_kills = 2 }, FAULT_MEMORY, 2);
        /* Its own limit had room: the host, or a cgroup above the leaf, had none. */
        check_ended(CLD_KILLED, SIGKILL, 0, (OutOfMemory){ .n_kills = 1 }, FAULT_HOST_MEMORY, 1);
        check_ended(CLD_DUMPED, SIGSYS, 0, none, FAULT_SYSCALL, SIGSYS);
        check_ended(CLD_KILLED, SIGSYS, 0, (OutOfMemory){ .n_limit = 1, .n_kills = 1 }, FAULT_SYSCALL,
                        SIGSYS);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/meter/cpu-stat", test_cpu_stat);
        g_test_add_func("/meter/status", test_status);
        g_test_add_func("/meter/telescope", test_telescope);
        g_test_add_func("/meter/peak", test_peak);
        g_test_add_func("/threads/absent", test_threads_absent);
        g_test_add_func("/threads/divide", test_divide);
        g_test_add_func("/cgroup/cpuset", test_cpuset);
        g_test_add_func("/worker/ended", test_ended);
        g_test_add_func("/worker/claims", test_claims);
        return g_test_run();
}
