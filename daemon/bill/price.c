/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From base units to money, in two separate steps: usage_add() turns records into sums of unsigned integers,
 * and bill_make() multiplies each sum once by a rate. So the lines of a bill add up to its total, which does
 * not depend on how often a bill is made.
 *
 * Convention=serverless bills each invocation's allocation for its emulated time, which is the time that it
 * would have run on a fleet, rounded up as the sheet says. Convention=server bills the whole fleet for the
 * time of the rounds, with idle actors, as the papers bill their baselines. The paper total counts only
 * execution, as MinionsRL (its Eq. 2), Nitro and Stellaris do: that of actors and learner or, in its place,
 * that of a fleet or of busy nodes. */
#include "daemon/bill/price-private.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "include/plan.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/saturate.h"

#define GB_SECOND     (1024.0 * 1e6) /* in MiB x microseconds: sellers of functions mean 2^30 bytes by GB */
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

/* The share of a CPU that is billed for each second in which an actor or the learner runs, in thousandths of
 * a vCPU, rounded up to VCPUStep=. With a sheet of servers, 1000: the whole function. Memory is billed
 * separately. */
static uint64_t allocation_permille(const PriceSheet *sheet, const JobSettings *settings, bool learner) {
        uint64_t permille, step = (uint64_t) (sheet->vcpu_step * 1000);

        if (price_sheet_has_servers(sheet))
                return 1000;
        permille = learner ? settings->n_threads * 1000ull : clock_share_permille(settings);
        if (step > 0 && permille % step > 0)
                permille += step - permille % step;
        return permille;
}

/* One billed stretch of time in the two units in which sheets have prices: allocation and memory. */
typedef struct Stretch {
        uint64_t billed_nsec; /* the time, multiplied by the allocation */
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

static void stretch_add(Usage *usage, Charge charge, Share share, Stretch stretch) {
        Account *account = &usage->accounts[charge];

        add(&account->billed_nsec[share], stretch.billed_nsec);
        add(&account->mib_usec, stretch.mib_usec);
}

static void idle_add(Usage *usage, Charge charge, Stretch stretch) {
        Account *account = &usage->accounts[charge];

        add(&account->idle_nsec, stretch.billed_nsec);
        add(&account->idle_mib_usec, stretch.mib_usec);
}

static void cpu_add(Usage *usage, Charge charge, const Record *record) {
        add(&usage->accounts[charge].cpu_nsec, record->metered.cpu_nsec);
}

static uint64_t reserved_bytes(const JobSettings *settings, const Record *record, bool learner) {
        if (record->metered.memory_reserved_bytes > 0)
                return record->metered.memory_reserved_bytes;
        return learner ? settings->learner_memory_max_bytes : settings->memory_max_bytes;
}

/* Whether the record is of a container for evaluations. In a job that trains, these containers have numbers
 * above those of the actors. */
static bool is_evaluator(const JobSettings *settings, const Record *record) {
        return record->actor != UINT32_MAX && record->actor >= settings_actors_max(settings);
}

static void invocation_add(Usage *usage, const Record *record) {
        add(&usage->n_invocations, 1);
        add(record->cold ? &usage->n_cold : &usage->n_warm, 1);
        add(&usage->n_retried, record->attempt > 0);
}

/* An invocation's emulated time begins with its start-up, which counts as initialisation and not as
 * execution. The two parts are rounded so that they add up to the rounded whole. */
static void rollout_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        uint64_t permille = allocation_permille(sheet, settings, false);
        uint64_t bytes = reserved_bytes(settings, record, false);
        uint64_t start_usec = record->cold ? settings->cold_usec : settings->warm_usec;
        uint64_t start_nsec = saturate_u64((unsigned __int128) start_usec * 1000);
        uint64_t whole_nsec = round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                 execution_nsec;

        invocation_add(usage, record);
        add(&usage->accounts[CHARGE_REQUESTS].n_requests, 1);
        if (record->wasted) {
                stretch_add(usage, CHARGE_RETRIES, SHARE_ACTOR, stretch_make(whole_nsec, permille, bytes));
                cpu_add(usage, CHARGE_RETRIES, record);
                return;
        }

        if (start_nsec > record->metered.emulated_nsec)
                start_nsec = record->metered.emulated_nsec;
        execution_nsec = round_up(record->metered.emulated_nsec - start_nsec, sheet->granularity_msec);
        stretch_add(usage, CHARGE_ACTOR_EXECUTION, SHARE_ACTOR,
                        stretch_make(execution_nsec, permille, bytes));
        stretch_add(usage, CHARGE_INITIALISATION, SHARE_ACTOR,
                        stretch_make(whole_nsec - execution_nsec, permille, bytes));
        cpu_add(usage, CHARGE_ACTOR_EXECUTION, record);
}

