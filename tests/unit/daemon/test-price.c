/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares bills with bills that were computed by hand. Also checks what must hold of every bill: it adds
 * up, it never falls, and its paper total is never above its full total. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/bill/price-private.h"
#include "include/plan.h"
#include "lib/settings/settings.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PriceSheet, price_sheet_free)

#define MIB (UINT64_C(1) << 20)
#define SEC UINT64_C(1000000000)

static const char job_text[] = "[Job]\nEnvironment=CartPole-v1\n[Scaling]\nActors=20\n"
                               "[Billing]\nColdStartSec=0.3\n[Actor]\nMemoryMax=1024M\n";

static JobSettings settings_new(const char *key, const char *value) {
        SettingOverride override = { key, value };
        g_autofree char *message = NULL;
        JobSettings settings;
        int r;

        r = settings_parse(job_text, "a.conf", &override, key ? 1 : 0, NULL, &settings, &message);
        if (r < 0)
                g_error("%s", message);
        return settings;
}

static PriceSheet *sheet_load(const char *name) {
        g_autofree char *path = g_strdup_printf("%s/packaging/price/%s.sheet",
                                        g_getenv("ACTORD_SOURCE") ?: ".", name),
                        *text = NULL, *message = NULL;
        PriceSheet *sheet = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                g_error("no sheet %s: tests run in the source directory", path);
        if (price_sheet_parse(text, path, &sheet, &message) < 0)
                g_error("%s", message);
        return sheet;
}

static Record record_new(RecordKind kind, uint64_t emulated_nsec, uint64_t memory_bytes) {
        Record record = { .kind = kind, .actor = kind == RECORD_UPDATE ? UINT32_MAX : 0 };

        record.metered.start_nsec = 5 * SEC;
        record.metered.end_nsec = 6 * SEC;
        record.metered.cpu_nsec = emulated_nsec;
        record.metered.emulated_nsec = emulated_nsec;
        record.metered.memory_reserved_bytes = memory_bytes;
        return record;
}

static const BillLine *line_find(const Bill *bill, const char *kind, const char *unit) {
        for (size_t i = 0; i < bill->n_lines; i++)
                if (g_str_equal(charge_to_string(bill->lines[i].charge), kind) &&
                                g_str_equal(bill->lines[i].unit, unit))
                        return &bill->lines[i];
        return NULL;
}

static void assert_line(
                const Bill *bill, const char *kind, const char *unit, double quantity, double amount) {
        const BillLine *line = line_find(bill, kind, unit);

        g_assert_nonnull(line);
        g_assert_cmpfloat_with_epsilon(line->quantity, quantity, 1e-9 * quantity);
        g_assert_cmpfloat_with_epsilon(line->amount, amount, 1e-9 * amount);
}

/* Hopper in about 12 core-seconds at 1,769 MB: 12 s x 1.7275 GB x 1.66667e-5 = 0.00035 USD. */
static void test_lambda_hopper(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("aws-lambda-x86");
        JobSettings settings = settings_new(NULL, NULL);
        Usage usage = {};
        Bill bill;

        for (int i = 0; i < 12; i++) {
                Record record = record_new(RECORD_ROLLOUT, SEC, 1769 * MIB);
                usage_add(&usage, sheet, &settings, &record);
        }
        bill_make(&usage, sheet, &settings, &bill);
        g_assert_cmpfloat_with_epsilon(bill.paper, 0.00035, 0.000005);
        assert_line(&bill, "actor-execution", "GB-s", 12 * 1769 / 1024.0, 12 * 1769 / 1024.0 * 0.0000166667);
        assert_line(&bill, "requests", "requests", 12, 12 * 0.0000002);
        g_assert_cmpuint(usage.n_warm, ==, 12);
}

