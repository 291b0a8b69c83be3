/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a cluster would say to a job, before anything is queued: actord-cluster asks it. */
#pragma once

#include "include/settings.h"

/* 0: it would give it nodes. Negative: *ret_words (g_free()) says why not, and what to do. */
int ask_cluster(const JobSettings *settings, char **ret_words);
