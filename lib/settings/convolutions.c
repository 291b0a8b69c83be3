/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/settings/convolutions.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>

static int refuse(char **ret_reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char **ret_reason, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        *ret_reason = g_strdup_vprintf(format, ap);
        va_end(ap);
        return -EINVAL;
}

/* Reads a whole number from lowest to highest at *p, and moves *p past it. */
static bool take_number(const char **p, uint32_t lowest, uint32_t highest, uint32_t *ret) {
        char *end;
        guint64 n;

        if (!g_ascii_isdigit(**p))
                return false;
        n = g_ascii_strtoull(*p, &end, 10);
        if (n < lowest || n > highest)
                return false;
        *p = end;
        *ret = (uint32_t) n;
        return true;
}

/* "32x8/4+2": 32 channels, kernels of 8 by 8, a stride of 4, a padding of 2 zeros. "/4" and "+2" are
 * optional; without them the stride is 1 and the padding 0. */
static bool take_convolution(const char *p, uint32_t *ret_channels, uint32_t *ret_kernel,
                uint32_t *ret_stride, uint32_t *ret_padding) {
        *ret_stride = 1;
        *ret_padding = 0;
        if (!take_number(&p, 1, CONVOLUTION_CHANNELS_MAX, ret_channels) || *p++ != 'x' ||
                        !take_number(&p, 1, CONVOLUTION_SIDE_MAX, ret_kernel))
                return false;
        if (*p == '/') {
                p++;
                if (!take_number(&p, 1, CONVOLUTION_SIDE_MAX, ret_stride))
                        return false;
        }
        if (*p == '+') {
                p++;
                if (!take_number(&p, 0, *ret_kernel - 1, ret_padding))
                        return false;
        }
        return *p == '\0';
}

int convolutions_parse(const char *text, setting_convolutions *ret, char **ret_reason) {
        g_auto(GStrv) parts = g_strsplit_set(text, " \t,", -1);
        setting_convolutions list = {};

        for (char **part = parts; *part; part++) {
                if (**part == '\0')
                        continue;
                if (list.n >= CONVOLUTIONS_MAX)
                        return refuse(ret_reason, "more than %u layers", CONVOLUTIONS_MAX);
                if (!take_convolution(*part, &list.layers[list.n].channels, &list.layers[list.n].kernel,
                                    &list.layers[list.n].stride, &list.layers[list.n].padding))
                        return refuse(ret_reason,
                                        "`%s` is not CHANNELSxKERNEL/STRIDE+PADDING, as in 32x8/4 or "
                                        "16x8/4+2, with at most %u channels, kernels and strides of at most "
                                        "%u, and less padding than kernel",
                                        *part, CONVOLUTION_CHANNELS_MAX, CONVOLUTION_SIDE_MAX);
                list.n++;
        }
        if (list.n == 0)
                return refuse(ret_reason, "not a list of CHANNELSxKERNEL/STRIDE, as in 32x8/4 64x4/2");
        *ret = list;
        return 0;
}
