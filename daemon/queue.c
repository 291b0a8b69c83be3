/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/queue.h"

#include <assert.h>
#include <glib.h>

typedef struct QueueUser {
        uint32_t uid, share;
        uint32_t n_running, n_leaving, n_queued;
} QueueUser;

static QueueUser *find_user(const GArray *users, uint32_t uid) {
        for (guint i = 0; i < users->len; i++) {
                QueueUser *user = &g_array_index(users, QueueUser, i);

                if (user->uid == uid)
                        return user;
        }
        return NULL;
}

/* The users with running or waiting jobs, and their shares. */
static GArray *count_users(const QueueEntry *entries, size_t n, uint32_t n_running_max) {
        GArray *users = g_array_new(FALSE, FALSE, sizeof(QueueUser));

        for (size_t i = 0; i < n; i++) {
                const QueueEntry *e = &entries[i];
                QueueUser *user = find_user(users, e->uid);

                if (!e->queued && !e->running)
                        continue;
                if (!user) {
                        g_array_append_val(users, ((QueueUser){ .uid = e->uid, .share = e->share }));
                        user = find_user(users, e->uid);
                }
                user->n_running += e->running;
                user->n_leaving += e->running && e->leaving;
                user->n_queued += e->queued;
        }
        for (guint i = 0; i < users->len; i++) {
                QueueUser *user = &g_array_index(users, QueueUser, i);

                if (user->share == 0)
                        user->share = (n_running_max + users->len - 1) / users->len;
        }
        return users;
}

static uint32_t count_running(const GArray *users) {
        uint32_t n = 0;

        for (guint i = 0; i < users->len; i++)
                n += g_array_index(users, QueueUser, i).n_running;
        return n;
}

static bool goes_before(const QueueUser *a, uint64_t a_id, const QueueUser *b, uint64_t b_id) {
        bool a_full = a->n_running >= a->share, b_full = b->n_running >= b->share;

        if (a_full != b_full)
                return b_full;
        if (a->n_running != b->n_running)
                return a->n_running < b->n_running;
        return a_id < b_id;
}

ssize_t queue_pick(const QueueEntry *entries, size_t n, uint32_t n_running_max) {
        g_autoptr(GArray) users = count_users(entries, n, n_running_max);
        const QueueUser *best_user = NULL;
        ssize_t best = -1;

        assert(entries || n == 0);

        if (count_running(users) >= n_running_max)
                return -1;
        for (size_t i = 0; i < n; i++) {
                const QueueUser *user;

                if (!entries[i].queued)
                        continue;
                user = find_user(users, entries[i].uid);
                if (best < 0 || goes_before(user, entries[i].id, best_user, entries[best].id)) {
                        best = (ssize_t) i;
                        best_user = user;
                }
        }
        return best;
}

/* How many waiting jobs could run within their users' shares of the places. */
static uint32_t count_claims(const GArray *users) {
        uint32_t n = 0;

        for (guint i = 0; i < users->len; i++) {
                const QueueUser *user = &g_array_index(users, QueueUser, i);

                if (user->n_running < user->share)
                        n += MIN(user->n_queued, user->share - user->n_running);
        }
        return n;
}

static uint32_t count_free(const GArray *users, uint32_t n_running_max) {
        uint32_t n_free = n_running_max;

        for (guint i = 0; i < users->len; i++) {
                const QueueUser *user = &g_array_index(users, QueueUser, i);
                uint32_t n_staying = user->n_running - user->n_leaving;

                n_free -= MIN(n_free, n_staying);
        }
        return n_free;
}

static uint32_t beyond_share(const QueueUser *user) {
        uint32_t n_staying = user->n_running - user->n_leaving;

        return n_staying > user->share ? n_staying - user->share : 0;
}

static bool may_leave(const QueueEntry *e) {
        return e->running && e->movable && !e->leaving;
}

static bool is_younger(const QueueEntry *a, const QueueEntry *b) {
        if (a->since_usec != b->since_usec)
                return a->since_usec > b->since_usec;
        return a->id > b->id;
}

/* Whether this is the youngest of its user's jobs that may give their places back. */
static bool is_youngest(const QueueEntry *entries, size_t n, const QueueEntry *e) {
        for (size_t i = 0; i < n; i++)
                if (entries[i].uid == e->uid && may_leave(&entries[i]) && is_younger(&entries[i], e))
                        return false;
        return true;
}

ssize_t queue_preempt(const QueueEntry *entries, size_t n, uint32_t n_running_max, uint64_t after_usec,
                uint64_t now_usec, uint64_t *ret_wait_usec) {
        g_autoptr(GArray) users = count_users(entries, n, n_running_max);
        uint64_t wait = UINT64_MAX;
        uint32_t best_beyond = 0;
        ssize_t best = -1;

        assert(entries || n == 0);
        assert(ret_wait_usec);

        for (size_t i = 0; count_claims(users) > count_free(users, n_running_max) && i < n; i++) {
                const QueueEntry *e = &entries[i];
                uint64_t ran_usec = now_usec > e->since_usec ? now_usec - e->since_usec : 0;
                uint32_t beyond;

                if (!may_leave(e))
                        continue;
                beyond = beyond_share(find_user(users, e->uid));
                if (beyond == 0 || !is_youngest(entries, n, e))
                        continue;
                if (ran_usec < after_usec) {
                        wait = MIN(wait, after_usec - ran_usec);
                        continue;
                }
                if (best < 0 || beyond > best_beyond ||
                                (beyond == best_beyond && is_younger(e, &entries[best]))) {
                        best = (ssize_t) i;
                        best_beyond = beyond;
                }
        }
        *ret_wait_usec = wait;
        return best;
}
