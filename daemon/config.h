/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's own settings, from actord.conf and the files of actord.conf.d. One table drives the parser,
 * the defaults and the messages, as it does for jobs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "include/settings.h"

#define JOBS_QUEUED_MAX 1000u

/* InvokerTimeoutSec= is not set: the limit follows the invoker's answers so far. */
#define TIMEOUT_AS_SEEN UINT64_MAX

#define NO_MONEY \
        {}

/* X(key, type, member, default, lowest, highest) of [Daemon]. */
#define DAEMON_SETTINGS(X)                                                      \
        X(MaxJobs, u32, max_jobs, 0, 0, 1000)                                   \
        X(MaxJobsPerUser, u32, max_jobs_user, 100, 1, 1000)                     \
        X(MaxRunningPerUser, u32, max_running_user, 0, 0, 1000)                 \
        X(MaxActorsPerUser, u32, max_actors_user, 0, 0, 1000000)                \
        X(MaxMemoryPerUser, bytes, max_memory_user, 0, 0, 0)                    \
        X(MaxDiskPerUser, bytes, max_disk_user, 0, 0, 0)                        \
        X(MaxMoneyPerDayPerUser, money, max_money_user, NO_MONEY, 0, 0)         \
        X(Preempt, bool, preempt, false, 0, 0)                                  \
        X(PreemptAfterSec, usec, preempt_after_usec, 60ull * 1000000, 0, 0)     \
        X(IdleExitSec, u32, idle_exit_sec, 60, 0, 86400 * 365)                  \
        X(KeepJobs, u32, keep_jobs, 200, 1, 10000)                              \
        X(KeepFilesSec, usec, keep_files_usec, 0, 0, 0)                         \
        X(KeepRecordsSec, usec, keep_records_usec, 7776000ull * 1000000, 0, 0)  \
        X(LedgerMax, bytes, ledger_max_bytes, 1073741824, 0, 0)                 \
        X(InvokerTimeoutSec, usec, invoker_timeout_usec, TIMEOUT_AS_SEEN, 0, 0) \
        X(OrphanTimeoutSec, usec, orphan_timeout_usec, 3600ull * 1000000, 0, 0) \
        X(DefaultPriceSheet, string, default_price_sheet, "", 0, 0)

typedef uint32_t config_u32;
typedef uint64_t config_usec;
typedef uint64_t config_bytes;
typedef setting_money config_money;
typedef bool config_bool;
typedef char config_string[64];

/* The values of [User NAME] and [Group NAME]: the keys of [Daemon] that end in PerUser=. */
#define CONFIG_RULES_MAX 128u
typedef struct ConfigRule {
        bool group;
        uint32_t id;
        char key[32], value[32];
} ConfigRule;

typedef struct Config {
#define X(key, type, member, ...) config_##type member;
        DAEMON_SETTINGS(X)
#undef X
        ConfigRule rules[CONFIG_RULES_MAX];
        size_t n_rules;
} Config;

/* Sets the defaults. daemon/manager.c replaces MaxJobs=0 by the number of CPUs. */
void config_init(Config *config);

/* Adds the settings of a text. -EINVAL with *ret_message, a sentence with the file and, if they are
 * known, line and key; g_free(). */
int config_parse(Config *config, const char *text, const char *file_name, char **ret_message);

/* Adds DIRECTORY/actord.conf and then the .conf files of DIRECTORY/actord.conf.d in the order of their
 * names. Files that do not exist are skipped. Errors are those of config_parse(); or -EIO, with a message: a
 * file cannot be read. */
int config_read(Config *config, const char *directory, char **ret_message);

/* Finds the settings for a user: first the rules of the user's groups apply, in their order in the files,
 * then the rules for this user. */
void config_for_user(const Config *config, uint32_t uid, const gid_t *groups, size_t n_groups, Config *ret);
bool config_is_member(uint32_t id, const gid_t *groups, size_t n);