/* A planned round, priced by hand: 17 actors of 12.8 ms, 2 of them cold; 3 idle; an update of 5.2 ms. */
static void test_round(void) {
        g_autoptr(PriceSheet) lambda = sheet_load("aws-lambda-x86"), nitro = sheet_load("ec2-nitro");
        g_autoptr(PriceSheet) energy = sheet_load("local");
        JobSettings settings = settings_new(NULL, NULL),
                    server = settings_new("Billing.Convention", "server");
        RoundShape shape = { .n_actors = 17,
                .n_cold = 2,
                .n_parked = 3,
                .actor_nsec = 12800000,
                .slowest_nsec = 12800000,
                .learner_nsec = 5200000 };
        double gb = 1, learner_gb = 1769 / 1024.0, rate = 0.0000166667, second;
        RoundPrice price;

        price_round(lambda, &settings, &shape, &price);
        g_assert_cmpuint(price.nsec, ==, 300000000 + 12800000 + 5200000);
        g_assert_cmpfloat_with_epsilon(price.charges[CHARGE_ACTOR_EXECUTION], 17 * 0.013 * gb * rate, 1e-12);
        g_assert_cmpfloat_with_epsilon(
                        price.charges[CHARGE_LEARNER_EXECUTION], 0.006 * learner_gb * rate, 1e-12);
        g_assert_cmpfloat_with_epsilon(price.charges[CHARGE_INITIALISATION], 2 * 0.3 * gb * rate, 1e-12);
        g_assert_cmpfloat_with_epsilon(price.charges[CHARGE_REQUESTS], 18 * 0.0000002, 1e-12);
        g_assert_cmpfloat_with_epsilon(
                        price.charges[CHARGE_PROVISIONED], 3 * 0.318 * gb * 0.0000041667, 1e-12);
        g_assert_cmpuint(price.dearest, ==, CHARGE_INITIALISATION);
        g_assert_cmpfloat_with_epsilon(price_learner_second(lambda, &settings), learner_gb * rate, 1e-12);

        /* Servers cost money for the whole round, also while actors start; the start itself has no price. */
        price_round(nitro, &server, &shape, &price);
        second = (3.06 + 0.0248888889 + 2 * (0.68 + 0.0248888889)) / 3600;
        g_assert_cmpfloat_with_epsilon(price.full, 0.318 * second, 1e-9);
        g_assert_cmpfloat_with_epsilon(price_learner_second(nitro, &server), second, 1e-9);

        /* Energy is billed by CPU time: with 1024 MiB, an actor has 1024 / 1769 of a CPU for its 12.8 ms. */
        price_round(energy, &settings, &shape, &price);
        g_assert_cmpfloat_with_epsilon(price.full, (17 * 0.0128 * 0.578 + 0.0052) * 10 / 3.6e6 * 0.3, 1e-14);
}

/* The sheet rounds time up to 1 ms. It books a cold start of 0.3 s as initialisation, not as execution. */
static void test_lambda_rules(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("aws-lambda-x86");
        JobSettings settings = settings_new(NULL, NULL);
        Usage usage = {};
        Record record;
        Bill bill;

        record = record_new(RECORD_ROLLOUT, 300 * 1000000 + 1200001, 1024 * MIB);
        record.cold = 1;
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_ROLLOUT, 10 * 1000000, 1024 * MIB);
        record.attempt = 1;
        usage_add(&usage, sheet, &settings, &record);
        record.wasted = 1;
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_UPDATE, 4 * 1000000, 2048 * MIB);
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_EVALUATION, 300 * 1000000 + 4200001, 1024 * MIB);
        record.cold = 1;
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_POOL, 2 * SEC, 1024 * MIB); /* 2 s of idle containers */
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_FAULT, 7 * SEC, 1024 * MIB);
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_ROUND, 3 * SEC, 0);
        record.emulated_round_nsec = 311 * 1000000;
        usage_add(&usage, sheet, &settings, &record);

        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "actor-execution", "GB-s", 0.002 + 0.010, 0.012 * 0.0000166667);
        assert_line(&bill, "learner-execution", "GB-s", 0.008, 0.008 * 0.0000166667);
        assert_line(&bill, "initialisation", "GB-s", 0.300, 0.3 * 0.0000166667);
        assert_line(&bill, "retries", "GB-s", 0.010, 0.01 * 0.0000166667);
        assert_line(&bill, "evaluation", "GB-s", 0.305, 0.305 * 0.0000166667);
        assert_line(&bill, "provisioned", "GB-s", 2, 0.0000083334);
        assert_line(&bill, "requests", "requests", 4, 0.0000008);
        assert_line(&bill, "evaluation", "requests", 1, 0.0000002);
        g_assert_null(line_find(&bill, "control", "kWh"));
        g_assert_cmpfloat_with_epsilon(bill.paper, 0.020 * 0.0000166667, 1e-18);
        g_assert_cmpuint(usage.n_invocations, ==, 3);
        g_assert_cmpuint(usage.n_cold, ==, 1);
        g_assert_cmpuint(usage.n_retried, ==, 2);
        g_assert_cmpuint(usage.wall_nsec, ==, SEC);
        g_assert_cmpuint(usage.emulated_nsec, ==, 311 * 1000000);
        g_assert_cmpuint(usage.round_start_nano, ==, bill_full_nano(&usage, sheet, &settings));
}

