/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An environment that takes memory ([Environment] Take=, MiB) or time (Spin=, microseconds a step) on
 * demand. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "../plain-env.h"

typedef struct Greedy {
        uint32_t take_mib, spin_usec, steps;
} Greedy;

static uint32_t option_number(const ActordOption *options, uint32_t n, const char *key) {
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(options[i].key, key) == 0)
                        return (uint32_t) strtoul(options[i].value, NULL, 10);
        return 0;
}

static int greedy_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Greedy *g = instance;

        g->take_mib = option_number(options, n_options, "Take");
        g->spin_usec = option_number(options, n_options, "Spin");
        return 0;
}

static int greedy_reset(void *instance, ActordRandom *random, void *ret_observation) {
        *(float *) ret_observation = (float) actord_random_uniform(random, -1, 1);
        ((Greedy *) instance)->steps = 0;
        return 0;
}

static int greedy_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Greedy *g = instance;
        clock_t end = clock() + (clock_t) ((uint64_t) g->spin_usec * CLOCKS_PER_SEC / 1000000);

        if (g->take_mib > 0 && g->steps == 10) {
                size_t n = (size_t) g->take_mib << 20;
                char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        return -12;
                memset(p, 1, n);
                (void) munmap(p, n);
        }
        while (clock() < end)
                ;
        g->steps++;
        *(float *) ret_observation = (float) g->steps / 50;
        *ret = (ActordStep){ .reward = *(const int32_t *) action ? 1 : 0 };
        return 0;
}

PLAIN_ENV(greedy, Greedy);
