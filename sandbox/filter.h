/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins a seccomp filter. */
#pragma once

#include <errno.h>
#include <seccomp.h>

static inline void filter_release(scmp_filter_ctx *filter) {
        seccomp_release(*filter);
}
#define _cleanup_filter_ _cleanup_(filter_release)

/* Makes a filter. otherwise: the action for calls that no rule names. */
static inline int filter_new(uint32_t otherwise, scmp_filter_ctx *ret) {
        scmp_filter_ctx filter = seccomp_init(otherwise);
        int r;

        if (!filter)
                return -ENOMEM;
        /* Sorts the rules into a tree, not a list: a few comparisons decide each call. */
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        if (r < 0) {
                seccomp_release(filter);
                return r;
        }
        *ret = filter;
        return 0;
}
