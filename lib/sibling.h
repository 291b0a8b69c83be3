/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds actord's other files beside the running program, so that a build tree works like an installation. */
#pragma once

#include <stdbool.h>

enum { SIBLING_DIRECTORY_MAX = 240, DATA_PATH_MAX = 4096 };

/* The directory of /proc/self/exe, without a slash at its end (except for the root), where sibling programs
 * and modules are. 0; or a negative errno, such as -ENAMETOOLONG. */
int sibling_directory(char ret[SIBLING_DIRECTORY_MAX]);

/* Whether the running program's file was removed or replaced since the program started. Then its sibling
 * programs may be of another build. */
bool sibling_replaced(void);

/* A data file: in `share` beside the program if that exists (a build tree), else in the installed data
 * directory. */
int data_path(const char *name, char ret[DATA_PATH_MAX]);
