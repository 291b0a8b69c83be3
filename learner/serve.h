/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Acting for actors, step by step, after "SEED RL: Scalable and Efficient Deep-RL with Accelerated
 * Central Inference" (Espeholt et al., ICLR'20). The batch is the actors that have asked, or all of them
 * (include/fragment.h: the inference barrier); as a row's actions depend on the row alone, who was served
 * together with whom changes nothing. */
#pragma once

#include "include/fragment.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/turn.h"
#include "learner/threads.h"

typedef struct Serve Serve;

/* asks_fd: epoll of the bells that actors ring. threads stay the caller's. 0, -ENOMEM, -E2BIG, -EINVAL. */
int serve_new(const JobSettings *settings, const JobPage *page, WorkerPage *worker, void *const *segments,
                const void *policy, Threads *threads, int asks_fd, Serve **ret);
Serve *serve_free(Serve *serve);

/* Until worker->serve_stop; meanwhile worker->served_nsec says that it still looks. 0; -ESTALE: the
 * policy version is not there; -EINVAL: the order is none of ours. */
int serve_run(Serve *serve, const Order *order);
