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

/* SQLite calls every failed write an I/O error, and may have lost the kernel's errno. */
static bool files_are_limited(void) {
        struct rlimit limit;

        return getrlimit(RLIMIT_FSIZE, &limit) >= 0 && limit.rlim_cur != RLIM_INFINITY;
}

const char *limit_advice(int error) {
        switch (abs(error)) {
        case EMFILE:
                return "; raise the limit of open files: RLIMIT_NOFILE (ulimit -n, LimitNOFILE= of the "
                       "unit)";
        case EIO: return files_are_limited() ? limit_advice(EFBIG) : "";
        case ENFILE: return "; raise the machine's limit of open files: sysctl fs.file-max";
        case EFBIG:
                return "; raise the limit of a file's size: RLIMIT_FSIZE (ulimit -f, LimitFSIZE= of the "
                       "unit)";
        case EAGAIN:
                return "; raise the limit of processes: RLIMIT_NPROC (ulimit -u), the cgroup's pids.max "
                       "(TasksMax= of the unit), or for a thread's stack RLIMIT_AS or RLIMIT_DATA (ulimit "
                       "-v, -d)";
        case ENOMEM:
                return "; raise the limit of memory: MemoryMax= of the job, RLIMIT_AS or RLIMIT_DATA "
                       "(ulimit -v, -d), or the cgroup's memory.max";
        default: return ""; /* not an enum of ours */
        }
}

bool limit_is_lasting(int error) {
        return abs(error) == EMFILE || abs(error) == EFBIG;
}

bool limit_may_pass(int error) {
        switch (abs(error)) {
        case ETIMEDOUT:
        case EAGAIN:
        case EBUSY:
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
        case ENOSPC:
        case EDQUOT:
        case EROFS:
        case EIO:
        case ESTALE: return true;
        default: return false; /* not an enum of ours */
        }
}

int limit_exit_status(int error) {
        switch (abs(error)) {
#define X(number, status) \
        case number: return status;
                LEARNER_LIMITS(X)
#undef X
        default: return EXIT_LEARNER_SETUP; /* not an enum of ours */
        }
}

int limit_exit_error(int status) {
        switch (status) {
#define X(number, exit_status) \
        case exit_status: return number;
                LEARNER_LIMITS(X)
#undef X
        default: return 0; /* not an enum of ours */
        }
}
