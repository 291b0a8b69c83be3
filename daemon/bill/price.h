/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Price sheets and bills. Pure: base units (nanoseconds, bytes, …) and a sheet go in, money comes out. No
 * other file multiplies units by rates.
 *
 * A sheet is a key file (packaging/price) with a name, a date, a source and its rates. A Usage adds up the
 * base units of records as unsigned 64-bit integers. Money is computed from these sums, once for each
 * report. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/charges.h"
#include "include/record.h"
#include "include/settings.h"

typedef struct PriceSheet PriceSheet;

/* Parses a price sheet. 0; -EINVAL with *ret_message ("FILE:LINE: …", g_free()). */
int price_sheet_parse(const char *text, const char *file_name, PriceSheet **ret, char **ret_message);
/* Parses a job's own copy of a sheet, which an earlier actord may have accepted. In such a copy a key may
 * occur twice; the last value counts. */
int price_sheet_parse_stored(const char *text, const char *file_name, PriceSheet **ret, char **ret_message);
PriceSheet *price_sheet_free(PriceSheet *sheet);
const char *price_sheet_name(const PriceSheet *sheet);
const char *price_sheet_date(const PriceSheet *sheet);
const char *price_sheet_source(const PriceSheet *sheet);
const char *price_sheet_currency(const PriceSheet *sheet);
const char *price_sheet_description(const PriceSheet *sheet);
/* Whether a job can be billed by this sheet: 0, or -EINVAL with a sentence (g_free()). Call it before a job
 * is accepted. */
int price_sheet_check(const PriceSheet *sheet, const JobSettings *settings, char **ret_message);
/* The most learners for which the sheet has a price. Under Convention=server, they must fit on its servers.
 * Otherwise this is UINT32_MAX, since each learner is billed by itself. */
uint32_t price_sheet_learners_max(const PriceSheet *sheet, const JobSettings *settings);

/* Whether the servers of a sheet have places for all actors of the job, if the sheet limits their number.
 * Returns what price_sheet_check() returns. */
int price_sheet_check_places(const PriceSheet *fleet, const JobSettings *settings, char **ret_message);

typedef enum Charge {
#define X(name, word, total, purpose, use, idle) CHARGE_##name,
        CHARGES(X)
#undef X
                        _CHARGE_MAX,
        _CHARGE_INVALID = -EINVAL,
} Charge;

typedef enum CpuUse {
        CPU_USE_ACTORS,
        CPU_USE_LEARNER,
        CPU_USE_CONTROL,
        CPU_USE_STARTUP,
        CPU_USE_LOST,
        CPU_USE_NODES,
        _CPU_USE_MAX
} CpuUse;

/* The name of a charge. NULL: no charge has this number. */
const char *charge_to_string(uint32_t charge);

/* The kind of worker whose share of a machine is priced: actors and learners may have different shares. */
typedef enum Share { SHARE_ACTOR, SHARE_LEARNER, _SHARE_MAX } Share;

/* The sums under one kind of charge. billed_nsec: emulated duration times allocation. Each invocation's
 * duration is rounded up to the sheet's granularity. The allocation is in vCPUs, or in functions if the
 * sheet names a fleet. mib_usec: duration times memory, in MiB x microseconds. idle_nsec, idle_mib_usec: the
 * same two sums for containers that are kept but have nothing to do. */
typedef struct Account {
        uint64_t cpu_nsec;
        uint64_t billed_nsec[_SHARE_MAX], mib_usec;
        uint64_t idle_nsec, idle_mib_usec;
        uint64_t n_requests;
        uint64_t billing_usec; /* the cluster's billing units times microseconds */
        uint64_t n_bytes;      /* sent between hosts */
} Account;

/* A job's use so far, in base units, by both clocks. Additions are checked for overflow and saturate. */
typedef struct Usage {
        uint64_t n_invocations, n_cold, n_warm, n_retried, n_updates, n_evaluations;
        Account accounts[_CHARGE_MAX];
        uint64_t emulated_nsec; /* the duration of all rounds */
        uint64_t wall_nsec;     /* from first to last record, without freezes and the queue */
        /* since the host's start, or since the job was last back in the queue; wall_before: until then */
        uint64_t first_nsec, last_nsec, wall_before_nsec;
        /* the full total when the round in flight began, in billionths of the currency */
        uint64_t round_start_nano;
} Usage;

/* Adds one record. Records must be added in (life, seq) order, each once. When a job begins another life,
 * add all records again from ledger_records_some(): the work that the new life repeats has become waste. */
void usage_add(Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record);
/* Whether the usage includes nodes of a cluster. A bill has the nodes' price instead of the actors' work on
 * them. */
bool usage_has_nodes(const Usage *usage);

typedef struct BillLine {
        Charge charge;
        const char *unit; /* GB-s, vCPU-s, requests, h, kWh … */
        double quantity, amount;
        bool paper; /* the line counts in the paper total */
} BillLine;
#define BILL_LINES_MAX (6u * _CHARGE_MAX)
typedef struct Bill {
        BillLine lines[BILL_LINES_MAX];
        size_t n_lines;
        double paper, full;          /* sums of the lines, in the sheet's currency */
        double evaluation, training; /* parts of full: the lines of evaluations, and all other lines */
} Bill;
void bill_make(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, Bill *ret);

/* The part of the full total that nodes of a cluster cost, with the bytes between hosts. */
double bill_of_nodes(const Bill *bill);

/* The CPU time of one kind of use, over all charges. The kinds add up to the whole job's CPU time. */
uint64_t usage_cpu_nsec(const Usage *usage, CpuUse use);

/* The full total so far in billionths of the currency, to be compared with Budget=. */
uint64_t bill_full_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings);
uint64_t bill_paper_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings);

/* Whether the budget allows no further round. This depends only on the costs at the beginnings of rounds and
 * lives, so it does not matter when the daemon checks. */
bool budget_spent(const Usage *usage, const JobSettings *settings);

/* The facts of a future round that decide its cost: its actors, how many of them start cold, how many more
 * are kept idle, and times on the emulated clock without start-up. actor_nsec: the mean rollout;
 * learner_nsec: each learner's update. */
typedef struct RoundShape {
        uint32_t n_actors, n_cold, n_parked;
        uint64_t actor_nsec, slowest_nsec, learner_nsec;
} RoundShape;

typedef struct RoundPrice {
        double full; /* the amount that one more round of this RoundShape adds to the full total */
        double charges[_CHARGE_MAX]; /* the parts of `full` */
        Charge dearest;
        uint64_t nsec; /* the round's duration, start-up included */
} RoundPrice;

/* Prices a future round by the functions that bill past rounds. All sums have a fixed order, so the result
 * is the same on every host. */
void price_round(const PriceSheet *sheet, const JobSettings *settings, const RoundShape *shape,
                RoundPrice *ret);

/* The cost of one more second of a learner in a round. */
double price_learner_second(const PriceSheet *sheet, const JobSettings *settings);
