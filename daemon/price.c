/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Base units to money. Two steps, kept apart: usage_add() turns records into sums of unsigned integers, bill_make() multiplies each
 * sum once by a rate. So a bill does not depend on how often it was looked at, and adds up to its lines.
 *
 * Serverless: what each invocation allocated, for as long as it would have run on a fleet (emulated time), rounded up as the sheet says.
 * Server: the whole fleet for as long as the rounds took, idle actors included, as the papers bill their baselines.
 * The paper total counts the execution of actors and learner alone, as MinionsRL (its Eq. 2), Nitro and Stellaris do. */
#include "daemon/price-private.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/saturate.h"

#define GB_SECOND     (1024.0 * 1e6) /* in MiB x microseconds; a GB is 2^30 bytes, as functions are sold */
#define JOULE_PER_KWH 3.6e6

static void add(uint64_t *sum, uint64_t x) {
        *sum = saturating_add(*sum, x);
}

static uint64_t round_up(uint64_t nsec, double granularity_msec) {
        uint64_t g = (uint64_t) (granularity_msec * 1e6);

        if (g <= 1 || nsec % g == 0)
                return nsec;
        return saturate_u64((unsigned __int128) nsec + (g - nsec % g));
}

/* What an actor or the learner allocates beside memory, in thousandths: vCPUs, or one function of a server. */
static uint64_t allocation_permille(const PriceSheet *sheet, const JobSettings *settings, bool learner) {
        uint64_t permille, step = (uint64_t) (sheet->vcpu_step * 1000);

        if (price_sheet_has_servers(sheet))
                return 1000;
        permille = learner ? settings->n_threads * 1000ull : clock_share_permille(settings);
        if (step > 0 && permille % step > 0)
                permille += step - permille % step;
        return permille;
}

/* One billed stretch of time in the two units that sheets know. */
typedef struct Stretch {
        uint64_t billed_nsec; /* times allocation */
        uint64_t mib_usec;
} Stretch;

static Stretch stretch_make(uint64_t nsec, uint64_t permille, uint64_t memory_bytes) {
        uint64_t usec = nsec / 1000 + (nsec % 1000 > 0),
                 mib = (memory_bytes >> 20) + (memory_bytes % (1u << 20) > 0);

        return (Stretch){
                .billed_nsec = saturate_u64((unsigned __int128) nsec * permille / 1000),
                .mib_usec = saturate_u64((unsigned __int128) usec * mib),
        };
}

static void stretch_add(Stretch stretch, uint64_t *billed_nsec, uint64_t *mib_usec) {
        add(billed_nsec, stretch.billed_nsec);
        add(mib_usec, stretch.mib_usec);
}

static uint64_t reserved_bytes(const JobSettings *settings, const Record *record, bool learner) {
        if (record->metered.memory_reserved_bytes > 0)
                return record->metered.memory_reserved_bytes;
        return learner ? settings->learner_memory_max_bytes : settings->memory_max_bytes;
}

static void wasted_add(Usage *usage, Stretch stretch, uint64_t cpu_nsec, bool learner) {
        add(&usage->wasted_cpu_nsec, cpu_nsec);
        stretch_add(stretch, learner ? &usage->learner_wasted_billed_nsec : &usage->wasted_billed_nsec,
                        &usage->wasted_mib_usec);
}

/* Of a job that trains: its container, if not its episode, is numbered beyond the actors. */
static bool is_evaluator(const JobSettings *settings, const Record *record) {
        return record->actor != UINT32_MAX && record->actor >= settings_actors_max(settings);
}

/* An invocation's emulated time begins with its start-up, which is initialisation and no execution. The two parts are rounded so that
 * they add up to the rounded whole. */
static void rollout_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        uint64_t permille = allocation_permille(sheet, settings, false);
        uint64_t bytes = reserved_bytes(settings, record, false);
        uint64_t start_usec = record->cold ? settings->cold_usec : settings->warm_usec;
        uint64_t start_nsec = saturate_u64((unsigned __int128) start_usec * 1000);
        uint64_t whole_nsec = round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                 execution_nsec;

        add(&usage->n_invocations, 1);
        add(record->cold ? &usage->n_cold : &usage->n_warm, 1);
        if (record->attempt > 0)
                add(&usage->n_retried, 1);
        if (record->wasted) {
                wasted_add(usage, stretch_make(whole_nsec, permille, bytes), record->metered.cpu_nsec,
                                false);
                return;
        }

        if (start_nsec > record->metered.emulated_nsec)
                start_nsec = record->metered.emulated_nsec;
        execution_nsec = round_up(record->metered.emulated_nsec - start_nsec, sheet->granularity_msec);
        stretch_add(stretch_make(execution_nsec, permille, bytes), &usage->actor_billed_nsec,
                        &usage->actor_mib_usec);
        stretch_add(stretch_make(whole_nsec - execution_nsec, permille, bytes), &usage->startup_billed_nsec,
                        &usage->startup_mib_usec);
        add(&usage->actor_cpu_nsec, record->metered.cpu_nsec);
}

