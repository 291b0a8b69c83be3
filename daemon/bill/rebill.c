/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nothing is multiplied here: what a second costs is asked of the price code, with a record of a thousand
 * seconds, of which no sheet rounds up much. */
#include "daemon/bill/rebill.h"

#include <assert.h>

#define SECONDS 1000u

void rebill_settings(const JobSettings *settings, JobSettings *ret) {
        assert(settings);
        assert(ret);

        *ret = *settings;
        ret->budget.currency[0] = '\0';
}

double rebill_actor_second(const PriceSheet *sheet, const JobSettings *settings) {
        JobSettings copy;
        Record record = {
                .kind = RECORD_ROLLOUT,
                .metered = { .cpu_nsec = SECONDS * 1000000000ull, .emulated_nsec = SECONDS * 1000000000ull },
        };
        Usage usage = {};
        Bill bill;

        assert(sheet);
        assert(settings);

        copy = *settings;
        copy.convention = CONVENTION_SERVERLESS;
        copy.warm_usec = 0;
        usage_add(&usage, sheet, &copy, &record);
        bill_make(&usage, sheet, &copy, &bill);
        /* Execution alone: a request is no second. */
        return bill.paper / SECONDS;
}
