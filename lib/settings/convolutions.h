/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses Convolutions=: "32x8/4 64x4/2" is 32 channels with kernels of 8 by 8 and stride 4, then 64 channels
 * with kernels of 4 by 4 and stride 2. */
#pragma once

#include "include/settings.h"

/* 0; or -EINVAL with *ret_reason, a sentence without a subject, g_free(). */
int convolutions_parse(const char *text, setting_convolutions *ret, char **ret_reason);
