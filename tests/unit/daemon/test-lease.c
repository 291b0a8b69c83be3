/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests leases: up to which round the invoker may go, and when the budget ends the job. Both are functions
 * of settings and records. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "daemon/lease.h"
#include "lib/settings/settings.h"

typedef struct Fixture {
        JobSettings settings;
        PriceSheet *sheet;
        Usage usage;
        SchedulerState state;
        bool step;
} Fixture;

static void set_up(Fixture *f, const void *text) {
        g_autofree char *message = NULL, *sheet = NULL;
        char path[] = "packaging/price/aws-lambda-x86.sheet";
        int r;

        r = settings_parse(text, "test.conf", NULL, 0, NULL, &f->settings, &message);
        g_assert_cmpint(r, ==, 0);
        g_assert_true(g_file_get_contents(path, &sheet, NULL, NULL));
        g_assert_cmpint(price_sheet_parse(sheet, path, &f->sheet, &message), ==, 0);
        scheduler_init(&f->state, f->settings.scheduler.kind);
        g_assert_cmpint(scheduler_decide(&(SchedulerView){ .settings = &f->settings }, &f->state), ==, 1);
}

static void tear_down(Fixture *f, const void *text) {
        (void) price_sheet_free(f->sheet);
}

static Plan lease(Fixture *f, uint64_t round, uint32_t end) {
        LeaseInput input = {
                .settings = &f->settings,
                .usage = &f->usage,
                .scheduler = &f->state,
                .step = f->step,
                .round = round,
                .acknowledged = 7,
                .end = end,
                .stop_deadline_nsec = 99,
        };
        Plan plan;

        lease_make(&input, &plan);
        return plan;
}

static void test_no_budget(Fixture *f, const void *text) {
        Plan plan = lease(f, 0, PLAN_END_NOT);

        g_assert_cmpuint(plan.abi, ==, PLAN_ABI);
        g_assert_cmpuint(plan.message, ==, PLAN_MESSAGE_PLAN);
        g_assert_cmpuint(plan.through_round, ==, UINT64_MAX);
        g_assert_cmpuint(plan.decision.n_actors, ==, 5);
        g_assert_cmpuint(plan.decision.id, ==, 1);
        g_assert_cmpuint(plan.acknowledged, ==, 7);
        g_assert_cmpuint(plan.end, ==, PLAN_END_NOT);

        f->step = true;
        plan = lease(f, 3, PLAN_END_NOT);
        g_assert_cmpuint(plan.through_round, ==, 4);
        f->step = false;
        g_assert_cmpuint(plan.stop_deadline_nsec, ==, 0);

        /* The whole job has one decision, so a second request for a lease returns the same one. */
        plan = lease(f, 1000, PLAN_END_NOT);
        g_assert_cmpuint(plan.through_round, ==, UINT64_MAX);
        g_assert_cmpuint(plan.decision.id, ==, 1);
}

