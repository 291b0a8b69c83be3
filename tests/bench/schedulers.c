/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how long one decision takes with each scheduling policy; the next round waits for it. Each policy
 * gets the input that it needs. For permuted this is a list of 100,000 rounds, and the decisions are made in
 * its middle. For minions it is a network for 32 numbers of actors. */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/scheduler/scheduler.h"
#include "include/minions.h"
#include "lib/settings/print.h"
#include "tests/unit/sheet-fixture.h"

enum {
        ROUNDS = 2000,
        LIST_LONG = 100000, /* rounds of a long job */
        MOST = 32,
};

static PriceSheet *sheet;

static double now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

/* Prints the median and the 99th percentile of the time of one decision. */
static void measure(const char *name, const JobSettings *settings, const void *data, size_t n_data,
                uint64_t first, uint32_t n_rounds) {
        g_autofree double *usec = g_new(double, n_rounds);
        SchedulerState state;
        uint32_t n = MOST;

        scheduler_init(&state, settings->scheduler.kind);
        for (uint32_t i = 0; i < n_rounds; i++) {
                Statistics statistics = { .return_round = i, .evaluation_mean = NAN, .kl = 0.01 };
                RoundFacts facts = { .n_actors = n,
                        .learner_nsec = 1000000 + i % 7,
                        .actor_mean_nsec = 2000000,
                        .actor_slowest_nsec = 2000000 + i % 11,
                        .round_nsec = 3000000 };
                SchedulerView view = { settings, &statistics, &facts, first + i, data, n_data, sheet };
                double start;

                statistics.noise_scale = statistics.curvature_ratio = statistics.curvature_loss =
                                100 + i % 13;
                start = now_usec();
                (void) scheduler_decide(&view, &state);
                usec[i] = now_usec() - start;
                n = state.n_actors;
        }
        qsort(usec, n_rounds, sizeof(double), compare);
        printf("%-24s %8.2f us %8.2f us\n", name, usec[n_rounds / 2], usec[n_rounds - 1 - n_rounds / 100]);
}

static void *minions_make(size_t *ret_n) {
        MinionsModel model = { .magic = MINIONS_MAGIC, .abi = MINIONS_ABI, .n_choices = MOST };
        size_t n = sizeof(model) + MINIONS_PARAMETERS(MOST) * sizeof(float);
        void *data = g_malloc0(n);

        memcpy(data, &model, sizeof(model));
        *ret_n = n;
        return data;
}

int main(void) {
        g_autofree uint32_t *list = g_new(uint32_t, LIST_LONG);
        JobSettings settings = { .n_actors = 4,
                .n_actors_min = 1,
                .n_actors_max = MOST,
                .window = 64,
                .decay = 0.96,
                .envs_per_actor = 1,
                .rollout_steps = 128,
                .time_price = 1,
                .stop_return = 475,
                .stop_steps = 1000000,
                .memory_max_bytes = 1 << 30,
                .learner_memory_max_bytes = 1 << 30 };
        size_t n_network;
        g_autofree void *network = minions_make(&n_network);
        g_autoptr(PriceSheet) own = sheet_new(
                        SHEET("[Execution]\nGranularityMSec=1\nGBSecond=0.0000166667\nRequest=0.0000002\n"));

        sheet = own;
        for (uint32_t i = 0; i < LIST_LONG; i++)
                list[i] = 1 + i % MOST;
        settings.schedule = (setting_counts){ .n = 2, .runs = { { 4, 20 }, { 8, 20 } } };
        settings.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        settings.present[SETTING_Job_StopReturn / 64] |= 1ull << (SETTING_Job_StopReturn % 64);

        printf("%-24s %11s %11s\n", "one decision", "median", "1 in 100");
        for (uint32_t kind = 0; kind < _SCHEDULER_MAX; kind++) {
                const char *name = choice_scheduler_to_string(kind);

                settings.scheduler.kind = kind;
                if (kind == SCHEDULER_MINIONS)
                        measure(name, &settings, network, n_network, 1, ROUNDS);
                else if (scheduler_has(kind, TRAIT_TAKES_JOB))
                        measure(name, &settings, list, 1000 * sizeof(*list), 1, 990);
                else
                        measure(name, &settings, NULL, 0, 1, ROUNDS);
        }
        settings.scheduler.kind = SCHEDULER_PERMUTED;
        measure("permuted, 100000 rounds", &settings, list, LIST_LONG * sizeof(*list), 1, 50);
        return 0;
}
