/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trained policy that [Scaling] Shares=simppo:NAME names. A policy for the environment `shares` is
 * exported with `actorctl export --weights-only`. An administrator or a user puts that file into a folder of
 * the daemon. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "include/shares.h"

typedef struct TradePolicy TradePolicy;

/* The folders in which a daemon looks for policies, in this order: the user's, unless it is the system's
 * daemon, and the administrator's. g_strfreev(). */
GStrv trade_directories(bool system);

/* Reads the policy of this name from the first folder that has it. 0; or a negative errno with *ret_reason,
 * a clause that names the file and says what to do, g_free(). */
int trade_policy_find(GStrv directories, const char *name, TradePolicy **ret, char **ret_reason);

/* Like trade_policy_find(), but reads an open file, which *ret_reason does not name. A policy from the same
 * unchanged file that is already in use is shared. */
int trade_policy_read(int fd, TradePolicy **ret, char **ret_reason);
TradePolicy *trade_policy_free(TradePolicy *policy);

/* The most likely action. */
SharesAction trade_policy_choose(const TradePolicy *policy, const float inputs[SHARES_N_INPUTS]);
