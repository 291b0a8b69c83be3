/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of Python packages in the directory of Python=. They are found without Python. */
#pragma once

#include <stddef.h>

/* Finds the path of a package's file (such as "swmm/toolkit/libswmm5.so"). The path uses the directory's
 * descriptor or, without a /proc, the place where the directory is mounted. 0, or -ENOENT. */
int package_find(int packages_fd, const char *file, char *ret, size_t n);

/* Reads the file's text, and appends a 0. Returns the number of bytes, or -ENOENT, -EFBIG or another
 * error. */
int package_read(int packages_fd, const char *file, char *ret, size_t n);
