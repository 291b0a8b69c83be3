/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The emulated clock: the time that a fleet would have taken in which each actor has a reserved share of
 * a CPU. Pure; the invoker computes it once, when it writes a record. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* vCPU share of an allocation in thousandths: Lambda's memory / 1769 MB; or CPUQuota= where it is given. */
uint64_t clock_share_permille(const JobSettings *settings);

/* One actor invocation: start-up (cold or warm) + CPU / share. Under Clock=model CPU is n_steps times
 * StepUSec=. */
uint64_t clock_invocation_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t n_steps, bool cold);
/* The duration of CPU time that no invocation claims, on an actor's share; always as metered. */
uint64_t clock_lost_nsec(const JobSettings *settings, uint64_t cpu_nsec);
/* A learner's update: CPU of its slowest thread; under Clock=model the rows of its gradients times
 * UpdateUSec=. */
uint64_t clock_update_nsec(const JobSettings *settings, uint64_t slowest_thread_nsec, uint64_t n_rows);
/* The duration of a round: learner + slowest actor (nothing overlaps under single-learner-coarse). */
uint64_t clock_round_nsec(uint64_t slowest_actor_nsec, uint64_t update_nsec);
