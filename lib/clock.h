/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The emulated clock: what a fleet with one reserved share of a CPU per actor would have taken. Pure; computed once, by the invoker. */
#pragma once

#include "include/record.h"
#include "include/settings.h"

/* vCPU share of an allocation in thousandths: Lambda's memory / 1769 MB; or CPUQuota= where it is given. */
uint64_t clock_share_permille(const JobSettings *settings);

/* One actor invocation: start-up (cold or warm) + CPU / share. Under Clock=model CPU is n_steps times StepUSec=. */
uint64_t clock_invocation_nsec(const JobSettings *settings, uint64_t cpu_nsec, uint64_t n_steps, bool cold);
/* CPU time that no invocation claims, on an actor's share; always as metered. */
uint64_t clock_lost_nsec(const JobSettings *settings, uint64_t cpu_nsec);
/* A learner's update: CPU of its slowest thread; under Clock=model the rows of its gradients times UpdateUSec=. */
uint64_t clock_update_nsec(const JobSettings *settings, uint64_t slowest_thread_nsec, uint64_t n_rows);
/* A round: learner + slowest actor (nothing overlaps under single-learner-coarse). */
uint64_t clock_round_nsec(uint64_t slowest_actor_nsec, uint64_t update_nsec);
