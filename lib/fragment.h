/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Distributions as rows, the graph of a job under a distribution, and the checks of a graph. Pure. */
#pragma once

#include <stddef.h>

#include "include/fragment.h"
#include "include/turn.h"

/* The row of a Distribution_; NULL outside the range, and for AUTO, which is a choice among rows. */
const Distribution *distribution_find(uint32_t distribution);

/* The distribution that a job begins under: the one that its settings name, or the one that Policy=auto
 * chooses before anything is measured (the daemon measures). *ret_why: a clause to follow "since", NULL
 * if the settings name it; may be NULL. */
uint32_t distribution_choose(const JobSettings *settings, const char **ret_why);
const Distribution *distribution_of(const JobSettings *settings);
/* Whether the first rounds' measurements could lead to another choice. *ret_why: if Policy=auto measures
 * nothing, a clause to follow "since"; or NULL where distribution_of() gives the reason. */
bool distribution_measures(const JobSettings *settings, const char **ret_why);
/* Why this job's environment must not run in the learner's process, or would escape its limits there;
 * NULL: it may. */
const char *distribution_refuses_fused(const JobSettings *settings);

/* Properties that follow from a row. */
bool distribution_serves(const Distribution *row); /* the learner computes the actions */
bool distribution_fuses(const Distribution *row);  /* environments step in the learner's process */
uint32_t distribution_learners(const Distribution *row, const JobSettings *settings); /* processes */
/* How many of these update parameters: each a part of them, or the first one all. */
uint32_t distribution_updaters(const Distribution *row, const JobSettings *settings);
/* CPUs that a job can keep busy at a time, its evaluations aside. */
uint32_t distribution_cpus(const Distribution *row, const JobSettings *settings);
/* A round learns from the first actor that is ready; all others act on meanwhile, with the versions that
 * they began with. */
bool distribution_overlaps(const Distribution *row);
/* The number of rollouts from which a round of so many actors learns. */
uint32_t distribution_rollouts(const Distribution *row, uint32_t n_actors);
uint32_t distribution_banks(const Distribution *row, const JobSettings *settings); /* of policy versions */
uint32_t distribution_orders(
                const Distribution *row, FragmentHost side); /* of a round: bits 1 << OrderKind */

/* The graph of a job whose environment need not be known. */
void graph_make(const Distribution *row, const JobSettings *settings, Graph *ret);

/* Whether the value of an edge goes from one process to another. */
bool graph_crosses(const Graph *graph, const Edge *edge);

/* 0; or -EINVAL with a sentence: an edge between processes does not have exactly one channel, a cycle
 * holds no value, or replicas cannot share. */
int graph_validate(const Graph *graph, char *ret_reason, size_t n);

const char *fragment_to_string(uint32_t fragment);
const char *host_to_string(uint32_t host);
const char *channel_to_string(uint32_t kind);
const char *rate_to_string(uint32_t rate);
const char *barrier_to_string(uint32_t barrier);
const char *element_to_string(uint32_t element);
/* "[128 8 observation]". Returns its length. */
size_t shape_print(const Edge *edge, char *ret, size_t n);