static void update_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, true), reserved_bytes(settings, record, true));

        add(&usage->n_updates, 1);
        if (record->wasted) {
                wasted_add(usage, stretch, record->metered.cpu_nsec, true);
                return;
        }
        stretch_add(stretch, &usage->learner_billed_nsec, &usage->learner_mib_usec);
        add(&usage->learner_cpu_nsec, record->metered.cpu_nsec);
}

/* Start-up included: what one pays for knowing how good a policy is stands in one place. */
static void evaluation_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, false),
                        reserved_bytes(settings, record, false));

        add(&usage->n_evaluations, 1);
        if (record->wasted) {
                wasted_add(usage, stretch, record->metered.cpu_nsec, false);
                return;
        }
        stretch_add(stretch, &usage->evaluation_billed_nsec, &usage->evaluation_mib_usec);
        add(&usage->evaluation_cpu_nsec, record->metered.cpu_nsec);
}

static void worker_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        bool learner = record->actor == UINT32_MAX;
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, learner),
                        reserved_bytes(settings, record, learner));

        if (is_evaluator(settings, record)) {
                stretch_add(stretch, &usage->evaluation_billed_nsec, &usage->evaluation_mib_usec);
                add(&usage->evaluation_cpu_nsec, record->metered.cpu_nsec);
                return;
        }
        stretch_add(stretch, learner ? &usage->learner_startup_billed_nsec : &usage->startup_billed_nsec,
                        &usage->startup_mib_usec);
        add(&usage->startup_cpu_nsec, record->metered.cpu_nsec);
}

static void pool_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(record->metered.emulated_nsec,
                        allocation_permille(sheet, settings, false),
                        reserved_bytes(settings, record, false));

        if (is_evaluator(settings, record)) {
                stretch_add(stretch, &usage->evaluation_pool_nsec, &usage->evaluation_pool_mib_usec);
                add(&usage->evaluation_cpu_nsec, record->metered.cpu_nsec);
                return;
        }
        stretch_add(stretch, &usage->pool_nsec, &usage->pool_mib_usec);
        add(&usage->pool_cpu_nsec, record->metered.cpu_nsec);
}

static void round_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        add(&usage->control_cpu_nsec, record->metered.cpu_nsec);
        add(&usage->emulated_nsec, record->emulated_round_nsec);
        usage->round_start_nano = bill_full_nano(usage, sheet, settings);
}

/* What the life before spent on a round that it did not close is gone all the same. */
static void started_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        add(&usage->startup_cpu_nsec, record->metered.cpu_nsec);
        usage->round_start_nano = bill_full_nano(usage, sheet, settings);
}

/* The clock of records starts anew with the machine, so a job that goes on after a reboot adds up stretches. */
static void wall_add(Usage *usage, const Record *record) {
        uint64_t start = record->metered.start_nsec, end = record->metered.end_nsec;

        if (end == 0)
                return;
        if (start == 0 || start > end)
                start = end;
        if (record->kind == RECORD_STARTED && end < usage->last_nsec) {
                usage->wall_before_nsec = usage->wall_nsec;
                usage->first_nsec = start;
                usage->last_nsec = end;
        }
        if (usage->first_nsec == 0 || start < usage->first_nsec)
                usage->first_nsec = start;
        if (end > usage->last_nsec)
                usage->last_nsec = end;
        usage->wall_nsec = usage->wall_before_nsec;
        add(&usage->wall_nsec, usage->last_nsec - usage->first_nsec);
}

