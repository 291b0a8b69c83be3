/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library to preload: the first CLONE_TIMES calls of clone3() that ask for a user namespace fail with the
 * error CLONE_ERROR. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuses(const uint64_t *flags) {
        static int n_refused;

        return *flags & 0x10000000 /* CLONE_NEWUSER */ && n_refused++ < atoi(getenv("CLONE_TIMES"));
}

long syscall(long number, ...) {
        long (*call)(long, ...) = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall"), a[6];
        va_list ap;

        va_start(ap, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);
        if (number == SYS_clone3 && refuses((const uint64_t *) a[0])) {
                errno = atoi(getenv("CLONE_ERROR"));
                return -1;
        }
        return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
