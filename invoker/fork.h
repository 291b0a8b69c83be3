/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fork.c is the only file of invoker/ that includes headers of actor/ and sandbox/, which are parts of the
 * same program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "invoker/placement.h"
#include "invoker/pool.h"

int fork_load_environment(Placement *place);
/* Whether actors run code of a user. If so, an actor is asked for the spec, and all actors see the host's
 * libraries. */
bool fork_runs_foreign_code(const Placement *place);
int fork_make_sandboxes(Placement *place);
void fork_free_sandboxes(Placement *place);
/* Rules out new privileges for the invoker, and system calls that it never makes. */
int fork_confine_ourselves(void);
int fork_leave_host(void); /* leaves the host's file system; call it after the sandboxes are made */
/* Return pids, or a negative errno. fork_learner() returns 0 in the child; the child enters its sandbox when
 * it has placed its descriptors. */
pid_t fork_actor(const Placement *place, Container *c);
pid_t fork_learner(const Placement *place, Worker *learner);
void fork_confine_learner(const Placement *place, const Worker *learner, uint32_t k, const int *keep_fds,
                size_t n_keep_fds, uint64_t mapped_bytes);
uint64_t fork_learner_memory_bytes(const Placement *place); /* the memory limit of the learner's process */
