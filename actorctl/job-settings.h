/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The settings of a job as rows of text (GetSettings). */
#pragma once

#include <glib.h>

#include "actorctl/bus.h"

typedef struct JobSetting {
        char *section, *key, *value;
        bool given; /* the key was set, perhaps to its default */
} JobSetting;

/* An array of JobSetting, in the order of job files. 0; or a negative errno, with a message. called: the
 * job's name for messages. */
int job_settings_fetch(Connection *connection, const char *path, const char *called, GArray **ret);
/* Like job_settings_fetch(), but asks only once and prints no message: the daemon may refuse. */
int job_settings_ask(Connection *connection, const char *path, GArray **ret);