static void test_aci(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("azure-aci");
        JobSettings settings = settings_new("Actor.CPUQuota", "100%");
        Record record = record_new(RECORD_ROLLOUT, 1, 1024 * MIB);
        Usage usage = {};
        Bill bill;

        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "actor-execution", "vCPU-s", 1, 0.0000135);
        assert_line(&bill, "actor-execution", "GB-s", 1, 0.0000015);
        g_assert_null(line_find(&bill, "requests", "requests"));
}

static void test_budget_currency(void) {
        g_autoptr(PriceSheet) lambda = sheet_load("aws-lambda-x86");
        JobSettings dollars = settings_new("Job.Budget", "5 USD"),
                    euros = settings_new("Job.Budget", "5EUR"), plain = settings_new("Job.Budget", "5");
        g_autofree char *message = NULL;

        g_assert_cmpint(price_sheet_check(lambda, &dollars, &message), ==, 0);
        g_assert_cmpint(price_sheet_check(lambda, &plain, &message), ==, 0);
        g_assert_cmpint(price_sheet_check(lambda, &euros, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "Budget= is in EUR, and the price sheet aws-lambda-x86 is in USD"));
}

/* 20 actors need a p3.2xlarge and two c5.4xlarge. The bill is for one hour and one minute of start-up. */
static void test_server(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("ec2-nitro"), lambda = sheet_load("aws-lambda-x86"),
                              minionsrl = sheet_load("ec2-minionsrl");
        JobSettings settings = settings_new("Billing.Convention", "server");
        Record record = record_new(RECORD_ROUND, SEC, 0);
        g_autofree char *message = NULL;
        double extra = 17.92 / 30 / 24;
        Usage usage = {};
        Bill bill;

        g_assert_cmpint(price_sheet_check(sheet, &settings, &message), ==, 0);
        record.emulated_round_nsec = 3600 * SEC;
        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        g_assert_cmpfloat_with_epsilon(bill.paper, 3.06 + 2 * 0.68 + 3 * extra, 1e-9);
        g_assert_cmpfloat_with_epsilon(bill.full, bill.paper * 61 / 60, 1e-9);

        g_assert_cmpint(price_sheet_check(lambda, &settings, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "aws-lambda-x86"));
        g_clear_pointer(&message, g_free);

        /* The sheet has four servers with room for eight actors each: 33 actors are too many. */
        g_assert_cmpint(price_sheet_check(minionsrl, &settings, &message), ==, 0);
        settings.n_actors = 33;
        g_assert_cmpint(price_sheet_check(minionsrl, &settings, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message, "places for 32 actors"));
        g_clear_pointer(&message, g_free);

        /* The sheet prices one learner. It refuses a job with two, since the second one would cost
         * nothing. */
        settings.n_actors = 2;
        settings.n_learners = 2;
        g_assert_cmpint(price_sheet_check(sheet, &settings, &message), ==, 0);
        settings.distribution = DISTRIBUTION_MULTI;
        g_assert_cmpint(price_sheet_check(sheet, &settings, &message), ==, -EINVAL);
        g_assert_nonnull(strstr(message,
                        "Policy=multi-learner with Learners=2: the price sheet ec2-nitro has a price for 1 "
                        "learners"));
        g_assert_cmpuint(price_sheet_learners_max(sheet, &settings), ==, 1);
        settings.convention = CONVENTION_SERVERLESS;
        g_assert_cmpuint(price_sheet_learners_max(sheet, &settings), ==, UINT32_MAX);
        g_clear_pointer(&message, g_free);
        g_assert_cmpint(price_sheet_check(sheet, &settings, &message), ==, 0);
}

/* A fleet costs the same from the first round to the last, with many actors or one, under either clock.
 * Under Convention=serverless the same records cost what their execution costs. */
