/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ends that a daemon did not live to announce. */
#pragma once

#include "daemon/manager.h"

/* To be called when the jobs have been loaded, before the bus is served. */
void ends_take_up(Manager *manager);
