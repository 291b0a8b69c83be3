/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner acts for actors, step by step, as in "SEED RL: Scalable and Efficient Deep-RL with Accelerated
 * Central Inference" (Espeholt et al., ICLR'20). A batch has the actors that have asked; or the learner
 * waits until all have asked (include/fragment.h: the inference barrier). A row's actions depend on the row
 * alone, so it does not matter which actors are served together. */
#pragma once

#include "include/fragment.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/turn.h"
#include "learner/threads.h"

typedef struct Serve Serve;

/* asks_fd: an epoll of the eventfds that actors signal. The caller keeps `threads`, and frees them after the
 * Serve. 0; -ENOMEM; or an error of forward_new(). */
int serve_new(const JobSettings *settings, const JobPage *page, WorkerPage *worker, void *const *segments,
                const void *policy, Threads *threads, int asks_fd, Serve **ret);
Serve *serve_free(Serve *serve);

/* Serves until worker->serve_stop is set. Meanwhile worker->served_nsec shows when the learner last looked
 * at its actors. 0; -ESTALE: the policy version is not in its bank; -EINVAL: the order is not valid. */
int serve_run(Serve *serve, const Order *order);
