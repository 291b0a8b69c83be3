/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks a cluster, through actord-cluster, whether it would accept a job's nodes, before anything is
 * queued. */
#pragma once

#include "include/settings.h"

/* 0: the cluster would give nodes to the job. Negative: *ret_words (g_free()) has the reason, and advice. */
int ask_cluster(const JobSettings *settings, char **ret_words);
