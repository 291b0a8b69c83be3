/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job without a daemon: plays the spawner and the daemon around the real invoker, learner and actors,
 * for tests and benches. */
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
        const char *plugin; /* NULL: a built-in environment */
        int checkpoint_fd;  /* to restore from */
        pid_t pid;
        int link, spool_fd;
        SpoolHead *spool;
        uint64_t position;
        Plan plan;
        bool greedy; /* acknowledges at once */
        Record *records;
        size_t n_records;
        int status;
} Job;

extern char programs[SIBLING_DIRECTORY_MAX];

bool programs_are_built(void);

/* tests/integration/hostile-env.c as a plugin; stays NULL where there is no compiler. */
extern char *hostile;

void compile_hostile(void);
void job_init(Job *job, uint32_t level, const char *text);

/* A cgroup as the spawner would hand it over, where root can make one. */
void job_make_cgroup(Job *job);

/* Plays the spawner. False: this machine does not give the level. */
bool job_start(Job *job);

/* Plays the daemon: connects, hears Hello. */
Hello job_connect(Job *job);
void job_send_plan(Job *job);

/* Copies the records there are. True: the last one is there. */
bool job_read(Job *job);
bool job_wait(Job *job);
void job_reap(Job *job);

/* Reads on to the last record, and acknowledges. */
const Record *job_finish(Job *job);
bool container_is_frozen(const Job *job, unsigned container);

/* Waits, since freezing takes time. A leaf that is not to be frozen has been thawed, or was never frozen,
 * when its round is over. */
bool container_becomes_frozen(const Job *job, unsigned container);

/* The usage of the job's actors so far. */
uint64_t actors_cpu_nsec(const Job *job);

/* A plugin hangs by using a processor, so that a machine which has not yet reached the loop can be told
 * from one that has. */
void wait_until_it_hangs(const Job *job, uint64_t before_nsec);
void job_done(Job *job);
void job_print_log(const Job *job);
const Record *job_run(Job *job);
unsigned job_count(const Job *job, uint32_t kind, bool wasted);
const Record *job_find(const Job *job, uint32_t kind);

/* False, and the test is skipped: this machine does not give the job's level. */
bool job_start_or_skip(Job *job);

/* With the plugin of the job's ./hostile.so. False, and the test is skipped: there is no compiler. */
bool job_init_hostile(Job *job, uint32_t level, const char *text);
gpointer level_process(void);

/* The strongest level of sandbox that this user may have. */
gpointer level_full(void);

/* Before and after the tests of a program that starts jobs. False: it says why there is nothing to test. */
bool job_tests_init(int *argc, char ***argv);
int job_tests_run(void);
void job_round(Job *job, uint64_t round, uint32_t n_actors);
