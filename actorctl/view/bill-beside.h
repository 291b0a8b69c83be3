/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comparisons beside a bill: the same rounds under other distributions, and on fleets of servers. */
#pragma once

#include "actorctl/job-status.h"
#include "actorctl/view/table.h"

typedef struct BillBeside {
        Table *estimates, *fleets; /* for programs */
        Table *known;              /* the known estimates, for people */
        bool has_estimates, has_fleets;
        /* the estimates that are not known, as lines: neighbours with the same reason share a line */
        GString *unknown;
        char *reason;      /* of the last unknown estimate */
        double serverless; /* the cost of training as functions; NaN: not known */
} BillBeside;

/* Asks for the comparisons. fleet: the only price sheet to compare with; NULL: all sheets. 0; or a negative
 * errno, with a message. */
int bill_beside_fetch(Connection *connection, const char *path, const JobStatus *job, const JobBill *bill,
                const char *fleet, BillBeside **ret);
BillBeside *bill_beside_free(BillBeside *beside);
void bill_beside_print(const BillBeside *beside, const JobBill *bill, const Options *options);
/* Adds the members "estimates", "fleets" and "serverless". */
void bill_beside_to_json(const BillBeside *beside, JsonObject *object);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BillBeside, bill_beside_free)