static void update_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, true), reserved_bytes(settings, record, true));
        Charge charge = record->wasted ? CHARGE_RETRIES : CHARGE_LEARNER_EXECUTION;

        add(&usage->n_updates, 1);
        add(&usage->accounts[CHARGE_REQUESTS].n_requests, 1);
        stretch_add(usage, charge, SHARE_LEARNER, stretch);
        cpu_add(usage, charge, record);
}

/* Adds an evaluation, start-up included, so that one line has the whole cost of evaluations. */
static void evaluation_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, false),
                        reserved_bytes(settings, record, false));
        Charge charge = record->wasted ? CHARGE_RETRIES : CHARGE_EVALUATION;

        add(&usage->n_evaluations, 1);
        add(&usage->accounts[CHARGE_EVALUATION].n_requests, 1);
        stretch_add(usage, charge, SHARE_ACTOR, stretch);
        cpu_add(usage, charge, record);
}

static void worker_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        bool learner = record->actor == UINT32_MAX;
        Stretch stretch = stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                        allocation_permille(sheet, settings, learner),
                        reserved_bytes(settings, record, learner));
        Charge charge = is_evaluator(settings, record) ? CHARGE_EVALUATION : CHARGE_INITIALISATION;

        stretch_add(usage, charge, learner ? SHARE_LEARNER : SHARE_ACTOR, stretch);
        cpu_add(usage, charge, record);
}

static void pool_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        Stretch stretch = stretch_make(record->metered.emulated_nsec,
                        allocation_permille(sheet, settings, false),
                        reserved_bytes(settings, record, false));
        Charge charge = is_evaluator(settings, record) ? CHARGE_EVALUATION : CHARGE_PROVISIONED;

        idle_add(usage, charge, stretch);
        cpu_add(usage, charge, record);
}

static void round_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        cpu_add(usage, CHARGE_CONTROL, record);
        add(&usage->emulated_nsec, record->emulated_round_nsec);
        usage->round_start_nano = bill_full_nano(usage, sheet, settings);
}

/* The cost of a round counts from this record on. If the job's processes died in this round and were started
 * again, what they used before does not belong to the round. */
static void started_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        cpu_add(usage, CHARGE_INITIALISATION, record);
        usage->round_start_nano = bill_full_nano(usage, sheet, settings);
}

/* Adds usage of an unknown process of the life, at the price of an actor's wasted work. */
static void lost_add(
                Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        stretch_add(usage, CHARGE_LOST, SHARE_ACTOR,
                        stretch_make(round_up(record->metered.emulated_nsec, sheet->granularity_msec),
                                        allocation_permille(sheet, settings, false),
                                        reserved_bytes(settings, record, false)));
        cpu_add(usage, CHARGE_LOST, record);
}

/* Bills a node's time in the cluster's billing units (weights that a site gives to CPUs and memory), if the
 * sheet has a price for them and the cluster has reported them. Otherwise bills vCPUs and memory. */
