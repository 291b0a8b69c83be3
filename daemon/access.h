/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rights of callers. In run mode there is one caller, who may do everything. In user mode the session's
 * owner may do everything. In system mode root and a job's owner may do everything with the job, and polkit
 * may allow this to other users. */
#pragma once

#include <glib.h>
#include "daemon/job-context.h"

#define ACTION_SUBMIT "org.actord1.submit-job"
#define ACTION_MANAGE "org.actord1.manage-jobs"

typedef struct Lines Lines;
typedef struct Senders Senders;

typedef struct Access {
        const JobContext *context;
        Lines *lines;
        Senders *senders;    /* name on the bus → user */
        GHashTable *queries; /* message → AccessQuery */
} Access;

void access_init(Access *access, const JobContext *context, Lines *lines);
void access_done(Access *access);

/* Gets the user id of the call's sender. */
int access_uid(Access *access, sd_bus_message *message, uint32_t *ret, sd_bus_error *error);

/* Whether the sender may do `action`. 1: allowed. 0: the call waits for its turn or for polkit's answer;
 * then `handler` is called again with the same message (the caller returns 1 now). Negative: refused, error
 * is set. owner: the job's owner, or the sender if the job is new. */
int access_check(Access *access, sd_bus_message *message, const char *action, uint32_t owner,
                sd_bus_message_handler_t handler, sd_bus_error *error);

/* Does the work of access_check() for a method of a job. The table in daemon/audience.h says who may call
 * it. */
int access_job(Job *job, sd_bus_message *message, sd_bus_message_handler_t handler, sd_bus_error *error);

/* Whether the sender may see the whole job without a question to polkit. The job's owner and root may, and
 * so may every caller of a daemon that serves one user. */
int access_owns(Job *job, sd_bus_message *message, sd_bus_error *error);