void usage_add(Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        assert(usage);
        assert(sheet);
        assert(settings);
        assert(record);

        wall_add(usage, record);

        switch ((RecordKind) record->kind) {
        case RECORD_STARTED: started_add(usage, sheet, settings, record); break;
        case RECORD_WORKER: worker_add(usage, sheet, settings, record); break;
        case RECORD_ROLLOUT: rollout_add(usage, sheet, settings, record); break;
        case RECORD_EVALUATION: evaluation_add(usage, sheet, settings, record); break;
        case RECORD_UPDATE: update_add(usage, sheet, settings, record); break;
        case RECORD_POOL: pool_add(usage, sheet, settings, record); break;
        case RECORD_ROUND: round_add(usage, sheet, settings, record); break;
        case RECORD_CHECKPOINT:
        case RECORD_ENDED: add(&usage->control_cpu_nsec, record->metered.cpu_nsec); break;
        case RECORD_EVALUATED: break; /* its episodes have records of their own */
        case RECORD_FAULT: break;     /* what it used stands in a wasted record of its own */
        case _RECORD_KIND_MAX:
        case _RECORD_KIND_INVALID: break;
        }
}

static void line_push(
                Bill *bill, const char *kind, const char *unit, double quantity, double price, bool paper) {
        if (!(quantity > 0) || !(price > 0))
                return;
        assert(bill->n_lines < BILL_LINES_MAX);
        bill->lines[bill->n_lines++] = (BillLine){
                .kind = kind,
                .unit = unit,
                .quantity = quantity,
                .amount = quantity * price,
                .paper = paper,
        };
}

static void rate_lines(Bill *bill, const PriceSheet *s, const char *kind, uint64_t billed_nsec,
                uint64_t mib_usec, bool paper) {
        line_push(bill, kind, "vCPU-s", (double) billed_nsec / 1e9, s->vcpu_second, paper);
        line_push(bill, kind, "GB-s", (double) mib_usec / GB_SECOND, s->gb_second, paper);
}

static uint64_t sum(uint64_t a, uint64_t b) {
        add(&a, b);
        return a;
}

static void bill_by_rates(Bill *bill, const Usage *u, const PriceSheet *s) {
        rate_lines(bill, s, "actor-execution", u->actor_billed_nsec, u->actor_mib_usec, true);
        rate_lines(bill, s, "learner-execution", u->learner_billed_nsec, u->learner_mib_usec, true);
        rate_lines(bill, s, "initialisation", sum(u->startup_billed_nsec, u->learner_startup_billed_nsec),
                        u->startup_mib_usec, false);
        line_push(bill, "provisioned", "vCPU-s", (double) u->pool_nsec / 1e9, s->provisioned_vcpu_second,
                        false);
        line_push(bill, "provisioned", "GB-s", (double) u->pool_mib_usec / GB_SECOND,
                        s->provisioned_gb_second, false);
        rate_lines(bill, s, "retries", sum(u->wasted_billed_nsec, u->learner_wasted_billed_nsec),
                        u->wasted_mib_usec, false);
        rate_lines(bill, s, "evaluation", u->evaluation_billed_nsec, u->evaluation_mib_usec, false);
        line_push(bill, "evaluation", "idle vCPU-s", (double) u->evaluation_pool_nsec / 1e9,
                        s->provisioned_vcpu_second, false);
        line_push(bill, "evaluation", "idle GB-s", (double) u->evaluation_pool_mib_usec / GB_SECOND,
                        s->provisioned_gb_second, false);
}

static void bill_requests(Bill *bill, const Usage *u, const PriceSheet *s) {
        line_push(bill, "requests", "requests", (double) sum(u->n_invocations, u->n_updates), s->request,
                        false);
        line_push(bill, "evaluation", "requests", (double) u->n_evaluations, s->request, false);
}

