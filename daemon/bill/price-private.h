/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A price sheet as plain numbers, between its parser (price-sheet.c) and the arithmetic (price.c). */
#pragma once

#include "daemon/bill/price.h"

/* X(section, key, member, highest, help): every number that a price sheet may contain. A missing number is
 * 0: not billed. */
#define PRICE_RATES(X)                                                                                     \
        X(Execution, GranularityMSec, granularity_msec, 1e9,                                               \
                        "each invocation's duration is rounded up to this")                                \
        X(Execution, GBSecond, gb_second, 1e6, "price of 2^30 bytes allocated for a second")               \
        X(Execution, VCPUSecond, vcpu_second, 1e6, "price of a vCPU allocated for a second")               \
        X(Execution, VCPUStep, vcpu_step, 1e3,                                                             \
                        "allocations are rounded up to multiples of this many vCPUs")                      \
        X(Execution, Request, request, 1e6, "price of an invocation as such")                              \
        X(Provisioned, GBSecond, provisioned_gb_second, 1e6, "price of 2^30 bytes kept warm for a second") \
        X(Provisioned, VCPUSecond, provisioned_vcpu_second, 1e6, "price of a vCPU kept warm for a second") \
        X(Nodes, BillingSecond, billing_second, 1e6,                                                       \
                        "price of a cluster's billing unit for a second, in place of vCPUs and memory")    \
        X(Network, GB, network_gb, 1e6, "price of 2^30 bytes between hosts")                               \
        X(Energy, KWh, kwh, 1e6, "price of a kilowatt-hour")                                               \
        X(Energy, WattsPerCore, watts_per_core, 1e6,                                                       \
                        "watts that a core draws while it computes, all "                                  \
                        "losses included")                                                                 \
        X(Learner, PerHour, learner_hour, 1e6, "price of a learner's server")                              \
        X(Learner, Count, learner_count, 1e6, "servers of this kind")                                      \
        X(Learner, Functions, learner_functions, 1e6, "learner functions that share one server")           \
        X(Actors, PerHour, actors_hour, 1e6, "price of an actors' server")                                 \
        X(Actors, Count, actors_count, 1e6, "servers of this kind; 0: as many as MaxActors= needs")        \
        X(Actors, Functions, actors_functions, 1e6, "actors that share one server")                        \
        X(Fleet, ExtraPerHour, extra_hour, 1e6, "price of each server's address and disk")                 \
        X(Fleet, StartUpSec, start_up_sec, 1e6, "billed before the first round")                           \
        X(Fleet, FromRates, from_rates, 1,                                                                 \
                        "1: no servers; the whole allocation is billed at [Execution] rates")

/* X(section, key, member): every text that a price sheet may contain. */
#define PRICE_TEXTS(X)                         \
        X(Sheet, Name, name)                   \
        X(Sheet, Date, date)                   \
        X(Sheet, Source, source)               \
        X(Sheet, Currency, currency)           \
        X(Sheet, Description, description)     \
        X(Learner, Instance, learner_instance) \
        X(Actors, Instance, actors_instance)

struct PriceSheet {
#define X(section, key, member) char *member;
        PRICE_TEXTS(X)
#undef X
#define X(section, key, member, highest, help) double member;
        PRICE_RATES(X)
#undef X
};

/* Whether the sheet has servers with prices of their own: [Learner] and [Actors]. */
static inline bool price_sheet_has_servers(const PriceSheet *sheet) {
        return sheet->learner_hour > 0 || sheet->actors_hour > 0;
}