static void test_server_idle(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("ec2-minionsrl");
        double hour = 3.06 + 4 * 0.68;
        Bill all, one, functions;

        for (int model = 0; model < 2; model++) {
                Bill *bills[] = { &all, &one, &functions };

                for (int i = 0; i < 3; i++) {
                        JobSettings settings =
                                        settings_new("Billing.Convention", i < 2 ? "server" : "serverless");
                        Record rollout = record_new(RECORD_ROLLOUT, 60 * SEC, 1024 * MIB),
                               pool = record_new(RECORD_POOL, SEC, 1024 * MIB),
                               round = record_new(RECORD_ROUND, 0, 0);
                        Usage usage = {};

                        settings.clock = model ? CLOCK_MODEL : CLOCK_METERED;
                        for (int a = 0; a < (i == 0 ? 20 : 1); a++)
                                usage_add(&usage, sheet, &settings, &rollout);
                        usage_add(&usage, sheet, &settings, &pool);
                        round.emulated_round_nsec = 3600 * SEC;
                        usage_add(&usage, sheet, &settings, &round);
                        bill_make(&usage, sheet, &settings, bills[i]);
                }
                g_assert_cmpfloat_with_epsilon(all.full, hour, 1e-9);
                g_assert_cmpfloat_with_epsilon(one.full, hour, 1e-9);
                g_assert_cmpfloat_with_epsilon(functions.full, 60.0 / 3600 * 0.68 / 8, 1e-9);
        }
}

/* The large testbed of the Stellaris paper: 16 V100s in two servers, and 960 cores in five. */
static void test_stellaris_hpc(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("ec2-stellaris-hpc");
        JobSettings settings = settings_new("Billing.Convention", "server");
        Record round = record_new(RECORD_ROUND, 0, 0);
        Usage usage = {};
        Bill bill;

        round.emulated_round_nsec = 3600 * SEC;
        usage_add(&usage, sheet, &settings, &round);
        bill_make(&usage, sheet, &settings, &bill);
        g_assert_cmpfloat_with_epsilon(bill.full, 2 * 24.48 + 5 * 7.2, 1e-9);
}

/* A learner function has a quarter of its server, so its second costs a quarter of the server's second. */
static void test_shares(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("ec2-stellaris");
        JobSettings settings = settings_new(NULL, NULL);
        Record record = record_new(RECORD_UPDATE, 10 * SEC, 1024 * MIB);
        Usage usage = {};
        Bill bill;

        usage_add(&usage, sheet, &settings, &record);
        record.wasted = 1;
        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_ROLLOUT, 10 * SEC, 1024 * MIB);
        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "learner-execution", "function-s", 10, 10 * 3.06 / 3600 / 4);
        assert_line(&bill, "retries", "function-s", 10, 10 * 3.06 / 3600 / 4);
        assert_line(&bill, "actor-execution", "function-s", 10, 10 * 4.896 / 3600 / 128);
}

static void test_slurm(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("slurm-tres");
        JobSettings settings = settings_new(NULL, NULL);
        Record record = record_new(RECORD_ROLLOUT, 60 * SEC, 1024 * MIB);
        Usage usage = {};
        Bill bill;

        /* 1,024 MB are 0.58 of a vCPU, and Slurm gives whole ones. */
        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "actor-execution", "vCPU-s", 60, 1);
        assert_line(&bill, "actor-execution", "GB-s", 60, 0.25);

        settings.convention = CONVENTION_SERVER;
        record = record_new(RECORD_ROUND, 0, 0);
        record.emulated_round_nsec = 60 * SEC;
        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "fleet", "vCPU-s", 60 * 21, 21);
}

/* 3,600 CPU-seconds at 10 W are 0.01 kWh. Only a price sheet for energy bills the control processes. */
static void test_local(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("local");
        JobSettings settings = settings_new(NULL, NULL);
        Record record = record_new(RECORD_ROLLOUT, 3600 * SEC, 1024 * MIB);
        Usage usage = {};
        Bill bill;

        usage_add(&usage, sheet, &settings, &record);
        record = record_new(RECORD_ROUND, 1800 * SEC, 0);
        usage_add(&usage, sheet, &settings, &record);
        bill_make(&usage, sheet, &settings, &bill);
        assert_line(&bill, "actor-execution", "kWh", 0.01, 0.003);
        assert_line(&bill, "control", "kWh", 0.005, 0.0015);
        g_assert_cmpfloat_with_epsilon(bill.paper, 0.003, 1e-12);
        g_assert_cmpstr(price_sheet_currency(sheet), ==, "EUR");
}

