/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of jobs on the bus. Ended jobs come from the ledger's index, the others from the jobs themselves. */
#pragma once

#include "daemon/manager.h"

int method_list_jobs(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_list_jobs_filtered(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* GetTotals: sums over ended jobs. */
int method_get_totals(sd_bus_message *m, void *userdata, sd_bus_error *error);
