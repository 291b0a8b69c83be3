/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trained policy of [Scaling] Shares=simppo:NAME: a file that `actorctl export --weights-only` wrote of a
 * policy for the environment `shares`, which an administrator or a user put into a folder of the daemon. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "include/shares.h"

typedef struct TradePolicy TradePolicy;

/* The folders of a daemon's policies, the first one that has the name wins: the administrator's and, unless
 * it is the system's daemon, the user's before it. g_strfreev(). */
GStrv trade_directories(bool system);

/* Reads the policy of this name. 0; or a negative errno with *ret_reason, a sentence without a subject that
 * names the file and says what to do, g_free(). */
int trade_policy_find(GStrv directories, const char *name, TradePolicy **ret, char **ret_reason);

/* The same of an open file. The sentence in ret_reason does not name it. While a policy of the same file is
 * used already, and the file was not changed, that one is shared. */
int trade_policy_read(int fd, TradePolicy **ret, char **ret_reason);
TradePolicy *trade_policy_free(TradePolicy *policy);

/* The most likely action. */
SharesAction trade_policy_choose(const TradePolicy *policy, const float inputs[SHARES_N_INPUTS]);