static const char *const sheet_names[] = { "aws-lambda-x86", "aws-lambda-arm64", "azure-aci",
        "ec2-minionsrl", "ec2-nitro", "ec2-stellaris", "ec2-stellaris-hpc", "slurm-tres", "local" };

static void assert_bill_holds(const Bill *bill, double before) {
        double full = 0, paper = 0;

        for (size_t i = 0; i < bill->n_lines; i++) {
                full += bill->lines[i].amount;
                paper += bill->lines[i].paper ? bill->lines[i].amount : 0;
        }
        g_assert_cmpfloat_with_epsilon(full, bill->full, 1e-12 * (1 + full));
        g_assert_cmpfloat_with_epsilon(paper, bill->paper, 1e-12 * (1 + full));
        g_assert_cmpfloat(bill->paper, <=, bill->full);
        g_assert_cmpfloat(bill->full, >=, before);
}

static void test_all_sheets(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(sheet_names); i++)
                for (uint32_t convention = 0; convention < _CONVENTION_MAX; convention++) {
                        g_autoptr(PriceSheet) sheet = sheet_load(sheet_names[i]);
                        JobSettings settings = settings_new(NULL, NULL);
                        g_autoptr(GRand) rand = g_rand_new_with_seed(7);
                        Usage usage = {};
                        Bill bill = {};

                        g_assert_cmpstr(price_sheet_name(sheet), ==, sheet_names[i]);
                        settings.convention = convention;
                        for (int n = 0; n < 2000; n++) {
                                double before = bill.full;
                                Record record = record_new(
                                                (RecordKind) g_rand_int_range(rand, 0, _RECORD_KIND_MAX),
                                                g_rand_int(rand), g_rand_int(rand));

                                record.actor = g_rand_boolean(rand) ? UINT32_MAX : 0;
                                record.wasted = g_rand_boolean(rand);
                                record.emulated_round_nsec = g_rand_int(rand);
                                usage_add(&usage, sheet, &settings, &record);
                                bill_make(&usage, sheet, &settings, &bill);
                                assert_bill_holds(&bill, before);
                        }
                        g_assert_cmpfloat(bill.paper, >, 0);
                        g_assert_cmpuint(usage.round_start_nano, >, 0);
                }
}

/* A sum of absurd quantities stays at the highest number, and does not start again from 0. */
static void test_saturation(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(sheet_names); i++) {
                g_autoptr(PriceSheet) sheet = sheet_load(sheet_names[i]);
                JobSettings settings = settings_new("Job.Budget", "1");
                Usage usage = {};
                Bill bill = {};
                double before;

                for (int n = 0; n < 3; n++)
                        for (uint32_t kind = 0; kind < _RECORD_KIND_MAX; kind++) {
                                Record record = record_new((RecordKind) kind, UINT64_MAX - 5, UINT64_MAX);

                                record.metered.end_nsec = UINT64_MAX;
                                record.emulated_round_nsec = UINT64_MAX - 1;
                                usage_add(&usage, sheet, &settings, &record);
                                before = bill.full;
                                bill_make(&usage, sheet, &settings, &bill);
                                assert_bill_holds(&bill, before);
                        }
                g_assert_cmpuint(usage.emulated_nsec, ==, UINT64_MAX);
                g_assert_cmpuint(usage.accounts[CHARGE_ACTOR_EXECUTION].mib_usec, ==, UINT64_MAX);
                g_assert_true(budget_spent(&usage, &settings));
        }
}

static void test_budget(void) {
        g_autoptr(PriceSheet) sheet = sheet_load("aws-lambda-x86");
        JobSettings settings = settings_new("Job.Budget", "0.001"), unlimited = settings_new(NULL, NULL);
        Record rollout = record_new(RECORD_ROLLOUT, 10 * SEC, 1024 * MIB),
               round = record_new(RECORD_ROUND, 0, 0), started = record_new(RECORD_STARTED, 0, 0);
        Usage usage = {};
        uint64_t n;

        g_assert_false(budget_spent(&usage, &settings));
        usage_add(&usage, sheet, &settings, &rollout);
        usage_add(&usage, sheet, &settings, &round);
        /* A round costs 0.000166867 USD. 0.001 USD pay five; a sixth begins with the rest of the money. */
        g_assert_cmpuint(usage.round_start_nano, ==, 166867);
        usage_add(&usage, sheet, &settings, &rollout);
        g_assert_cmpuint(usage.round_start_nano, ==, 166867); /* an open round changes nothing */
        usage_add(&usage, sheet, &settings, &round);
        for (n = 2; !budget_spent(&usage, &settings); n++) {
                usage_add(&usage, sheet, &settings, &rollout);
                usage_add(&usage, sheet, &settings, &round);
        }
        g_assert_cmpuint(n, ==, 6);
        g_assert_false(budget_spent(&usage, &unlimited));

        /* The budget also pays for lives that end in their first round. So it ends a job to which this
         * happens again and again. */
        usage = (Usage){};
        for (n = 0; !budget_spent(&usage, &settings); n++) {
                usage_add(&usage, sheet, &settings, &started);
                usage_add(&usage, sheet, &settings, &rollout);
        }
        g_assert_cmpuint(n, ==, 7);
}

