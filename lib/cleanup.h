/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every resource is declared with a cleanup attribute, which frees it at the end of its scope. TAKE_PTR() or
 * TAKE_FD() moves a resource out of its scope. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)  __attribute__((cleanup(f)))
#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))

/* For `type p` under _cleanup_(fp), where `type` is a pointer: calls f(p) unless p is NULL. */
#define DEFINE_CLEANUP(type, f)            \
        static inline void f##p(type *p) { \
                if (*p)                    \
                        f(*p);             \
        }

#define TAKE_PTR(p)                            \
        ({                                     \
                __typeof__(p) *_take = &(p);   \
                __typeof__(p) _value = *_take; \
                *_take = NULL;                 \
                _value;                        \
        })

#define TAKE_FD(fd)                  \
        ({                           \
                int *_take = &(fd);  \
                int _value = *_take; \
                *_take = -EBADF;     \
                _value;              \
        })

/* Closes a descriptor without changing errno, and returns -EBADF: `fd = close_fd(fd);` */
static inline int close_fd(int fd) {
        if (fd >= 0) {
                int saved = errno;

                (void) close(fd);
                errno = saved;
        }
        return -EBADF;
}

static inline void close_fdp(int *fd) {
        (void) close_fd(*fd);
}

static inline void freep(void *p) {
        free(*(void **) p);
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_     _cleanup_(freep)
#define _cleanup_close_    _cleanup_(close_fdp)
#define _cleanup_fclose_   _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)
