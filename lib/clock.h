/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The emulated clock: the time that a job would have taken on an emulated fleet, in which each actor has
 * a reserved share of a CPU. Pure. The invoker computes this time once, when it writes a record. Only
 * the record of a life's lost CPU time is the daemon's, and an inner job computes its own times. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* The share of a vCPU in an allocation, in thousandths. It is CPUQuota= if that is set; otherwise memory /
 * 1769 MB, as on Lambda. */
uint64_t clock_share_permille(const JobSettings *settings);

/* The time of one actor invocation: start-up (cold or warm) + CPU / share. Under Clock=model the CPU time is
 * n_steps times StepUSec=. */
uint64_t clock_invocation_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t n_steps, bool cold);
/* The emulated time of CPU time that belongs to no invocation, on an actor's share of a CPU. cpu_nsec is
 * measured, even under Clock=model. */
uint64_t clock_lost_nsec(const JobSettings *settings, uint64_t cpu_nsec);
/* The time of a learner's update: the CPU time of its slowest thread; under Clock=model, the rows of its
 * gradients times UpdateUSec=. */
uint64_t clock_update_nsec(const JobSettings *settings, uint64_t slowest_thread_nsec, uint64_t n_rows);
/* How much longer the rollouts of a round take with n_now CPUs than they would with n_asked. This is the
 * time lost to nodes that are still pending. cpu_nsec: the CPU time of all rollouts, which the CPUs share;
 * most_nsec: that of the longest rollout, since a round is never shorter. 0 under Clock=model, and if no
 * node is missing. */
uint64_t clock_wait_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t most_nsec, uint32_t n_now,
                uint32_t n_asked);
/* The duration of a round: learner + slowest actor (they do not overlap under single-learner-coarse). */
uint64_t clock_round_nsec(uint64_t slowest_actor_nsec, uint64_t update_nsec);
