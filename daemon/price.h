/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Price sheets and bills. Pure: base units and a sheet in, money out; the only file that multiplies the two.
 *
 * A sheet is a key file (packaging/price) with a name, a date, a source and its rates. The meter below adds up base units of records as unsigned
 * 64-bit integers; money is computed from the sums, once, at each report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/record.h"
#include "include/settings.h"

typedef struct PriceSheet PriceSheet;

/* 0; -EINVAL with *ret_message ("FILE:LINE: …", g_free()). */
int price_sheet_parse(const char *text, const char *file_name, PriceSheet **ret, char **ret_message);
PriceSheet *price_sheet_free(PriceSheet *sheet);
const char *price_sheet_name(const PriceSheet *sheet);
const char *price_sheet_date(const PriceSheet *sheet);
const char *price_sheet_source(const PriceSheet *sheet);
const char *price_sheet_currency(const PriceSheet *sheet);
const char *price_sheet_description(const PriceSheet *sheet);
/* Whether a job can be billed by this sheet: 0, or -EINVAL with a sentence (g_free()). To be asked before a job is accepted. */
int price_sheet_check(const PriceSheet *sheet, const JobSettings *settings, char **ret_message);
/* Whether a sheet's servers, if it says how many there are, have places for as many actors as the job may have; else as above. */
int price_sheet_check_places(const PriceSheet *fleet, const JobSettings *settings, char **ret_message);

/* What a job used so far, in base units; both clocks. Additions are checked for overflow and saturate. Allocation is in the sheet's
 * own terms: vCPUs, or functions where the sheet names a fleet. A wasted or started learner stands apart (learner_wasted_, learner_startup_):
 * its share may have another price. */
typedef struct Usage {
        uint64_t n_invocations, n_cold, n_warm, n_retried, n_updates, n_evaluations;
        uint64_t actor_cpu_nsec, learner_cpu_nsec, control_cpu_nsec, wasted_cpu_nsec, startup_cpu_nsec,
                        evaluation_cpu_nsec, pool_cpu_nsec; /* pool: what parked containers burnt */
        /* billed quantities: emulated duration times allocation, each invocation rounded up to the sheet's granularity */
        uint64_t actor_billed_nsec, learner_billed_nsec, startup_billed_nsec, wasted_billed_nsec,
                        evaluation_billed_nsec, pool_nsec, evaluation_pool_nsec, learner_wasted_billed_nsec,
                        learner_startup_billed_nsec;
        /* the same times memory, in units of MiB x microseconds */
        uint64_t actor_mib_usec, learner_mib_usec, startup_mib_usec, wasted_mib_usec, evaluation_mib_usec,
                        pool_mib_usec, evaluation_pool_mib_usec;
        uint64_t emulated_nsec;                           /* of all rounds */
        uint64_t wall_nsec;                               /* from the job's first record to its last */
        uint64_t first_nsec, last_nsec, wall_before_nsec; /* before: of earlier boots */
        uint64_t round_start_nano;                        /* the full total when the round in flight began */
} Usage;

/* Adds one record; records are added in (life, seq) order, each once. When a job begins another life, add its records afresh from
 * ledger_records_foreach(): what the new life repeats is waste from then on. */
void usage_add(Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record);

typedef struct BillLine {
        const char *kind; /* actor-execution, learner-execution, requests, initialisation, provisioned, retries, evaluation, control, fleet */
        const char *unit; /* GB-s, vCPU-s, requests, h, kWh … */
        double quantity, amount;
        bool paper; /* counts in the paper total: execution only, as MinionsRL, Nitro and Stellaris count */
} BillLine;
#define BILL_LINES_MAX 24u
typedef struct Bill {
        BillLine lines[BILL_LINES_MAX];
        size_t n_lines;
        double paper, full;          /* sums of the lines, in the sheet's currency */
        double evaluation, training; /* of full: the lines of evaluations, and all others */
} Bill;
void bill_make(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, Bill *ret);

/* Full total so far in billionths of the currency; what Budget= is compared with. */
uint64_t bill_full_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings);

/* Whether no further round may begin: a function of where rounds and lives begin alone, so that it does not matter when the daemon looks. */
bool budget_spent(const Usage *usage, const JobSettings *settings);
