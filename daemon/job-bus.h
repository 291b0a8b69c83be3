/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.actord1.Job: its methods and signals. */
#pragma once

#include "daemon/job.h"

extern const sd_bus_vtable job_vtable[];

/* Announces the changes that job_changed() noted: at once with JOB_CHANGE_NOW, otherwise
 * CHANGES_INTERVAL_USEC later, so that many changes need one signal. */
void job_say_changes(Job *job);

/* Stops the job as the caller of this message asked, and answers. */
int job_stop_for(sd_bus_message *m, Job *job, sd_bus_error *error);

/* decisions-bus.c */
int method_get_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_check_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* bill-bus.c */
int method_get_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_bill_under(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_estimates(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_beside(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_fleets(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_scheduler_bill(sd_bus_message *m, void *userdata, sd_bus_error *error);
