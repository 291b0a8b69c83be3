/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For LD_PRELOAD: the clock of a program is an hour late. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LATE_SECONDS = 3600 };

time_t time(time_t *ret) {
        struct timespec now;
        time_t t;

        (void) syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        t = now.tv_sec - LATE_SECONDS;
        if (ret)
                *ret = t;
        return t;
}