/* A reboot sets the records' clock back. A frozen job gains no wall time. rows: kind, time, sum. */
static void test_reboot(void) {
        static const uint64_t rows[][3] = { { RECORD_STARTED, 1000, 0 }, { RECORD_ROUND, 1010, 10 },
                { RECORD_STARTED, 20, 10 }, { RECORD_ENDED, 26, 16 }, { RECORD_STARTED, 5000, 16 },
                { RECORD_ENDED, 5002, 18 } };
        g_autoptr(PriceSheet) sheet = sheet_load("local");
        JobSettings settings = settings_new(NULL, NULL);
        Usage usage = {};

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Record record = record_new((RecordKind) rows[i][0], 0, 0);

                record.end = rows[i][0] == RECORD_ENDED ? PLAN_END_PREEMPTED : PLAN_END_NOT;
                record.metered.start_nsec = record.metered.end_nsec = rows[i][1] * SEC;
                usage_add(&usage, sheet, &settings, &record);
                g_assert_cmpuint(usage.wall_nsec, ==, rows[i][2] * SEC);
        }
}

/* For each kind of charge: docs/actorctl.1 explains it, its CPU time counts once, and all lines of the bill
 * belong to it and add up to the totals. */
static void test_charges(void) {
        g_autofree char *path = g_strdup_printf("%s/docs/actorctl.1", g_getenv("ACTORD_SOURCE") ?: "."),
                        *page = NULL;
        static const char *const sheets[] = { "aws-lambda-x86", "azure-aci", "local", "ec2-nitro" };
        JobSettings settings = settings_new(NULL, NULL);

        g_assert_true(g_file_get_contents(path, &page, NULL, NULL));
        for (uint32_t c = 0; c < _CHARGE_MAX; c++) {
                const Account account = { SEC, { SEC, SEC }, SEC, SEC, SEC, 7, SEC, 0 };
                g_autofree char *explained = g_strdup_printf("\n.B %s\n", charge_to_string(c));
                Usage usage = {};
                uint64_t cpu_nsec = 0;

                usage.accounts[c] = account;
                if (!strstr(page, explained))
                        g_error("docs/actorctl.1 does not explain the charge %s", charge_to_string(c));
                for (CpuUse use = CPU_USE_ACTORS; use < _CPU_USE_MAX; use++)
                        cpu_nsec += usage_cpu_nsec(&usage, use);
                g_assert_cmpuint(cpu_nsec, ==, SEC);
                for (size_t i = 0; i < G_N_ELEMENTS(sheets); i++) {
                        g_autoptr(PriceSheet) sheet = sheet_load(sheets[i]);
                        double paper = 0, full = 0;
                        Bill bill;

                        bill_make(&usage, sheet, &settings, &bill);
                        g_assert_cmpuint(bill.n_lines, >, 0);
                        for (size_t k = 0; k < bill.n_lines; k++) {
                                g_assert_cmpuint(bill.lines[k].charge, ==, c);
                                full += bill.lines[k].amount;
                                paper += bill.lines[k].paper ? bill.lines[k].amount : 0;
                        }
                        g_assert_cmpfloat(bill.full, ==, full);
                        g_assert_cmpfloat(bill.paper, ==, paper);
                        g_assert_cmpfloat(bill.training + bill.evaluation, ==, full);
                        g_assert_cmpfloat(bill.evaluation, ==, c == CHARGE_EVALUATION ? full : 0);
                }
        }
        g_assert_null(charge_to_string(_CHARGE_MAX));
}

static const char good_sheet[] = "[Sheet]\nName=a\nDate=2024-01-31\nSource=b\nCurrency=USD\nDescription=c\n";

