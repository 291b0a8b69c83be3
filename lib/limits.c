/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "include/sandbox.h"
#include "lib/cleanup.h"

enum { FILE_BYTES_MIN = 8 << 20 };

void limits_prepare(void) {
        static const int resources[] = { RLIMIT_NOFILE, RLIMIT_FSIZE };
        struct rlimit limit;

        for (size_t i = 0; i < ELEMENTSOF(resources); i++) {
                if (getrlimit(resources[i], &limit) < 0)
                        continue;
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(resources[i], &limit);
        }
        (void) signal(SIGXFSZ, SIG_IGN);
}

int limits_check_file_size(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= FILE_BYTES_MIN)
                return 0;
        return -EFBIG;
}

static bool is_limited(int resource) {
        struct rlimit limit;

        return getrlimit((__rlimit_resource_t) resource, &limit) >= 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool limit_of_memory_is_set(void) {
        return is_limited(RLIMIT_DATA) || is_limited(RLIMIT_AS);
}

#define OR_OF_THE_JOB ", or MemoryMax= of the job"
#define OR_PROCESSES  ", or of processes: RLIMIT_NPROC (ulimit -u) or pids.max (TasksMax= of the unit)"

/* Advice that names the limits of memory that are set; if none is set, it names all of them. */
static const char *memory_advice(void) {
        bool data = is_limited(RLIMIT_DATA), addresses = is_limited(RLIMIT_AS);

        if (data && addresses)
                return "; raise the limits of memory: RLIMIT_AS and RLIMIT_DATA "
                       "(ulimit -v, -d)" OR_OF_THE_JOB;
        if (data)
                return "; raise the limit of data: RLIMIT_DATA (ulimit -d)" OR_OF_THE_JOB;
        if (addresses)
                return "; raise the limit of address space: RLIMIT_AS (ulimit -v)" OR_OF_THE_JOB;
        return "; raise the limit of memory: MemoryMax= of the job, RLIMIT_AS or RLIMIT_DATA "
               "(ulimit -v, -d), or the cgroup's memory.max";
}

/* Advice when a process or thread could not be started. It also names limits of memory, since a thread needs
 * a stack. */
static const char *process_advice(void) {
        if (is_limited(RLIMIT_AS))
                return "; raise the limit of address space: RLIMIT_AS (ulimit -v)" OR_PROCESSES;
        if (is_limited(RLIMIT_DATA))
                return "; raise the limit of data: RLIMIT_DATA (ulimit -d)" OR_PROCESSES;
        return "; raise the limit of processes: RLIMIT_NPROC (ulimit -u), or the cgroup's pids.max "
               "(TasksMax= of the unit)";
}

const char *limit_advice(int error) {
        switch (abs(error)) {
        case EMFILE:
                return "; raise the limit of open files: RLIMIT_NOFILE (ulimit -n, LimitNOFILE= of the "
                       "unit)";
        /* For SQLite every failed write is an I/O error, and the kernel's errno may be lost. */
        case EIO: return is_limited(RLIMIT_FSIZE) ? limit_advice(EFBIG) : "";
        case ENFILE: return "; raise the machine's limit of open files: sysctl fs.file-max";
        case EFBIG:
                return "; raise the limit of a file's size: RLIMIT_FSIZE (ulimit -f, LimitFSIZE= of the "
                       "unit)";
        case EAGAIN: return process_advice();
        case ENOMEM: return memory_advice();
        default: return ""; /* any other errno */
        }
}

const char *limit_signal_advice(int number) {
        if (number == SIGXCPU)
                return "; raise the limit of CPU time: RLIMIT_CPU (ulimit -t)";
        if (number == SIGKILL && is_limited(RLIMIT_CPU))
                return "; it may have reached the limit of CPU time: raise RLIMIT_CPU (ulimit -t)";
        return "";
}

bool limit_is_lasting(int error) {
        switch (abs(error)) {
        case EMFILE:
        case EFBIG: return true;
        case ENOMEM: return limit_of_memory_is_set();
        default: return false; /* any other errno */
        }
}

bool limit_is_of_host(int error) {
        switch (abs(error)) {
        case EAGAIN:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
        case ENOSPC:
        case EDQUOT:
        case EROFS:
        case EIO: return true;
        default: return false; /* any other errno */
        }
}

bool limit_may_pass(int error) {
        switch (abs(error)) {
        case ETIMEDOUT:
        case EBUSY:
        case EMFILE:
        case ESTALE: return true;
        default: return limit_is_of_host(error); /* any other errno */
        }
}

bool limit_is_momentary(int error) {
        switch (abs(error)) {
        case EAGAIN:
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ETIMEDOUT: return true;
        default: return false; /* any other errno */
        }
}

int limit_exit_status(int error) {
        switch (abs(error)) {
#define X(number, status) \
        case number: return status;
                LEARNER_LIMITS(X)
#undef X
        default: return EXIT_LEARNER_SETUP; /* any other errno */
        }
}

int limit_exit_error(int status) {
        switch (status) {
#define X(number, exit_status) \
        case exit_status: return number;
                LEARNER_LIMITS(X)
#undef X
        default: return 0; /* any other exit status */
        }
}
