/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/quota.h"

#include <assert.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include "daemon/access.h"
#include "daemon/job.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define GROUPS_MAX 1024

/* -1: the user has no entry, and is in no group that we know. */
static int find_groups(uint32_t uid, gid_t groups[GROUPS_MAX]) {
        const struct passwd *entry = getpwuid(uid);
        int n = GROUPS_MAX;

        if (!entry)
                return -1;
        return getgrouplist(entry->pw_name, entry->pw_gid, groups, &n) < 0 ? GROUPS_MAX : n;
}

/* Who is in which group is asked once for each user: it may take a while where users come over the
 * network. */
static const Config *config_of(Manager *manager, uint32_t uid) {
        Config *config;
        g_autofree gid_t *groups = NULL;
        int n;

        if (manager->config.n_rules == 0)
                return &manager->config;
        config = g_hash_table_lookup(manager->configs, GUINT_TO_POINTER(uid));
        if (config)
                return config;

        groups = g_new(gid_t, GROUPS_MAX);
        n = find_groups(uid, groups);
        config = g_new(Config, 1);
        config_for_user(&manager->config, uid, groups, n > 0 ? (size_t) n : 0, config);
        (void) g_hash_table_insert(manager->configs, GUINT_TO_POINTER(uid), config);
        return config;
}

Quota quota_of(Manager *manager, uint32_t uid) {
        const Config *config;

        assert(manager);

        config = config_of(manager, uid);
        return (Quota){
                .jobs = config->max_jobs_user,
                .running = config->max_running_user,
                .actors = config->max_actors_user,
                .memory_bytes = config->max_memory_user,
                .disk_bytes = config->max_disk_user,
        };
}

static uint64_t memory_of(const JobSettings *settings) {
        return settings_actors_max(settings) * settings->memory_max_bytes +
               settings->learner_memory_max_bytes;
}

void quota_add(QuotaUsage *usage, const JobSettings *settings) {
        usage->running++;
        usage->actors += settings_actors_max(settings);
        usage->memory_bytes += memory_of(settings);
}

QuotaUsage quota_usage(const Manager *manager, uint32_t uid) {
        QuotaUsage usage = {};

        assert(manager);

        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];

                if (job->row.uid != uid || job->state == JOB_ENDED)
                        continue;
                usage.jobs++;
                if (job_active(job))
                        quota_add(&usage, &job->settings);
        }
        return usage;
}

bool quota_has_room(const Quota *quota, const QuotaUsage *running, const JobSettings *settings) {
        QuotaUsage with = *running;

        quota_add(&with, settings);
        return (quota->actors == 0 || with.actors <= quota->actors) &&
               (quota->memory_bytes == 0 || with.memory_bytes <= quota->memory_bytes);
}

bool quota_disk_has_room(uint64_t limit, uint64_t others, uint64_t bytes) {
        return limit == 0 || (others < limit && bytes <= limit - others);
}

static char *size_words(uint64_t bytes) {
        if (bytes < 1ull << 20)
                return g_strdup_printf("%" PRIu64 " KiB", (bytes + 1023) >> 10);
        return g_strdup_printf("%.1f MiB", (double) bytes / (1 << 20));
}

int quota_check_disk(Manager *manager, uint32_t uid, uint64_t bytes, sd_bus_error *error) {
        g_autofree char *has = NULL, *comes = NULL, *most = NULL;
        uint64_t limit, used = 0;
        int r;

        assert(manager);

        limit = quota_of(manager, uid).disk_bytes;
        if (limit == 0)
                return 0;
        r = ledger_disk(manager->ledger, uid, 0, &used);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "What the files of your jobs take cannot be read: %s.",
                                ledger_error_words(r));
        if (quota_disk_has_room(limit, used, bytes))
                return 0;
        has = size_words(used);
        comes = size_words(bytes);
        most = size_words(limit);
        if (bytes > 0)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "The files that come with the job take %s, those of your jobs %s, and %s is the "
                                "limit (MaxDiskPerUser=): remove those of jobs that have ended, with actorctl remove.",
                                comes, has, most);
        return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                        "The files of your jobs take %s, and %s is the limit (MaxDiskPerUser=): "
                        "remove those of jobs that have ended, with actorctl remove.",
                        has, most);
}

int quota_check(Manager *manager, uint32_t uid, const JobSettings *settings, sd_bus_error *error) {
        Quota quota = quota_of(manager, uid);
        QuotaUsage usage = quota_usage(manager, uid);
        uint32_t n_actors = settings_actors_max(settings);

        if (usage.jobs >= quota.jobs)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "You have %" PRIu32 " jobs that have not ended, which is the limit "
                                "(MaxJobsPerUser=%" PRIu32 "): wait until one ends, or stop one.",
                                usage.jobs, quota.jobs);
        if (quota.actors > 0 && n_actors > quota.actors)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "The job has up to %" PRIu32
                                " actors, and your running jobs may have %" PRIu32
                                " together (MaxActorsPerUser=): lower MaxActors= or Actors= of [Scaling].",
                                n_actors, quota.actors);
        if (quota.memory_bytes > 0 && memory_of(settings) > quota.memory_bytes)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "The job has up to %" PRIu64
                                " MiB of memory (its actors and its learner), and your "
                                "running jobs may have %" PRIu64
                                " MiB together (MaxMemoryPerUser=): lower MemoryMax= of [Actor] and "
                                "[Learner], or the number of actors.",
                                memory_of(settings) >> 20, quota.memory_bytes >> 20);
        return quota_check_disk(manager, uid, 0, error);
}

int method_get_quota(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Manager *manager = userdata;
        QuotaUsage usage;
        uint32_t uid, caller;
        uint64_t disk;
        Quota quota;
        int r;

        r = sd_bus_message_read(m, "u", &uid);
        if (r < 0)
                return r;
        r = access_uid(manager, m, &caller, error);
        if (r < 0)
                return r;
        r = access_check(manager, m, ACTION_MANAGE, uid, method_get_quota, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        quota = quota_of(manager, uid);
        usage = quota_usage(manager, uid);
        r = ledger_disk(manager->ledger, uid, 0, &disk);
        if (r >= 0)
                r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sstt)");
        if (r >= 0)
                r = sd_bus_message_append(reply, "(sstt)(sstt)(sstt)(sstt)(sstt)", "jobs", "",
                                (uint64_t) usage.jobs, (uint64_t) quota.jobs, "running", "",
                                (uint64_t) usage.running, (uint64_t) quota.running, "actors", "",
                                usage.actors, (uint64_t) quota.actors, "memory", "B", usage.memory_bytes,
                                quota.memory_bytes, "disk", "B", disk, quota.disk_bytes);
        return reply_rows(reply, r);
}