static void allocated_add(
                Usage *usage, Charge charge, const PriceSheet *sheet, const Record *record, uint64_t nsec) {
        if (sheet->billing_second > 0 && record->use.billing_milli > 0)
                add(&usage->accounts[charge].billing_usec,
                                saturate_u64((unsigned __int128) nsec * record->use.billing_milli /
                                                1000000));
        else
                stretch_add(usage, charge, SHARE_ACTOR,
                                stretch_make(nsec, record->n_cpus * 1000ull,
                                                record->metered.memory_reserved_bytes));
}

/* Bills a node's allocation from its start to its end. The cluster's own accounts say how long it was, in
 * whole seconds. Idle and busy time are separate parts that add up to the whole. The time of a record is not
 * rounded up: a node has many records, since each covers only the time since the last one, and each would be
 * rounded up. */
static void node_add(Usage *usage, const PriceSheet *sheet, const Record *record) {
        uint64_t whole_nsec = record->metered.emulated_nsec;
        uint64_t idle_nsec = record->use.idle_nsec < whole_nsec ? record->use.idle_nsec : whole_nsec;

        allocated_add(usage, CHARGE_NODES, sheet, record, whole_nsec - idle_nsec);
        allocated_add(usage, CHARGE_IDLE_NODES, sheet, record, idle_nsec);
        add(&usage->accounts[CHARGE_TRAFFIC].n_bytes, record->use.sent_bytes);
        add(&usage->accounts[CHARGE_TRAFFIC].n_bytes, record->use.received_bytes);
}

/* A node's price includes the work of the actors on it. So this function only counts an invocation on a
 * node, and adds the record's CPU time. Returns whether the record is of an actor or container on a node. */
static bool on_node_add(Usage *usage, const Record *record) {
        if (record->node == 0)
                return false;
        cpu_add(usage, CHARGE_NODES, record);
        if (record->kind == RECORD_ROLLOUT)
                invocation_add(usage, record);
        add(&usage->n_evaluations, record->kind == RECORD_EVALUATION);
        return true;
}

bool usage_has_nodes(const Usage *usage) {
        static const Charge ours[] = { CHARGE_NODES, CHARGE_IDLE_NODES, CHARGE_TRAFFIC };
        static const Account none = {};

        assert(usage);

        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                if (memcmp(&usage->accounts[ours[i]], &none, sizeof(none)) != 0)
                        return true;
        return false;
}

/* The clock of records restarts at each boot. So if a job continues after a reboot, its time is the sum of
 * the times between boots. The time for which a job is back in the queue or frozen does not count, whether
 * the host is restarted meanwhile or not. */
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
        if (record->kind == RECORD_ENDED && record->end == PLAN_END_PREEMPTED) {
                usage->wall_before_nsec = usage->wall_nsec;
                usage->first_nsec = usage->last_nsec = 0;
        }
}

void usage_add(Usage *usage, const PriceSheet *sheet, const JobSettings *settings, const Record *record) {
        assert(usage);
        assert(sheet);
        assert(settings);
        assert(record);

        wall_add(usage, record);
        if (on_node_add(usage, record))
                return;

        switch ((RecordKind) record->kind) {
        case RECORD_STARTED: started_add(usage, sheet, settings, record); break;
        case RECORD_WORKER: worker_add(usage, sheet, settings, record); break;
        case RECORD_ROLLOUT: rollout_add(usage, sheet, settings, record); break;
        case RECORD_EVALUATION: evaluation_add(usage, sheet, settings, record); break;
        case RECORD_UPDATE: update_add(usage, sheet, settings, record); break;
        case RECORD_POOL: pool_add(usage, sheet, settings, record); break;
        case RECORD_ROUND: round_add(usage, sheet, settings, record); break;
        case RECORD_LOST: lost_add(usage, sheet, settings, record); break;
        case RECORD_NODE: node_add(usage, sheet, record); break;
        case RECORD_CHECKPOINT:
        case RECORD_ENDED: cpu_add(usage, CHARGE_CONTROL, record); break;
        case RECORD_EVALUATED: break; /* the job's episodes have records of their own */
        case RECORD_METRIC: break;    /* this record holds a name */
        case RECORD_FAULT: break;     /* another record, with `wasted`, has the use of a failed attempt */
        case _RECORD_KIND_MAX:
        case _RECORD_KIND_INVALID: break;
        }
}

