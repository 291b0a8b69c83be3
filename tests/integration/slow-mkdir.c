/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library to preload: mkdir() returns late, so that other programs have time to see the new directory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_USEC 300000

int mkdir(const char *path, mode_t mode) {
        int (*make)(const char *, mode_t) = (int (*)(const char *, mode_t)) dlsym(RTLD_NEXT, "mkdir");
        int r = make(path, mode);

        usleep(WAIT_USEC);
        return r;
}
