/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetSchedulerBill: what it cost to learn what a job's scheduler knows, which a bill that is cheaper by it should stand beside. A
 * training that began with another one's network owes it to that one, too. */
#include "daemon/job.h"

#include <string.h>
#include "include/minions.h"

int method_get_scheduler_bill(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        MinionsModel model = {};

        /* Checked when the job was accepted. */
        if (scheduler_has(job->settings.scheduler.kind, TRAIT_TAKES_TRAINED) &&
                        job->row.n_scheduler_data >= sizeof(model))
                memcpy(&model, job->row.scheduler_data, sizeof(model));
        return sd_bus_reply_method_return(m, "ssttssdd", model.job, model.environment,
                        model.start_episodes + model.n_episodes, model.start_wall_nsec + model.wall_nsec,
                        model.currency, model.price_sheet, model.start_paper + model.cost_paper,
                        model.start_full + model.cost_full);
}
