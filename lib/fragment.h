/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Distributions as rows, the graph that a row makes of a job, and what is wrong with it. Pure. */
#pragma once

#include <stddef.h>

#include "include/fragment.h"
#include "include/turn.h"

/* By Distribution_; NULL outside, and for AUTO, which is a choice and not a row. */
const Distribution *distribution_find(uint32_t distribution);

/* Which one a job begins under: what its settings say, or what they amount to under Policy=auto as long as nothing was measured (the daemon's part). *ret_why: a
 * clause to follow "since", NULL where the settings say it; may be NULL. */
uint32_t distribution_choose(const JobSettings *settings, const char **ret_why);
const Distribution *distribution_of(const JobSettings *settings);
/* Whether measuring its first rounds could come to another choice. *ret_why: if Policy=auto measures nothing, a clause to follow "since", or NULL where the one above
 * says it. */
bool distribution_measures(const JobSettings *settings, const char **ret_why);
/* Why this job's environment must not run, or its limits would not hold, in the learner's process; NULL: it may. */
const char *distribution_refuses_fused(const JobSettings *settings);

/* What follows from a row. */
bool distribution_serves(const Distribution *row); /* the learner acts while a round rolls */
bool distribution_fuses(const Distribution *row);  /* environments step where gradients are computed */
uint32_t distribution_learners(const Distribution *row, const JobSettings *settings); /* processes */
/* Of these, those that move parameters: each some of them, or the first all. */
uint32_t distribution_updaters(const Distribution *row, const JobSettings *settings);
/* CPUs that a job can keep busy at a time, its evaluations aside. */
uint32_t distribution_cpus(const Distribution *row, const JobSettings *settings);
/* A round learns from whoever is ready, and all others act on meanwhile, with the versions that they began with. */
bool distribution_overlaps(const Distribution *row);
uint32_t distribution_rollouts(
                const Distribution *row, uint32_t n_actors); /* that a round of so many actors learns from */
uint32_t distribution_banks(const Distribution *row, const JobSettings *settings); /* of policy versions */
uint32_t distribution_orders(
                const Distribution *row, FragmentHost side); /* of a round: bits 1 << OrderKind */

/* The graph of a job whose environment need not be known. */
void graph_make(const Distribution *row, const JobSettings *settings, Graph *ret);

/* Whether what flows along an edge leaves a process. */
bool graph_crosses(const Graph *graph, const Edge *edge);

/* 0; or -EINVAL with a sentence: an edge that crosses has not exactly one channel, a cycle holds nothing, replicas cannot share. */
int graph_validate(const Graph *graph, char *ret_reason, size_t n);

const char *fragment_to_string(uint32_t fragment);
const char *host_to_string(uint32_t host);
const char *channel_to_string(uint32_t kind);
const char *rate_to_string(uint32_t rate);
const char *barrier_to_string(uint32_t barrier);
const char *element_to_string(uint32_t element);
/* "[128 8 observation]". Returns its length. */
size_t shape_print(const Edge *edge, char *ret, size_t n);
