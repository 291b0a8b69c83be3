/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which parts of a job a user may see. The owner, root, and users whom polkit allows to manage jobs see
 * everything, but a PART method does not ask polkit. All other users see what this table allows. Methods,
 * properties and lists use this table. Signals and properties reach every program on the bus, so they
 * contain only values that all users may see. */
#pragma once

#include <stdbool.h>
#include "lib/settings/print.h"

/* Tables are aligned by hand. */
/* clang-format off */

/* X(METHOD, AUDIENCE): methods of org.actord1.Job. PART: all users may call it, but only the owner and
 * root get whole settings and paths. Other users get settings as AUDIENCE_SETTINGS says, and files by
 * name. */
#define AUDIENCE_METHODS(X)                                                                      \
        X(Stop, OWN) X(Freeze, OWN) X(Thaw, OWN) X(GetText, OWN) X(OpenCheckpoint, OWN)          \
        X(GetSettings, PART) X(GetBill, ALL)                                                     \
        X(GetBillUnder, ALL) X(GetBeside, ALL) X(GetEstimates, ALL) X(GetFleets, ALL)            \
        X(GetSchedulerBill, PART)                                                                \
        X(GetRounds, ALL) X(GetSeries, ALL) X(GetDecisions, ALL) X(CheckDecisions, ALL) X(GetFaults, ALL)

/* X(SETTING, WHAT): settings that may contain a path. NAME: other users see the last part of the path;
 * NOTHING: they do not see the setting. Only the owner and root see options of [Environment]. */
#define AUDIENCE_SETTINGS(X) X(Job_Environment, NAME) X(Scaling_Policy, NAME) X(Learner_Dataset, NAME) \
        X(Job_Metrics, NOTHING) X(Actor_Python, NOTHING) X(Actor_PythonPath, NOTHING)
/* clang-format on */

typedef enum Audience { AUDIENCE_ALL, AUDIENCE_PART, AUDIENCE_OWN } Audience;

/* A method that is not in the table is for the owner alone. */
Audience audience_of_method(const char *name);

/* Rewrites a text for other users, if it is a path or ends in one: "mujoco:/home/a/b.xml" becomes
 * "mujoco:b.xml", "/home/a/mine.so" becomes "./mine.so". */
const char *audience_name(const char *text, char ret[SETTING_TEXT_MAX]);

/* Rewrites a setting for other users. */
void audience_print(const JobSettings *settings, Setting i, char ret[SETTING_TEXT_MAX]);
