/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the invoker reads from the page of a process that acts and learns: each number once, as the process
 * may write at any time. A seat that was neither accepted nor failed would never get an order again, and the
 * job would wait without end. */
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

#include "invoker/learner.h"

enum { N_TRIES = 200000 };

typedef struct Writer {
        Acted *acted;
        _Atomic bool stop;
} Writer;

static void *write_faults(void *userdata) {
        Writer *writer = userdata;
        volatile uint32_t *fault = &writer->acted->fault;

        while (!atomic_load_explicit(&writer->stop, memory_order_relaxed)) {
                *fault = FAULT_ENVIRONMENT;
                *fault = FAULT_NONE;
        }
        return NULL;
}

static void test_take(void) {
        g_autofree WorkerPage *page = g_new0(WorkerPage, 1);
        g_autofree Round *round = g_new0(Round, 1);
        Learners learners = { .workers = { WORKER_EMPTY } };
        Writer writer = { .acted = &page->acted[0] };
        unsigned n_failed = 0;
        pthread_t thread;

        learners.workers[0].page = page;
        learners.workers[0].meter.cpu_fd =
                        open("/dev/zero", O_RDONLY | O_CLOEXEC); /* its reading takes time */
        g_assert_cmpint(pthread_create(&thread, NULL, write_faults, &writer), ==, 0);
        for (unsigned i = 0; i < N_TRIES; i++) {
                int32_t detail = 0;
                uint32_t fault;

                round_init(round, 1, 1);
                round_begin(round, 1, 1, 1);
                round_order(round, 0, false);
                fault = fused_take(&learners, round, 0, &detail);
                g_assert_cmpuint(fault, <, _FAULT_MAX);
                g_assert_cmpint(fault == FAULT_NONE, ==, round->seats[0].state == SEAT_TAKEN);
                n_failed += fault != FAULT_NONE;
        }
        atomic_store(&writer.stop, true);
        g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
        meter_done(&learners.workers[0].meter);
        g_test_message("%u of %u failed", n_failed, (unsigned) N_TRIES);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/fused/take", test_take);
        return g_test_run();
}
