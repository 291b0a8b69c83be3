/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bills usage by another price sheet or convention. daemon/bill/price.c computes each bill. */
#include "daemon/bill/compare.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/bill/price-private.h"

/* The cost of a second is the price of a long record divided by its length. The record is so long that
 * rounding up hardly matters. */
#define SECONDS 1000u

void rebill_settings(const JobSettings *settings, JobSettings *ret) {
        assert(settings);
        assert(ret);

        *ret = *settings;
        ret->budget.currency[0] = ret->cost_alert.currency[0] = '\0';
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
        /* The paper total is the cost of execution alone. It leaves out the price of a request, which does
         * not depend on time. */
        return bill.paper / SECONDS;
}

#define HOUR_NSEC (3600ull * 1000 * 1000 * 1000)

void rebill_by(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, uint32_t convention,
                Bill *ret) {
        JobSettings copy;

        assert(settings);

        copy = *settings;
        copy.convention = convention;
        bill_make(usage, sheet, &copy, ret);
}

/* The bill of a fleet that exists for nsec. */
static void fleet_bill(uint64_t nsec, const PriceSheet *fleet, const JobSettings *settings, Bill *ret) {
        rebill_by(&(Usage){ .emulated_nsec = nsec }, fleet, settings, CONVENTION_SERVER, ret);
}

double fleet_serverless(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings) {
        Bill bill;

        assert(usage);
        assert(sheet);
        assert(settings);

        rebill_by(usage, sheet, settings, CONVENTION_SERVERLESS, &bill);
        return bill.training;
}

/* The duty cycle above which functions cost more than the fleet. It is computed from the paper total, which
 * is without start-up: a fleet that is kept between jobs starts only once. */
static double even_at(const Bill *bill, double serverless) {
        return serverless > 0 && bill->paper > 0 ? bill->paper / serverless : NAN;
}

void fleet_make(const Usage *usage, double serverless, const PriceSheet *fleet, const JobSettings *settings,
                Fleet *ret) {
        Bill hour, emulated, wall;

        assert(usage);
        assert(fleet);
        assert(settings);
        assert(ret);

        fleet_bill(HOUR_NSEC, fleet, settings, &hour);
        fleet_bill(usage->emulated_nsec, fleet, settings, &emulated);
        fleet_bill(usage->wall_nsec, fleet, settings, &wall);
        *ret = (Fleet){
                .hour = hour.paper,
                .emulated = emulated.full,
                .wall = wall.full,
                .even_emulated = even_at(&emulated, serverless),
                .even_wall = even_at(&wall, serverless),
        };
}

int fleet_check(const PriceSheet *sheet, const PriceSheet *fleet, const JobSettings *settings,
                char **ret_message) {
        assert(sheet);
        assert(fleet);
        assert(ret_message);

        if (!price_sheet_has_servers(fleet))
                *ret_message = g_strdup_printf("the price sheet %s names no servers", fleet->name);
        else if (strcmp(sheet->currency, fleet->currency) != 0)
                *ret_message = g_strdup_printf("the fleet %s is priced in %s, and this bill is in %s",
                                fleet->name, fleet->currency, sheet->currency);
        else
                return price_sheet_check_places(fleet, settings, ret_message);
        return -EINVAL;
}

static void add_servers(GString *s, double n, const char *instance) {
        if (n > 0)
                g_string_append_printf(s, "%s%.0f %s", s->len > 0 ? ", " : "", n,
                                instance && *instance ? instance : "servers");
}

char *fleet_servers(const PriceSheet *fleet, const JobSettings *settings) {
        GString *s = g_string_new(NULL);

        assert(fleet);
        assert(settings);

        if (fleet->learner_hour > 0)
                add_servers(s, fleet->learner_count, fleet->learner_instance);
        if (fleet->actors_hour > 0)
                add_servers(s,
                                fleet->actors_count > 0 ? fleet->actors_count
                                                        : ceil(settings_actors_max(settings) /
                                                                          fleet->actors_functions),
                                fleet->actors_instance);
        return g_string_free(s, FALSE);
}
