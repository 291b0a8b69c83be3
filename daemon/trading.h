/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The running jobs with [Scaling] Shares=simppo:NAME trade CPU weight: every TRADE_TURN_USEC the daemon
 * gathers their state, trade() decides, and the spawner writes the weights and reads them back. */
#pragma once

#include "daemon/manager.h"

/* Starts the timer of the trade if two jobs could trade, if a job must get the default weight back, or if an
 * answer about a weight is still to come. The timer stops by itself. */
void trading_arm(Manager *manager);
