/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The catalogue of environments as a table. It is short enough for a linear search. */
#include "lib/environments.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, module, description, threshold, options) { name, module, description, threshold, options },

static const EnvironmentRow rows[] = { ENVIRONMENTS(ROW) };

#define HELP(key, help) { key, help },

static const struct { const char *key, *help; } helps[] = { ENVIRONMENT_OPTIONS(HELP) };

#define NUMBER(name, key, least, most, what) { name, key, least, most, what },

static const EnvironmentNumber numbers[] = { ENVIRONMENT_NUMBERS(NUMBER) };

static const EnvironmentRow job_row = { ENVIRONMENT_JOB_PREFIX "FILE", "job",
        "choose another job's number of actors", NAN, JOB_OPTIONS };

static const EnvironmentRow gym_row = { ENVIRONMENT_GYM_PREFIX "ID", "gym",
        "any environment of Gymnasium, in Python", NAN, GYM_OPTIONS };

static const EnvironmentRow pettingzoo_row = { ENVIRONMENT_PETTINGZOO_PREFIX "MODULE", "gym",
        "any environment of PettingZoo's parallel kind", NAN, "" };

static const EnvironmentRow mjcf_row = { ENVIRONMENT_MJCF_PREFIX "FILE", "mujoco",
        "your own model, in MuJoCo's format", NAN, MJCF_OPTIONS };

bool environment_is_job(const char *name) {
        assert(name);

        return strncmp(name, ENVIRONMENT_JOB_PREFIX, strlen(ENVIRONMENT_JOB_PREFIX)) == 0;
}

bool environment_is_pettingzoo(const char *name) {
        assert(name);

        return strncmp(name, ENVIRONMENT_PETTINGZOO_PREFIX, strlen(ENVIRONMENT_PETTINGZOO_PREFIX)) == 0;
}

bool environment_is_python(const char *name) {
        assert(name);

        return strncmp(name, ENVIRONMENT_GYM_PREFIX, strlen(ENVIRONMENT_GYM_PREFIX)) == 0 ||
               environment_is_pettingzoo(name);
}

bool environment_is_mjcf(const char *name) {
        assert(name);

        return strncmp(name, ENVIRONMENT_MJCF_PREFIX, strlen(ENVIRONMENT_MJCF_PREFIX)) == 0;
}

bool environment_loads_packages(const char *name) {
        const EnvironmentRow *row = environment_find(name);

        return environment_is_python(name) || (row && strcmp(row->module, ENVIRONMENT_SWMM) == 0);
}

const EnvironmentNumber *environment_number(const char *name, const char **ret_n) {
        assert(name);
        assert(ret_n);

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
                const EnvironmentNumber *row = &numbers[i];
                size_t n_name = strlen(row->name), length;
                const char *n;

                if (strncmp(name, row->name, n_name) != 0 || name[n_name] != ':')
                        continue;
                n = name + n_name + 1;
                length = strspn(n, "0123456789");
                *ret_n = length > 0 && length < 4 && !n[length] && atoi(n) >= row->least &&
                                                         atoi(n) <= row->most
                                         ? n
                                         : NULL;
                return row;
        }
        *ret_n = NULL;
        return NULL;
}

bool environment_is_file(const char *name) {
        return !environment_is_job(name) && !environment_is_python(name) && !environment_is_mjcf(name) &&
               strchr(name, '/');
}

bool environment_is_foreign(const char *name) {
        return environment_is_file(name) || environment_loads_packages(name) || environment_is_mjcf(name);
}

const char *environment_directory(const JobSettings *settings, DirectoryKind kind) {
        assert(settings);
        assert(kind < _DIRECTORY_KIND_MAX);

        switch (kind) {
        case DIRECTORY_PYTHON: return settings->python[0] ? settings->python : NULL;
        case DIRECTORY_PYTHON_PATH: return settings->python_path[0] ? settings->python_path : NULL;
        case DIRECTORY_MODEL:
                return environment_is_mjcf(settings->environment) ? settings->environment : NULL;
        default: return NULL;
        }
}

const EnvironmentRow *environment_find(const char *name) {
        const EnvironmentNumber *number;
        const char *n;

        assert(name);

        if (environment_is_job(name))
                return &job_row;
        if (environment_is_pettingzoo(name))
                return &pettingzoo_row;
        if (environment_is_python(name))
                return &gym_row;
        if (environment_is_mjcf(name))
                return &mjcf_row;
        number = environment_number(name, &n);
        if (n)
                name = number->name;
        for (size_t i = 0; i < environment_count(); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return &rows[i];
        return NULL;
}

size_t environment_count(void) {
        return sizeof(rows) / sizeof(rows[0]);
}

const EnvironmentRow *environment_at(size_t i) {
        assert(i < environment_count());

        return &rows[i];
}

bool environment_option(const EnvironmentRow *row, size_t i, ActordOption *ret) {
        const char *p;
        size_t n_key, n;

        assert(row);
        assert(ret);

        p = row->options;
        for (; i > 0 && *p; i--)
                p += strcspn(p, " ") + (strchr(p, ' ') != NULL);
        if (!*p)
                return false;

        n = strcspn(p, " ");
        n_key = strcspn(p, "=");
        assert(n_key < n && n_key < sizeof(ret->key) && n - n_key <= sizeof(ret->value));
        *ret = (ActordOption){};
        memcpy(ret->key, p, n_key);
        memcpy(ret->value, p + n_key + 1, n - n_key - 1);
        return true;
}

const char *environment_option_help(const char *key) {
        assert(key);

        for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++)
                if (strcmp(helps[i].key, key) == 0)
                        return helps[i].help;
        return NULL;
}

bool environment_takes(const EnvironmentRow *row, const char *key) {
        ActordOption option;

        assert(row);
        assert(key);

        for (size_t i = 0; environment_option(row, i, &option); i++)
                if (strcmp(option.key, key) == 0)
                        return true;
        return false;
}

bool environment_engine_valid(const char *engine) {
        size_t n;

        assert(engine);

        n = strspn(engine, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-");
        return n > 0 && n < ENGINE_MAX && !engine[n] && engine[0] != '.';
}

bool environment_engine_of_file(const EnvironmentRow *row, const char *file, char ret[ENGINE_MAX]) {
        char engine[ENGINE_MAX];
        int n_before, n_engine;

        assert(row);
        assert(file);
        assert(ret);

        if (!row->module[0] || !environment_takes(row, ENGINE_KEY))
                return false;

        n_before = (int) (strlen("env-") + strlen(row->module) + strlen("-"));
        n_engine = (int) strlen(file) - n_before - (int) strlen(".so");
        if (n_engine <= 0 || n_engine >= ENGINE_MAX)
                return false;
        if (strncmp(file, "env-", 4) != 0 || strncmp(file + 4, row->module, strlen(row->module)) != 0 ||
                        file[n_before - 1] != '-' || strcmp(file + n_before + n_engine, ".so") != 0)
                return false;

        memcpy(engine, file + n_before, (size_t) n_engine);
        engine[n_engine] = 0;
        if (!environment_engine_valid(engine))
                return false;
        memcpy(ret, engine, sizeof(engine));
        return true;
}
