/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program actord-learner maps the memory that the invoker left at fixed descriptors (include/turn.h),
 * then carries out orders until ORDER_END. For `actorctl run --profile` it only prints how many operations a
 * second a core of this host can do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "learner/learner.h"
#include "learner/limit.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/fragment.h"
#include "lib/limits.h"
#include "lib/reduce.h"
#include "lib/turn.h"
#include "lib/width.h"

/* How long to spin for the next order, which often comes soon. After an update, actors act first: only
 * rollouts of few steps end in time. A spin that is in vain may keep the invoker from this core. */
enum { SPIN_NSEC = 50000, SPIN_STEPS = 64 };

DEFINE_CLEANUP(Learner *, learner_free)

static int map(int fd, uint64_t bytes, bool writable, const char *what, void **ret) {
        int r;

        r = fd_map(fd, bytes, writable, ret);
        if (r < 0)
                (void) fprintf(stderr, "actord-learner: could not map the %s (descriptor %d): %s\n", what,
                                fd, strerror(-r));
        return r;
}

static int map_settings(const JobSettings **ret_settings, const JobPage **ret_page) {
        void *settings, *page;
        int r;

        r = map(LEARNER_FD_SETTINGS, sizeof(JobSettings), false, "settings", &settings);
        if (r < 0)
                return r;
        r = map(LEARNER_FD_JOB_PAGE, sizeof(JobPage), false, "job page", &page);
        if (r < 0)
                return r;

        *ret_settings = settings;
        *ret_page = page;
        if ((*ret_settings)->abi != SETTINGS_ABI || (*ret_settings)->struct_bytes != sizeof(JobSettings) ||
                        (*ret_page)->magic != JOB_PAGE_MAGIC || (*ret_page)->abi != SLOT_ABI ||
                        (*ret_page)->struct_bytes != sizeof(JobPage)) {
                (void) fprintf(stderr, "actord-learner: the job's settings or shared memory are of "
                                       "another version: install all programs of actord from one build\n");
                return -EPROTO;
        }
        return 0;
}

/* Maps the policy. Only the first learner writes the policy that actors read. The others write their
 * versions into memory of their own. All learners share gradients, and the policy's parameters, in
 * LEARNER_FD_REDUCE. */
static int map_policy(LearnerContext *context) {
        const JobPage *page = context->page;
        ReduceLayout layout;
        int r;

        if (context->learner == 0) {
                r = map(LEARNER_FD_POLICY, page->policy.segment_bytes, true, "policy", &context->policy);
                if (r < 0)
                        return r;
        } else {
                context->policy = aligned_alloc(4096, page->policy.segment_bytes);
                if (!context->policy)
                        return -ENOMEM;
                memset(context->policy, 0, page->policy.segment_bytes);
        }
        if (context->n_learners <= 1)
                return 0;
        reduce_layout(context->settings, page, &layout);
        return map(LEARNER_FD_REDUCE, layout.bytes, true, "learners' shared memory", &context->reduce);
}

static int map_context(LearnerContext *ret, void ***ret_segments) {
        const Distribution *row;
        uint32_t n_actors;
        _cleanup_free_ void **segments = NULL;
        void *worker;
        int r;

        r = map_settings(&ret->settings, &ret->page);
        if (r < 0)
                return r;
        r = map(LEARNER_FD_WORKER_PAGE, sizeof(WorkerPage), true, "worker page", &worker);
        if (r < 0)
                return r;

        row = distribution_of(ret->settings);
        if (!row)
                return -EINVAL;
        ret->worker = worker;
        ret->learner = ret->worker->learner;
        ret->n_learners = distribution_learners(row, ret->settings);
        ret->n_updaters = distribution_updaters(row, ret->settings);
        r = map_policy(ret);
        if (r < 0)
                return r;
        n_actors = settings_actors_max(ret->settings);
        segments = calloc(n_actors, sizeof(void *));
        if (!segments)
                return -ENOMEM;
        for (uint32_t a = 0; a < n_actors; a++) {
                r = map(LEARNER_FD_SEGMENTS + (int) a, ret->page->segment.segment_bytes, true, "segment",
                                &segments[a]);
                if (r < 0)
                        return r;
                /* The mapping is enough. The descriptor could only be used to resize the file. */
                (void) close(LEARNER_FD_SEGMENTS + (int) a);
        }

        ret->segments = *ret_segments = TAKE_PTR(segments);
        ret->state_fd = LEARNER_FD_STATE;
        ret->checkpoint_fd = LEARNER_FD_CHECKPOINT;
        ret->asks_fd = distribution_serves(row) && ret->learner == 0 ? LEARNER_FD_ASKS : 0;
        return 0;
}

static int run(void) {
        _cleanup_free_ void **segments = NULL;
        _cleanup_(learner_freep) Learner *learner = NULL;
        LearnerContext context = {};
        uint64_t spin_nsec = 0;
        bool acts_soon;
        int r;

        r = map_context(&context, &segments);
        if (r < 0)
                return r;
        r = learner_new(&context, &learner);
        if (r < 0) {
                (void) fprintf(stderr,
                                "actord-learner: the memory of this job's batch and network cannot be "
                                "set up: %s\n",
                                strerror(-r));
                return r;
        }

        acts_soon = context.page->segment.envs * context.page->segment.steps <= SPIN_STEPS;
        for (;;) {
                Answer answer;
                Order order;

                turn_wait(&context.worker->turn, spin_nsec, &order);
                if (order.kind == ORDER_END)
                        return 0;
                spin_nsec = order.kind != ORDER_LEARN || acts_soon ? SPIN_NSEC : 0;
                learner_obey(learner, &order, &answer);
                turn_reply(&context.worker->turn, &answer, LEARNER_FD_BELL);
        }
}

/* For `actorctl run --profile`: writes the speed of a core (learner/limit.h) to descriptor 3. actorctl
 * starts this program outside of a job. */
static int tell_limit(const char *kernel_class) {
        Width width = width_of_class((unsigned) strtoul(kernel_class, NULL, 10));

        if (!width_present(width))
                return EXIT_FAILURE;
        width_choose(width);
        return dprintf(LIMIT_FD, "%.0f\n", limit_measure()) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char *argv[]) {
        int r;

        if (argc == 3 && strcmp(argv[1], LIMIT_OPTION) == 0)
                return tell_limit(argv[2]);
        r = run();
        return r < 0 ? limit_exit_status(r) : EXIT_SUCCESS;
}
