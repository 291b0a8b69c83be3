/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups in the catalogue of environments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "include/actord/env.h"
#include "include/environments.h"
#include "include/settings.h"
#include "lib/directory.h"

/* The row of an environment; NULL: there is no environment of this name. All names job:FILE share one row.
 * So do all gym:ID, all pettingzoo:MODULE, and all mujoco:FILE. */
const EnvironmentRow *environment_find(const char *name);

/* Whether the name means a user's plugin, an inner job, an environment in Python, or a user's model. */
bool environment_is_file(const char *name);
bool environment_is_job(const char *name);
bool environment_is_python(const char *name);
bool environment_is_pettingzoo(const char *name); /* one of those in Python */
bool environment_is_mjcf(const char *name);

/* An environment whose name may end in a number, as faas:N does. */
typedef struct EnvironmentNumber {
        const char *name, *key; /* NAME:N is the same as KEY=N */
        int least, most;
        const char *what; /* what N counts, in words, such as "jobs" */
} EnvironmentNumber;

/* Finds the row of a name such as "faas:3"; NULL: `name` is of another kind. *ret_n: the digits after the
 * colon; NULL: they are no valid number. */
const EnvironmentNumber *environment_number(const char *name, const char **ret_n);

/* Whether the environment runs or reads a user's file, and so may be loaded only inside a sandbox. */
bool environment_is_foreign(const char *name);

/* The value of Python=, PythonPath= or Environment=, whichever names the job's directory of this kind
 * (Environment=mujoco:FILE names FILE's folder); NULL: the job has none. */
const char *environment_directory(const JobSettings *settings, DirectoryKind kind);

/* Whether the environment loads the packages of Python=. A user chose them, so it may load only inside the
 * sandbox. */
bool environment_loads_packages(const char *name);

size_t environment_count(void);

/* The environment at place i of the catalogue; i < environment_count(). */
const EnvironmentRow *environment_at(size_t i);

/* The i-th key of the environment's [Environment] section and its default, or "" if it has no default.
 * false: there are no more keys. */
bool environment_option(const EnvironmentRow *row, size_t i, ActordOption *ret);

/* The help of a key, in a few words; NULL: no environment of the catalogue has this key. */
const char *environment_option_help(const char *key);

/* Whether the environment's [Environment] section may have this key. */
bool environment_takes(const EnvironmentRow *row, const char *key);

/* Whether the text can be the number of an engine's release, such as "4.0.0". Only letters, digits, dots and
 * dashes are allowed, since the number becomes part of a file's name. */
bool environment_engine_valid(const char *engine);

/* Reads the release from "env-MODULE-RELEASE.so"; false: the file belongs to another module, its release is
 * not valid, or the environment has no engine. */
bool environment_engine_of_file(const EnvironmentRow *row, const char *file, char ret[ENGINE_MAX]);
