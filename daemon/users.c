/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/users.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "daemon/helper.h"
#include "daemon/log.h"
#include "daemon/sources.h"
#include "include/bus.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/message.h"

#define GROUPS_MAX 65536 /* NGROUPS_MAX of the kernel */

/* The answer of the process that asks the user database. groups: those of the user's groups for which
 * actord.conf has a section. */
typedef struct Answer {
        /* 0: the groups are known (none for a user whom the database lacks); or a negative errno */
        int32_t error;
        uint32_t n;
        gid_t groups[CONFIG_RULES_MAX];
} Answer;

typedef struct Lookup {
        Users *users;
        uint32_t uid;
        int pid_fd, channel;
        sd_event_source *io, *timer;
} Lookup;

typedef struct User {
        int error; /* of the last lookup, until the next one; 0: the quota is known */
        uint64_t retry_usec;
        Quota quota;
} User;

struct Users {
        JobContext *context;
        bool by_group;       /* some rules are for groups */
        bool has_news;       /* an answer came, for which calls may wait */
        GHashTable *known;   /* uid → User */
        GHashTable *lookups; /* uid → Lookup */
        sd_event_source *retry;
};

static void lookup_free(void *p) {
        Lookup *lookup = p;

        (void) sd_event_source_disable_unref(lookup->io);
        (void) sd_event_source_disable_unref(lookup->timer);
        helper_end(lookup->channel, lookup->pid_fd);
        g_free(lookup);
}

Users *users_new(JobContext *context) {
        const Config *config = &context->config;
        Users *users = g_new0(Users, 1);

        *users = (Users){
                .context = context,
                .known = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free),
                .lookups = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, lookup_free),
        };
        for (size_t i = 0; i < config->n_rules; i++)
                users->by_group = users->by_group || config->rules[i].group;
        return users;
}

Users *users_free(Users *users) {
        if (!users)
                return NULL;

        (void) sd_event_source_disable_unref(users->retry);
        g_hash_table_unref(users->lookups);
        g_hash_table_unref(users->known);
        g_free(users);
        return NULL;
}

