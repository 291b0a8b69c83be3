/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of Python packages in the directory of Python=. They are found without Python. */
#pragma once

#include <stddef.h>

/* The path of a package's file (as in "swmm/toolkit/libswmm5.so"), by the directory's descriptor. 0, or
 * -ENOENT. */
int package_find(int packages_fd, const char *file, char *ret, size_t n);

/* The file's text, ended with a 0. The number of its bytes, or -ENOENT, -EFBIG, or another error. */
int package_read(int packages_fd, const char *file, char *ret, size_t n);
