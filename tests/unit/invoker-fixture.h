/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a job without a daemon, for tests and benches: this file plays the spawner and the daemon for the
 * real invoker, learner and actors. */
#pragma once

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/launch.h"
#include "include/plan.h"
#include "include/record.h"
#include "include/sandbox.h"
#include "include/turn.h"
#include "lib/fd.h"
#include "lib/settings/settings.h"
#include "lib/sibling.h"
#include "lib/string-tables.h"

#define CGROUP_ROOT "/sys/fs/cgroup/unified"

enum { UID_FIRST = 300000, N_UIDS = 65536, WAIT_MSEC = 30000, RECORDS_MAX = 16384 };

typedef struct Job {
        Invoked invoked;
        JobSettings settings;
        char *directory;    /* its state, and its socket */
        char *cgroup;       /* NULL: none */
        char *slice;        /* the cgroup around those of ActorScope=each; NULL: none */
        const char *plugin; /* NULL: a built-in environment */
        int checkpoint_fd;  /* to restore from */
        /* called in the process that becomes the invoker, as the last step; NULL: nothing is */
        void (*before_exec)(void);
        pid_t pid;
        int link, spool_fd;
        SpoolHead *spool;
        uint64_t position;
        Plan plan;
        bool greedy; /* acknowledges records at once */
        Record *records;
        size_t n_records;
        int status;
} Job;

extern char programs[SIBLING_DIRECTORY_MAX];

bool programs_are_built(void);

/* the path of tests/integration/hostile-env.c, compiled as a plugin; NULL: there is no compiler */
extern char *hostile;

void compile_hostile(void);
void job_init(Job *job, uint32_t level, const char *text);

/* Makes a cgroup for the job, as the spawner would hand it over, if root can make one here. */
void job_make_cgroup(Job *job);

/* Starts the invoker as the spawner does. False: this machine cannot give the job's sandbox level. */
bool job_start(Job *job);

/* Plays the daemon's part: connects to the invoker and receives its Hello. */
Hello job_connect(Job *job);
void job_send_plan(Job *job);

/* Copies the records that the invoker has written to the spool. True: the job's last record is among
 * them. */
bool job_read(Job *job);
bool job_wait(Job *job);
void job_reap(Job *job);

/* Reads the records up to the job's last one, acknowledges them, and returns the last one. */
const Record *job_finish(Job *job);
bool container_is_frozen(const Job *job, unsigned container);

/* Waits until the container's cgroup is frozen, since freezing takes time. False: it was not frozen in
 * WAIT_MSEC. Thawing needs no wait: it is done when the round is over. */
bool container_becomes_frozen(const Job *job, unsigned container);

/* Waits for the page of the invoker's worker with this name, and maps it. NULL: this user may not take
 * descriptors of another process. */
WorkerPage *job_take_page(const Job *job, const char *worker, uint64_t bytes);

/* The CPU time that the job's actors have used so far. */
uint64_t actors_cpu_nsec(const Job *job);

/* Waits until the job's plugin hangs. It hangs by using a CPU, so its CPU time shows that it has reached the
 * endless loop. */
void wait_until_it_hangs(const Job *job, uint64_t before_nsec);
void job_done(Job *job);
void job_print_log(const Job *job);
const Record *job_run(Job *job);
unsigned job_count(const Job *job, uint32_t kind, bool wasted);
const Record *job_find(const Job *job, uint32_t kind);

/* Like job_start(). If this machine cannot give the job's sandbox level, the test is marked as skipped, and
 * false is returned. */
bool job_start_or_skip(Job *job);

/* Makes a job whose environment is the plugin ./hostile.so. False: the test is skipped, since there is no
 * compiler. */
bool job_init_hostile(Job *job, uint32_t level, const char *text);
gpointer level_process(void);

/* The strongest level of sandbox that this user may have. */
gpointer level_full(void);

/* Call these before and after the tests of a program that starts jobs. False: there is nothing to test here,
 * and the reason was printed. */
bool job_tests_init(int *argc, char ***argv);
int job_tests_run(void);
void job_round(Job *job, uint64_t round, uint32_t n_actors);