static void test_end(Fixture *f, const void *text) {
        Plan plan = lease(f, 12, PLAN_END_INTERRUPTED);

        g_assert_cmpuint(plan.end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(plan.through_round, ==, 12);
        g_assert_cmpuint(plan.stop_deadline_nsec, ==, 99);
        g_assert_cmpuint(plan.decision.n_actors, ==, 5); /* a plan without a decision is not valid */
}

/* A scheduler that decides each round gets leases of one round. */
static void test_deciding(Fixture *f, const void *text) {
        Plan plan = lease(f, 0, PLAN_END_NOT);

        g_assert_cmpuint(plan.through_round, ==, 1);
        g_assert_cmpuint(plan.decision.id, ==, 1);
        g_assert_cmpuint(plan.decision.n_actors, ==, f->state.n_actors);
        plan = lease(f, 1, PLAN_END_NOT);
        g_assert_cmpuint(plan.through_round, ==, 2);
}

static void test_budget(Fixture *f, const void *text) {
        Plan plan = lease(f, 0, PLAN_END_NOT);

        /* The next round may cost more than the money that is left, so the lease is one round. */
        g_assert_cmpuint(plan.through_round, ==, 1);
        f->usage.round_start_nano = 900 * 1000 * 1000;
        plan = lease(f, 40, PLAN_END_NOT);
        g_assert_cmpuint(plan.through_round, ==, 41);
        g_assert_cmpuint(plan.end, ==, PLAN_END_NOT);

        f->usage.round_start_nano = 999 * 1000 * 1000;
        plan = lease(f, 49, PLAN_END_NOT);
        g_assert_cmpuint(plan.through_round, ==, 50);

        f->usage.round_start_nano = 1000 * 1000 * 1000;
        plan = lease(f, 50, PLAN_END_NOT);
        g_assert_cmpuint(plan.end, ==, PLAN_END_BUDGET);
        g_assert_cmpuint(plan.through_round, ==, 50);

        /* The user's request to stop is the reason for the end, even if the budget is spent, too. */
        plan = lease(f, 50, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(plan.end, ==, PLAN_END_INTERRUPTED);
}

static void test_budget_end_of_numbers(Fixture *f, const void *text) {
        Plan plan = lease(f, UINT64_MAX, PLAN_END_NOT);

        g_assert_cmpuint(plan.through_round, ==, UINT64_MAX);
}

/* One round's records, as an invoker writes them: new actors start cold; each attempt is killed with a
 * given probability. */
static void round_run(
                Fixture *f, GRand *rand, uint32_t n_actors, uint32_t *warm, double killed, uint64_t round) {
        Record record = { .life = 1, .round = round };

        for (uint32_t a = 0; a < n_actors; a++) {
                bool again;

                record.kind = RECORD_ROLLOUT;
                record.actor = a;
                record.attempt = 0;
                record.cold = a >= *warm;
                do {
                        again = g_rand_double(rand) < killed;
                        record.wasted = again;
                        record.metered.emulated_nsec =
                                        (uint64_t) ((g_rand_double_range(rand, 0.9, 1) + 0.3 * record.cold) *
                                                        1e9);
                        usage_add(&f->usage, f->sheet, &f->settings, &record);
                        record.attempt++;
                        record.cold = true;
                } while (again);
        }
        *warm = MAX(*warm, n_actors);
        record = (Record){ .life = 1, .round = round, .kind = RECORD_UPDATE, .actor = UINT32_MAX };
        record.metered.emulated_nsec = (uint64_t) (0.1 * n_actors * 1e9);
        usage_add(&f->usage, f->sheet, &f->settings, &record);
        record = (Record){ .life = 1, .round = round, .kind = RECORD_ROUND };
        usage_add(&f->usage, f->sheet, &f->settings, &record);
}

/* A job passes its budget by one round at most, for any budget, any deaths of actors, any jumps of the
 * number of actors, and whether the daemon looks after each round or only at the end of a lease. */
static void budgets_end(Fixture *f, bool late, double killed) {
        for (uint32_t run = 0; run < 200; run++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(run);
                uint64_t round = 0, spent = 0, last = 0;
                uint32_t warm = 0;
                Plan plan;

                f->usage = (Usage){};
                f->settings.seed = run;
                f->settings.budget.nano = (uint64_t) exp(g_rand_double_range(rand, log(1e4), log(1e7)));
                scheduler_init(&f->state, f->settings.scheduler.kind);
                for (;;) {
                        Statistics statistics = {};
                        RoundFacts facts = {};

                        (void) scheduler_decide(&(SchedulerView){ .settings = &f->settings,
                                                                .statistics = &statistics,
                                                                .facts = &facts,
                                                                .round = round },
                                        &f->state);
                        plan = lease(f, round, PLAN_END_NOT);
                        if (plan.end == PLAN_END_BUDGET)
                                break;
                        g_assert_cmpuint(plan.through_round, >, round);
                        do {
                                round_run(f, rand, plan.decision.n_actors, &warm, killed, ++round);
                                last = f->usage.round_start_nano - spent;
                                spent = f->usage.round_start_nano;
                        } while (late && round < plan.through_round);
                }
                g_assert_cmpuint(spent, >=, f->settings.budget.nano);
                g_assert_cmpuint(spent - last, <, f->settings.budget.nano);
        }
}

static void test_budgets(Fixture *f, const void *text) {
        budgets_end(f, false, 0);
        budgets_end(f, false, 0.3);
        budgets_end(f, true, 0.3);
}

int main(int argc, char **argv) {
        static const char plain[] = "[Job]\nEnvironment=CartPole-v1\n[Scaling]\nActors=5\n";
        static const char random[] =
                        "[Job]\nEnvironment=CartPole-v1\n[Scaling]\nPolicy=random\nMaxActors=9\n";
        static const char budget[] = "[Job]\nEnvironment=CartPole-v1\nBudget=1\n[Scaling]\nActors=5\n";

        static const char boosts[] =
                        "[Job]\nEnvironment=CartPole-v1\nBudget=1\n[Scaling]\nPolicy=random\nMaxActors=32\n";

        g_test_init(&argc, &argv, NULL);
        g_test_add("/lease/no-budget", Fixture, plain, set_up, test_no_budget, tear_down);
        g_test_add("/lease/end", Fixture, plain, set_up, test_end, tear_down);
        g_test_add("/lease/deciding", Fixture, random, set_up, test_deciding, tear_down);
        g_test_add("/lease/budget", Fixture, budget, set_up, test_budget, tear_down);
        g_test_add("/lease/budgets", Fixture, budget, set_up, test_budgets, tear_down);
        g_test_add("/lease/budgets-boosts", Fixture, boosts, set_up, test_budgets, tear_down);
        g_test_add("/lease/end-of-numbers", Fixture, budget, set_up, test_budget_end_of_numbers, tear_down);
        return g_test_run();
}
