/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of a job as sd-bus needs them, made from the rows of include/job-properties.h. */
#pragma once

#include <systemd/sd-bus.h>
#include "include/job-properties.h"

/* job_property_get_NAME(): appends the value of the property to reply; userdata is the Job. */
#define X(type, name, member, changes)                                                    \
        int job_property_get_##name(sd_bus *bus, const char *path, const char *interface, \
                        const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error);
JOB_PROPERTIES(X)
#undef X

/* The names of the properties that change with the job's state, and of those that change with each round:
 * lists for PropertiesChanged, terminated by NULL. */
extern const char *const job_state_properties[];
extern const char *const job_round_properties[];
