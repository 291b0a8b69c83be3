/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The string tables of include/: one word for each value, used by bus, CLI, journal and SQLite alike. They
 * return NULL if a value is out of range. */
#pragma once

#include <stdint.h>

const char *plan_end_to_string(uint32_t end);
const char *record_kind_to_string(uint32_t kind);
const char *cluster_event_to_string(uint32_t kind); /* such as "pending" */
const char *fault_to_string(uint32_t fault);        /* such as "out-of-memory" */
const char *fault_sentence(uint32_t fault);         /* a printf format for Record.detail */
const char *sandbox_level_to_string(uint32_t level);
/* The sandbox level that Sandbox= demands; for auto, which demands none, the strongest level. */
uint32_t sandbox_choice_level(uint32_t choice);
const char *limit_to_string(uint32_t limit);
const char *limit_sentence(uint32_t limit);
const char *launch_step_to_string(uint32_t step);
const char *invoker_step_sentence(uint32_t step);

/* Writes "was killed by signal 9" or the like into ret, without the subject. Returns ret. */
char *fault_describe(uint32_t fault, int detail, char ret[256]);
