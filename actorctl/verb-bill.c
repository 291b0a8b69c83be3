/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bill: both totals, every kind of charge, both clocks; and what it would have been elsewhere. */
#include <stdio.h>

#include "actorctl/bill-beside.h"
#include "actorctl/job-status.h"
#include "actorctl/pager.h"
#include "actorctl/table.h"

static void print(const Options *options, const JobStatus *job, const JobBill *bill,
                const BillBeside *beside) {
        char wall[32], emulated[32];

        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = job_bill_to_json(bill);
                JsonObject *object = json_node_get_object(node);

                json_object_set_member(object, "job", json_unsigned(job->id));
                json_object_set_member(object, "wall_s", json_real((double) job->wall_nsec / 1e9));
                json_object_set_member(object, "emulated_s", json_real((double) job->emulated_nsec / 1e9));
                json_object_set_member(object, "lives_unmetered", json_unsigned(job->n_lives_unmetered));
                bill_beside_to_json(beside, object);
                json_print(node, options->json);
                return;
        }
        job_bill_print(bill, options);
        job_unmetered_print(job);
        printf("time: %s on this host, %s on the emulated fleet\n", format_duration(job->wall_nsec, wall),
                        format_duration(job->emulated_nsec, emulated));
        bill_beside_print(beside, bill, options);
}

ExitStatus verb_bill(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autoptr(JobBill) bill = NULL;
        g_autoptr(BillBeside) beside = NULL;
        g_autofree char *path = NULL;
        JobStatus job;
        ExitStatus status = STATUS_FAILED;

        if (job_path(arguments[0], NULL, &path) < 0)
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        job_status_init(&job);
        if (job_status_fetch(&job, connection, path) >= 0 && job_bill_fetch(connection, path, &bill) >= 0 &&
                        bill_beside_fetch(connection, path, &job, bill, options->fleet, &beside) >= 0) {
                pager_open(options);
                print(options, &job, bill, beside);
                pager_close();
                status = STATUS_OK;
        }
        job_status_done(&job);
        return status;
}