/* Electricity is paid by what computes, whoever it is: this is the one convention under which control costs money. */
static void bill_by_energy(Bill *bill, const Usage *u, const PriceSheet *s) {
        const struct {
                const char *kind;
                uint64_t cpu_nsec;
                bool paper;
        } rows[] = {
                { "actor-execution", u->actor_cpu_nsec, true },
                { "learner-execution", u->learner_cpu_nsec, true },
                { "initialisation", u->startup_cpu_nsec, false },
                { "provisioned", u->pool_cpu_nsec, false },
                { "retries", u->wasted_cpu_nsec, false },
                { "evaluation", u->evaluation_cpu_nsec, false },
                { "control", u->control_cpu_nsec, false },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                line_push(bill, rows[i].kind, "kWh",
                                (double) rows[i].cpu_nsec / 1e9 * s->watts_per_core / JOULE_PER_KWH, s->kwh,
                                rows[i].paper);
}

/* A function's second costs its share of its server's, as Stellaris counts. Nobody sells that share idle, so a pool costs nothing. */
static void bill_by_shares(Bill *bill, const Usage *u, const PriceSheet *s) {
        double actor = s->actors_hour / 3600 / s->actors_functions,
               learner = s->learner_hour / 3600 / s->learner_functions;

        line_push(bill, "actor-execution", "function-s", (double) u->actor_billed_nsec / 1e9, actor, true);
        line_push(bill, "learner-execution", "function-s", (double) u->learner_billed_nsec / 1e9, learner,
                        true);
        line_push(bill, "initialisation", "function-s", (double) u->startup_billed_nsec / 1e9, actor, false);
        line_push(bill, "initialisation", "function-s", (double) u->learner_startup_billed_nsec / 1e9,
                        learner, false);
        line_push(bill, "retries", "function-s", (double) u->wasted_billed_nsec / 1e9, actor, false);
        line_push(bill, "retries", "function-s", (double) u->learner_wasted_billed_nsec / 1e9, learner,
                        false);
        line_push(bill, "evaluation", "function-s", (double) u->evaluation_billed_nsec / 1e9, actor, false);
}

static void bill_servers(Bill *bill, const Usage *u, const PriceSheet *s, const JobSettings *settings) {
        double hours = (double) u->emulated_nsec / 1e9 / 3600, start_hours = s->start_up_sec / 3600;
        double n_actors_servers =
                        s->actors_count > 0 ? s->actors_count
                                            : ceil(settings_actors_max(settings) / s->actors_functions);
        double learner = s->learner_hour + s->extra_hour, actors = s->actors_hour + s->extra_hour;

        line_push(bill, "fleet", "learner-h", hours * s->learner_count, learner, true);
        line_push(bill, "fleet", "actors-h", hours * n_actors_servers, actors, true);
        if (u->emulated_nsec == 0)
                return;
        line_push(bill, "initialisation", "learner-h", start_hours * s->learner_count, learner, false);
        line_push(bill, "initialisation", "actors-h", start_hours * n_actors_servers, actors, false);
}

/* A batch system's allocation: every actor's place and the learner's, for the whole time. */
static void bill_allocation(Bill *bill, const Usage *u, const PriceSheet *s, const JobSettings *settings) {
        double sec = (double) u->emulated_nsec / 1e9, n = settings_actors_max(settings);
        double vcpus = n * (double) allocation_permille(s, settings, false) / 1000 +
                       (double) allocation_permille(s, settings, true) / 1000;
        double gb = (n * (double) settings->memory_max_bytes + (double) settings->learner_memory_max_bytes) /
                    (double) (1u << 30);

        line_push(bill, "fleet", "vCPU-s", sec * vcpus, s->vcpu_second, true);
        line_push(bill, "fleet", "GB-s", sec * gb, s->gb_second, true);
}

void bill_make(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, Bill *ret) {
        bool servers;

        assert(usage);
        assert(sheet);
        assert(settings);
        assert(ret);

        *ret = (Bill){};
        servers = price_sheet_has_servers(sheet);

        if (sheet->kwh > 0)
                bill_by_energy(ret, usage, sheet);
        else if (settings->convention == CONVENTION_SERVER && servers)
                bill_servers(ret, usage, sheet, settings);
        else if (settings->convention == CONVENTION_SERVER && sheet->from_rates == 1)
                bill_allocation(ret, usage, sheet, settings);
        else if (servers)
                bill_by_shares(ret, usage, sheet);
        else {
                bill_by_rates(ret, usage, sheet);
                bill_requests(ret, usage, sheet);
        }

        for (size_t i = 0; i < ret->n_lines; i++) {
                ret->full += ret->lines[i].amount;
                if (strcmp(ret->lines[i].kind, "evaluation") == 0)
                        ret->evaluation += ret->lines[i].amount;
                else
                        ret->training += ret->lines[i].amount;
                if (ret->lines[i].paper)
                        ret->paper += ret->lines[i].amount;
        }
}

uint64_t bill_full_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings) {
        Bill bill;
        double nano;

        bill_make(usage, sheet, settings, &bill);
        nano = ceil(bill.full * 1e9);
        return nano >= 0x1p64 ? UINT64_MAX : (uint64_t) nano;
}

bool budget_spent(const Usage *usage, const JobSettings *settings) {
        assert(usage);
        assert(settings);

        return settings_present(settings, SETTING_Job_Budget) &&
               usage->round_start_nano >= settings->budget.nano;
}