/* Whether the error means that the database has no such user. A deleted user may still have running jobs. */
static bool is_unknown(int error) {
        return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

static void keep_named(const Config *config, const gid_t *groups, size_t n, Answer *ret) {
        for (size_t i = 0; i < config->n_rules; i++) {
                const ConfigRule *rule = &config->rules[i];

                if (rule->group && config_is_member(rule->id, groups, n))
                        ret->groups[ret->n++] = rule->id;
        }
}

static void find_groups(const Config *config, uint32_t uid, Answer *ret) {
        static gid_t groups[GROUPS_MAX];
        const struct passwd *entry;
        int n = GROUPS_MAX;

        errno = 0;
        entry = getpwuid(uid);
        if (!entry) {
                ret->error = is_unknown(errno) ? 0 : -errno;
                return;
        }
        if (getgrouplist(entry->pw_name, entry->pw_gid, groups, &n) < 0)
                ret->error = -E2BIG;
        else
                keep_named(config, groups, (size_t) n, ret);
}

/* Runs in the process that asks the database. This process may hang for ever, so it has none of the daemon's
 * descriptors open. */
static _Noreturn void child_run(const Lookup *lookup, int channel) {
        enum { OURS = STDERR_FILENO + 1 };
        static Answer answer;

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-groups");
        if ((channel != OURS && dup2(channel, OURS) < 0) || close_range(OURS + 1, ~0u, 0) < 0)
                _exit(EXIT_FAILURE);
        find_groups(&lookup->users->context->config, lookup->uid, &answer);
        (void) message_send(OURS, &answer, sizeof(answer), NULL, 0);
        _exit(EXIT_SUCCESS);
}

static Quota quota_by(const Config *config) {
        return (Quota){
                .jobs = config->max_jobs_user,
                .running = config->max_running_user,
                .actors = config->max_actors_user,
                .memory_bytes = config->max_memory_user,
                .disk_bytes = config->max_disk_user,
                .money = config->max_money_user,
        };
}

static User *remember(Users *users, uint32_t uid, const gid_t *groups, size_t n) {
        g_autofree Config *config = g_new(Config, 1);
        User *user = g_new0(User, 1);

        if (g_hash_table_size(users->known) >= USERS_KEPT_MAX)
                g_hash_table_remove_all(users->known);
        config_for_user(&users->context->config, uid, groups, n, config);
        user->quota = quota_by(config);
        (void) g_hash_table_insert(users->known, GUINT_TO_POINTER(uid), user);
        return user;
}

static gboolean is_failure(gpointer key, gpointer value, gpointer userdata) {
        return ((const User *) value)->error < 0;
}

static void forget_failures(Users *users) {
        (void) g_hash_table_foreach_remove(users->known, is_failure, NULL);
        jobs_schedule(&users->context->jobs);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Users *users = userdata;

        users->retry = sd_event_source_disable_unref(users->retry);
        forget_failures(users);
        return 0;
}

/* Sets a timer to forget failed lookups after a while. If it cannot be set, the next request for the user
 * forgets them. */
static void try_later(Users *users) {
        if (!users->retry)
                (void) timer_start(users->context->event, &users->retry, "users-retry", LOOKUP_RETRY_USEC,
                                on_retry, users);
}

static void remember_failure(Users *users, uint32_t uid, int error) {
        User *user = remember(users, uid, NULL, 0);

        log_line(LOG_WARNING,
                        "The quota of user %" PRIu32 " depends on groups, and the host's user database "
                        "does not say which groups the user is in (%s): the user's queued jobs wait, "
                        "and the database is asked again in %llu s.",
                        uid, g_strerror(-error), LOOKUP_RETRY_USEC / 1000000);
        user->error = error;
        user->retry_usec = clock_boottime() / 1000 + LOOKUP_RETRY_USEC;
        try_later(users);
}

static void finish(Lookup *lookup, int error, const Answer *answer) {
        Users *users = lookup->users;
        uint32_t uid = lookup->uid;

        (void) g_hash_table_remove(users->lookups, GUINT_TO_POINTER(uid));
        if (error < 0)
                remember_failure(users, uid, error);
        else
                (void) remember(users, uid, answer->groups, answer->n);
        users->has_news = true;
        jobs_schedule(&users->context->jobs);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        g_autofree Answer *answer = g_new0(Answer, 1);
        size_t n = 0, n_fds = 0;
        int r;

        r = message_receive(fd, 0, answer, sizeof(*answer), &n, NULL, 0, &n_fds);
        if (r >= 0 && (n != sizeof(*answer) || answer->error > 0 || answer->n > CONFIG_RULES_MAX))
                r = -EIO;
        finish(userdata, r < 0 ? r : answer->error, answer);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        finish(userdata, -ETIMEDOUT, NULL);
        return 0;
}

static int watch(Lookup *lookup) {
        sd_event *event = lookup->users->context->event;
        int r;

        r = reading_start(event, &lookup->io, "lookup", lookup->channel, on_answer, lookup);
        if (r < 0)
                return r;
        return deadline_start(
                        event, &lookup->timer, "lookup-timeout", LOOKUP_TIMEOUT_USEC, on_timeout, lookup);
}

static void look_up(Users *users, uint32_t uid) {
        Lookup *lookup;
        int r;

        if (g_hash_table_contains(users->lookups, GUINT_TO_POINTER(uid)) ||
                        g_hash_table_size(users->lookups) >= LOOKUPS_MAX)
                return;
        lookup = g_new0(Lookup, 1);
        *lookup = (Lookup){ .users = users, .uid = uid, .pid_fd = -EBADF, .channel = -EBADF };
        r = helper_start(SOCK_SEQPACKET, &lookup->channel, &lookup->pid_fd);
        if (r > 0)
                child_run(lookup, lookup->channel);
        if (r >= 0)
                r = watch(lookup);
        if (r < 0) {
                lookup_free(lookup);
                remember_failure(users, uid, r);
                return;
        }
        (void) g_hash_table_insert(users->lookups, GUINT_TO_POINTER(uid), lookup);
}

/* The user's entry, if the quota is known, or if a lookup has failed a moment ago; NULL: there is none. */
static const User *find(Users *users, uint32_t uid) {
        const User *user = g_hash_table_lookup(users->known, GUINT_TO_POINTER(uid));

        if (user && (user->error == 0 || clock_boottime() / 1000 < user->retry_usec))
                return user;
        return users->by_group ? NULL : remember(users, uid, NULL, 0);
}

int users_known(Users *users, uint32_t uid, Quota *ret) {
        const User *user;

        assert(users);
        assert(ret);

        user = find(users, uid);
        if (!user || user->error < 0)
                return user ? user->error : 0;
        *ret = user->quota;
        return 1;
}

bool users_quota(Users *users, uint32_t uid, Quota *ret) {
        if (users_known(users, uid, ret) == 0)
                look_up(users, uid);
        return users_known(users, uid, ret) > 0;
}

bool users_take_news(Users *users) {
        bool news = users->has_news;

        users->has_news = false;
        return news;
}
