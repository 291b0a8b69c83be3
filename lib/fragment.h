/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Distributions as rows, the graph of a job under a distribution, and the checks of a graph. Pure. */
#pragma once

#include <stddef.h>

#include "include/fragment.h"
#include "include/turn.h"

/* The row of a Distribution_; NULL: it is out of range, or AUTO, which only chooses among rows. */
const Distribution *distribution_find(uint32_t distribution);

/* The distribution with which a job begins. The settings name it, or Policy=auto chooses it before the
 * daemon has measured anything. *ret_why: a clause to follow "since"; NULL: the settings name the
 * distribution. ret_why may be NULL. */
uint32_t distribution_choose(const JobSettings *settings, const char **ret_why);
const Distribution *distribution_of(const JobSettings *settings);
/* Whether measurements of the first rounds could change the choice of distribution_choose(). *ret_why: why a
 * job with Policy=auto must not measure them, as a clause to follow "since"; otherwise NULL. */
bool distribution_measures(const JobSettings *settings, const char **ret_why);
/* Why this job's actors must not run in the learner's process, where their limits would not apply; NULL:
 * they may. */
const char *distribution_refuses_fused(const JobSettings *settings);

/* Properties that follow from a row. */
bool distribution_serves(const Distribution *row); /* the learner computes the actions */
bool distribution_fuses(const Distribution *row);  /* environments step in the learner's process */
/* the number of learner processes */
uint32_t distribution_learners(const Distribution *row, const JobSettings *settings);
/* How many learners update parameters: all of them, each a part of the parameters, or only the first one. */
uint32_t distribution_updaters(const Distribution *row, const JobSettings *settings);
/* How many CPUs a job can keep busy at once, without its evaluations. */
uint32_t distribution_cpus(const Distribution *row, const JobSettings *settings);
/* Whether a round learns from the first actor that is ready, while all other actors go on with the policy
 * versions that they have. */
bool distribution_overlaps(const Distribution *row);
/* From how many rollouts a round of n_actors learns. */
uint32_t distribution_rollouts(const Distribution *row, uint32_t n_actors);
/* the number of policy banks */
uint32_t distribution_banks(const Distribution *row, const JobSettings *settings);
/* the orders that a process of this side gets in a round, as bits 1 << OrderKind */
uint32_t distribution_orders(const Distribution *row, FragmentHost side);

/* Makes the graph of a job, without knowing its environment. */
void graph_make(const Distribution *row, const JobSettings *settings, Graph *ret);

/* Whether the value of an edge goes from one process to another. */
bool graph_crosses(const Graph *graph, const Edge *edge);

/* Checks a graph. 0; or -EINVAL with a sentence: an edge between processes has no channel or several,
 * another edge has one, no edge of a cycle has a value from the start, or replicas cannot share the work. */
int graph_validate(const Graph *graph, char *ret_reason, size_t n);

const char *fragment_to_string(uint32_t fragment);
const char *host_to_string(uint32_t host);
const char *channel_to_string(uint32_t kind);
const char *rate_to_string(uint32_t rate);
const char *barrier_to_string(uint32_t barrier);
const char *element_to_string(uint32_t element);
/* Prints "128 8 observation". Returns its length. */
size_t shape_print(const Edge *edge, char *ret, size_t n);
