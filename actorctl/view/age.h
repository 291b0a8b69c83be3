/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long ago something happened, in one short word for a table. */
#pragma once

#include <stdint.h>

#include "actorctl/view/table.h"

/* Writes the age in words into ret, and returns ret: "42 s", "7 min", "3 h", "12 d"; "": usec is 0, or is in
 * the future. Both times are since 1970. */
char *format_age(uint64_t usec, uint64_t now_usec, char ret[24]);

/* Each adds the next cell of a row. table_age() adds an age, in JSON as whole seconds; a time in the future
 * has age 0. table_time() adds a time, which is only in JSON. The JSON value is null if usec is 0. */
void table_age(Table *table, uint64_t usec, uint64_t now_usec);
void table_time(Table *table, uint64_t usec);
