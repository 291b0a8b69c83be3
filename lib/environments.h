/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups in the catalogue of environments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "include/actord/env.h"
#include "include/environments.h"
#include "include/settings.h"

/* NULL: no environment has this name. Each job:FILE has the same row, each gym:ID, and each mujoco:FILE. */
const EnvironmentRow *environment_find(const char *name);

/* Whether the name is of a user's plugin, of an inner job, of an environment in Python, or of a user's model. */
bool environment_is_file(const char *name);
bool environment_is_job(const char *name);
bool environment_is_gym(const char *name);
bool environment_is_mjcf(const char *name);

/* The N of faas:N; NULL: the name is no such one. */
const char *environment_neighbours(const char *name);

/* Whether it runs or reads what a user wrote, and is asked what it is inside a sandbox only. */
bool environment_is_foreign(const char *name);

/* Where an actor's root has the directory that the job brings: the virtual environment of Python=, or what a model lies in. NULL: it brings
 * none. */
const char *environment_directory(const JobSettings *settings);

/* Whether it loads what Python= brings: packages that a user chose, hence inside of the sandbox. */
bool environment_loads_packages(const char *name);

size_t environment_count(void);

/* i < environment_count(), in the order of the catalogue. */
const EnvironmentRow *environment_at(size_t i);

/* The i-th key that may stand in the environment's [Environment] section and its default, "" where it has none of its own; false: there
 * are no more. */
bool environment_option(const EnvironmentRow *row, size_t i, ActordOption *ret);

/* What a key does, in a few words; NULL: no environment of the catalogue takes it. */
const char *environment_option_help(const char *key);

/* Whether this key may stand in the environment's [Environment] section. */
bool environment_takes(const EnvironmentRow *row, const char *key);

/* Whether this can be a release of an engine: "4.0.0". Letters, digits, dots and dashes only, as it becomes part of a file's name. */
bool environment_engine_valid(const char *engine);

/* The release in "env-MODULE-RELEASE.so", which is a file of the environment's module; false: it is another file. */
bool environment_engine_of_file(const EnvironmentRow *row, const char *file, char ret[ENGINE_MAX]);
