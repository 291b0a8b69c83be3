/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds and loads libswmm5 into this process, and replaces some of its imports. */
#pragma once

#include <stddef.h>

/* Functions of SWMM's own interface (swmm5.h since version 5.2), and its numbers for objects and
 * properties. */
typedef struct SwmmLibrary {
        int (*open)(const char *input, const char *report, const char *output);
        int (*start)(int save_results);
        int (*step)(double *elapsed_days);
        int (*get_index)(int kind, const char *name);
        double (*get_value)(int property, int index);
        void (*set_value)(int property, int index, double value);
        int (*get_error)(char *text, int n_text);
} SwmmLibrary;

enum { SWMM_NODE = 2, SWMM_LINK = 3 };
enum { SWMM_NODE_DEPTH = 303, SWMM_NODE_OVERFLOW = 308, SWMM_LINK_SETTING = 407, SWMM_LINK_FLOW = 410 };

/* A function that the library imports, and its replacement. */
typedef struct SwmmImport {
        const char *name;
        void *instead;
} SwmmImport;

#define SWMM_RANGES_MAX 8

/* Memory with the library's variables. */
typedef struct SwmmRange {
        void *at;
        size_t n;
} SwmmRange;

/* Loads the library from the directory of Python= (fd >= 0; `python` is its name in messages), or else from
 * the linker's search path. 0; or -ENOENT, -ENOEXEC or another negative errno, after a sentence on
 * stderr. */
int library_load(const char *python, int packages_fd, const SwmmImport *imports, size_t n_imports,
                SwmmLibrary *ret, SwmmRange ret_ranges[SWMM_RANGES_MAX], size_t *ret_n_ranges);
