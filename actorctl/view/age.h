/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long ago something was, in one short word for a table. */
#pragma once

#include <stdint.h>

/* "42 s", "7 min", "3 h", "12 d"; "": usec is 0, or lies ahead. Both since 1970. Into ret, returns ret. */
char *format_age(uint64_t usec, uint64_t now_usec, char ret[24]);