static const struct {
        const char *word, *idle_vcpu_unit, *idle_gb_unit;
        bool paper, evaluation;
        CpuUse use;
} charges[_CHARGE_MAX] = {
#define TOTAL_PAPER        true
#define TOTAL_FULL         false
#define PURPOSE_EVALUATION true
#define PURPOSE_TRAINING   false
#define X(name, word, total, purpose, use, idle)                                                \
        [CHARGE_##name] = { word, idle "vCPU-s", idle "GB-s", TOTAL_##total, PURPOSE_##purpose, \
                CPU_USE_##use },
        CHARGES(X)
#undef X
};

const char *charge_to_string(uint32_t charge) {
        return charge < _CHARGE_MAX ? charges[charge].word : NULL;
}

static void line_push(Bill *bill, Charge charge, const char *unit, double quantity, double price) {
        if (!(quantity > 0) || !(price > 0))
                return;
        assert(bill->n_lines < BILL_LINES_MAX);
        bill->lines[bill->n_lines++] = (BillLine){
                .charge = charge,
                .unit = unit,
                .quantity = quantity,
                .amount = quantity * price,
                .paper = charges[charge].paper,
        };
}

static uint64_t billed_nsec(const Account *account) {
        uint64_t sum = 0;

        for (size_t i = 0; i < _SHARE_MAX; i++)
                add(&sum, account->billed_nsec[i]);
        return sum;
}

static void bill_by_rates(Bill *bill, const Usage *u, const PriceSheet *s) {
        for (Charge c = 0; c < _CHARGE_MAX; c++) {
                const Account *a = &u->accounts[c];

                line_push(bill, c, "vCPU-s", (double) billed_nsec(a) / 1e9, s->vcpu_second);
                line_push(bill, c, "GB-s", (double) a->mib_usec / GB_SECOND, s->gb_second);
                line_push(bill, c, charges[c].idle_vcpu_unit, (double) a->idle_nsec / 1e9,
                                s->provisioned_vcpu_second);
                line_push(bill, c, charges[c].idle_gb_unit, (double) a->idle_mib_usec / GB_SECOND,
                                s->provisioned_gb_second);
                line_push(bill, c, "billing-s", (double) a->billing_usec / 1e6, s->billing_second);
        }
        for (Charge c = 0; c < _CHARGE_MAX; c++)
                line_push(bill, c, "requests", (double) u->accounts[c].n_requests, s->request);
}

/* Bills the electricity of actors, learners and the control processes. The other functions of this file
 * charge nothing for the time of the control processes. */
static void bill_by_energy(Bill *bill, const Usage *u, const PriceSheet *s) {
        for (Charge c = 0; c < _CHARGE_MAX; c++)
                line_push(bill, c, "kWh",
                                (double) u->accounts[c].cpu_nsec / 1e9 * s->watts_per_core / JOULE_PER_KWH,
                                s->kwh);
}

/* Bills functions by their shares of a server: a second costs the share of a second of the server, as in
 * Stellaris. An idle actor costs nothing, since no provider sells an idle share of a server. */
static void bill_by_shares(Bill *bill, const Usage *u, const PriceSheet *s) {
        const double prices[_SHARE_MAX] = {
                [SHARE_ACTOR] = s->actors_hour / 3600 / s->actors_functions,
                [SHARE_LEARNER] = s->learner_hour / 3600 / s->learner_functions,
        };

        for (Charge c = 0; c < _CHARGE_MAX; c++)
                for (size_t i = 0; i < _SHARE_MAX; i++)
                        line_push(bill, c, "function-s", (double) u->accounts[c].billed_nsec[i] / 1e9,
                                        prices[i]);
}

static void bill_servers(Bill *bill, const Usage *u, const PriceSheet *s, const JobSettings *settings) {
        double hours = (double) u->emulated_nsec / 1e9 / 3600, start_hours = s->start_up_sec / 3600;
        double n_actors_servers =
                        s->actors_count > 0 ? s->actors_count
                                            : ceil(settings_actors_max(settings) / s->actors_functions);
        double learner = s->learner_hour + s->extra_hour, actors = s->actors_hour + s->extra_hour;

        line_push(bill, CHARGE_FLEET, "learner-h", hours * s->learner_count, learner);
        line_push(bill, CHARGE_FLEET, "actors-h", hours * n_actors_servers, actors);
        if (u->emulated_nsec == 0)
                return;
        line_push(bill, CHARGE_INITIALISATION, "learner-h", start_hours * s->learner_count, learner);
        line_push(bill, CHARGE_INITIALISATION, "actors-h", start_hours * n_actors_servers, actors);
}

/* Bills what a batch system would allocate: CPUs and memory for all actors and the learner, all the time. */
static void bill_allocation(Bill *bill, const Usage *u, const PriceSheet *s, const JobSettings *settings) {
        double sec = (double) u->emulated_nsec / 1e9, n = settings_actors_max(settings);
        double vcpus = n * (double) allocation_permille(s, settings, false) / 1000 +
                       (double) allocation_permille(s, settings, true) / 1000;
        double gb = (n * (double) settings->memory_max_bytes + (double) settings->learner_memory_max_bytes) /
                    (double) (1u << 30);

        line_push(bill, CHARGE_FLEET, "vCPU-s", sec * vcpus, s->vcpu_second);
        line_push(bill, CHARGE_FLEET, "GB-s", sec * gb, s->gb_second);
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
        else
                bill_by_rates(ret, usage, sheet);
        if (settings->convention != CONVENTION_SERVER)
                line_push(ret, CHARGE_TRAFFIC, "GB",
                                (double) usage->accounts[CHARGE_TRAFFIC].n_bytes / (double) (1u << 30),
                                sheet->network_gb);

        for (size_t i = 0; i < ret->n_lines; i++) {
                ret->full += ret->lines[i].amount;
                if (charges[ret->lines[i].charge].evaluation)
                        ret->evaluation += ret->lines[i].amount;
                else
                        ret->training += ret->lines[i].amount;
                if (ret->lines[i].paper)
                        ret->paper += ret->lines[i].amount;
        }
}

double bill_of_nodes(const Bill *bill) {
        double sum = 0;

        assert(bill);

        for (size_t i = 0; i < bill->n_lines; i++)
                if (bill->lines[i].charge == CHARGE_NODES || bill->lines[i].charge == CHARGE_IDLE_NODES ||
                                bill->lines[i].charge == CHARGE_TRAFFIC)
                        sum += bill->lines[i].amount;
        return sum;
}

uint64_t usage_cpu_nsec(const Usage *usage, CpuUse use) {
        uint64_t sum = 0;

        assert(usage);

        for (Charge c = 0; c < _CHARGE_MAX; c++)
                if (charges[c].use == use)
                        add(&sum, usage->accounts[c].cpu_nsec);
        return sum;
}

static uint64_t nano_of(double amount) {
        return saturate_double(ceil(amount * 1e9));
}

uint64_t bill_full_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings) {
        Bill bill;

        bill_make(usage, sheet, settings, &bill);
        return nano_of(bill.full);
}

uint64_t bill_paper_nano(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings) {
        Bill bill;

        bill_make(usage, sheet, settings, &bill);
        return nano_of(bill.paper);
}

bool budget_spent(const Usage *usage, const JobSettings *settings) {
        assert(usage);
        assert(settings);

        return settings_present(settings, SETTING_Job_Budget) &&
               usage->round_start_nano >= settings->budget.nano;
}
