/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that acts and learns. The invoker reads each number of its page once, since the process may
 * write at any time: a seat that was neither accepted nor failed would never get an order again, and the job
 * would wait without end. And a stop never cuts an update short, although one order asks for both. */
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

#include "invoker/learner.h"
#include "tests/unit/invoker-fixture.h"

/* An update takes about a hundred times as long as the rollout before it. */
#define CARTPOLE                                                                                     \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000000\n[Distribution]\nPolicy=fused\n[Actor]\n" \
        "RolloutSteps=64\n[Learner]\nMinibatchSize=64\nEpochs=5000\nHiddenLayers=64 64\n"

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

/* Waits until the process has begun to learn. False: this user may not look into its page. */
static bool wait_for_learning(const Job *job) {
        WorkerPage *page = job_take_page(job, "learner", sizeof(WorkerPage));
        uint64_t nsec = 0;

        if (!page)
                return false;
        for (unsigned i = 0; i < WAIT_MSEC && (nsec == 0 || nsec == LEARNING_FORBIDDEN); i++) {
                g_usleep(1000);
                nsec = atomic_load(&page->learning_nsec);
        }
        g_assert_cmpuint(nsec, >, 0);
        fd_unmap(page, sizeof(WorkerPage));
        return true;
}

/* The job is stopped while it learns from its first round, and the deadline for the end of that round is
 * over. The round is finished: the checkpoint has the policy that the records tell of. */
static void test_stop(void) {
        uint8_t policy[32];
        const Record *ended;
        Job job;

        for (unsigned late = 0; late < 2; late++) {
                job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
                g_assert_true(job_start(&job));
                (void) job_connect(&job);
                if (late) {
                        job_send_plan(&job);
                        if (!wait_for_learning(&job)) {
                                g_test_skip("this user may not take descriptors of another process");
                                job_done(&job);
                                return;
                        }
                        job.plan.stop_deadline_nsec = 1;
                } else
                        job_round(&job, 1, 1);
                job.plan.end = PLAN_END_INTERRUPTED;
                ended = job_finish(&job);
                job_print_log(&job);
                g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
                g_assert_cmpuint(job_count(&job, RECORD_CHECKPOINT, false), ==, 1);
                g_assert_cmpuint(job_count(&job, RECORD_UPDATE, false), ==, 1);
                g_assert_cmpuint(job_count(&job, RECORD_ROUND, false), ==, 1);
                if (late)
                        g_assert_cmpmem(policy, sizeof(policy), ended->sha256, sizeof(ended->sha256));
                memcpy(policy, ended->sha256, sizeof(policy));
                job_done(&job);
        }
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_func("/fused/take", test_take);
        g_test_add_func("/fused/stop", test_stop);
        return job_tests_run();
}
