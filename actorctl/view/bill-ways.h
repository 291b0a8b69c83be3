/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bill --beside: the rounds of a job as functions, on servers and on nodes, in one table. */
#pragma once

#include "actorctl/bus.h"

/* Prints the table. `called`: the job's name for people. STATUS_OK; or another status, with a message. */
ExitStatus bill_ways_print(
                const Options *options, Connection *connection, const char *path, const char *called);