static void test_bad_sheets(void) {
        static const struct {
                const char *more, *message;
        } rows[] = {
                { "[Execution]\nGbSecnd=1\n",
                                "8: [Execution] GbSecnd=: unknown key; did you mean GBSecond=?" },
                { "[Execution]\nGBSecond=cheap\n", "8: [Execution] GBSecond=: \"cheap\" is not a number." },
                { "[Execution]\nGBSecond=nan\n", "8: [Execution] GBSecond=: \"nan\" is not a number." },
                { "[Execution]\nGBSecond=-1\n",
                                "8: [Execution] GBSecond=: -1 is out of range: 0 to 1e+06." },
                { "[Execution]\nGBSecond=1e999\n",
                                "8: [Execution] GBSecond=: 1e999 is out of range: 0 to 1e+06." },
                { "[Excution]\nGBSecond=1\n", "7: [Excution]: unknown section; did you mean [Execution]?" },
                { "what is this\n", "7: \"what is this\": neither a [Section] nor a Key=VALUE nor a # "
                                    "comment." },
                { "[Sheet\n", "7: \"[Sheet\": a section is written as [Section]." },
                { "Date=2024-02-30\n", "7: [Sheet] Date= is in line 3 already; remove one of the two." },
                { "[Energy]\nKWh=1\n[Sheet]\nName=b\n",
                                "10: [Sheet] Name= is in line 2 already; remove one of the two." },
                { "[Energy]\nKWh=1\n", "8: [Energy] KWh=: KWh= and WattsPerCore= must be given together." },
                { "[Actors]\nPerHour=1\n",
                                "8: [Actors] PerHour=: Both [Learner] and [Actors] need PerHour=." },
                { "", "1: no price at all: give [Execution] rates, [Energy], or the servers [Learner] and "
                      "[Actors]." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strconcat(good_sheet, rows[i].more, NULL), *message = NULL;
                g_autoptr(PriceSheet) sheet = NULL;

                g_assert_cmpint(price_sheet_parse(text, "s.sheet", &sheet, &message), ==, -EINVAL);
                g_assert_null(sheet);
                g_assert_true(g_str_has_prefix(message, "s.sheet:"));
                g_assert_cmpstr(message + strlen("s.sheet:"), ==, rows[i].message);
        }
}

static void test_bad_texts(void) {
        static const char after[] = "\nSource=b\nCurrency=USD\nDescription=c\n";
        static const struct {
                const char *text, *message;
        } rows[] = {
                { "[Execution]\nGBSecond=1\n", "s:1: [Sheet]: Name= is missing." },
                { "[Sheet]\nName=a\nDate=2024-02-30",
                                "s:3: [Sheet] Date=: \"2024-02-30\" is not a date: write YYYY-MM-DD." },
                { "[Sheet]\nDate=2024-01-31\nName=A B", "s:3: [Sheet] Name=: \"A B\" is not a name: "
                                                        "use up to 64 of a-z, 0-9 and \"-\"." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strconcat(rows[i].text, i > 0 ? after : "", NULL), *message = NULL;
                PriceSheet *sheet = NULL;

                g_assert_cmpint(price_sheet_parse(text, "s", &sheet, &message), ==, -EINVAL);
                g_assert_cmpstr(message, ==, rows[i].message);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/price/round", test_round);
        g_test_add_func("/price/lambda-hopper", test_lambda_hopper);
        g_test_add_func("/price/lambda-rules", test_lambda_rules);
        g_test_add_func("/price/aci", test_aci);
        g_test_add_func("/price/budget-currency", test_budget_currency);
        g_test_add_func("/price/server", test_server);
        g_test_add_func("/price/server-idle", test_server_idle);
        g_test_add_func("/price/stellaris-hpc", test_stellaris_hpc);
        g_test_add_func("/price/shares", test_shares);
        g_test_add_func("/price/slurm", test_slurm);
        g_test_add_func("/price/local", test_local);
        g_test_add_func("/price/all-sheets", test_all_sheets);
        g_test_add_func("/price/saturation", test_saturation);
        g_test_add_func("/price/budget", test_budget);
        g_test_add_func("/price/reboot", test_reboot);
        g_test_add_func("/price/charges", test_charges);
        g_test_add_func("/price/bad-sheets", test_bad_sheets);
        g_test_add_func("/price/bad-texts", test_bad_texts);
        return g_test_run();
}
