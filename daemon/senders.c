/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/senders.h"

#include <assert.h>
#include <glib.h>

typedef struct Sender {
        char *name;
        uint32_t uid;
} Sender;

struct Senders {
        GHashTable *by_name; /* name → its link in `all` */
        GQueue all;          /* Senders, the oldest first */
};

Senders *senders_new(void) {
        Senders *senders = g_new0(Senders, 1);

        senders->by_name = g_hash_table_new(g_str_hash, g_str_equal);
        return senders;
}

static void forget(Senders *senders, GList *link) {
        Sender *sender = link->data;

        (void) g_hash_table_remove(senders->by_name, sender->name);
        g_queue_delete_link(&senders->all, link);
        g_free(sender->name);
        g_free(sender);
}

Senders *senders_free(Senders *senders) {
        if (!senders)
                return NULL;

        while (senders->all.head)
                forget(senders, senders->all.head);
        g_hash_table_unref(senders->by_name);
        g_free(senders);
        return NULL;
}

/* Removes a sender if necessary, so that this user may have one more. */
static void make_room(Senders *senders, uint32_t uid) {
        GList *oldest_of_all = senders->all.head, *oldest = NULL;
        unsigned n = 0;

        for (GList *link = oldest_of_all; link; link = link->next) {
                if (((const Sender *) link->data)->uid != uid)
                        continue;
                oldest = oldest ?: link;
                n++;
        }
        if (n >= SENDERS_USER_MAX)
                forget(senders, oldest);
        else if (oldest_of_all && senders->all.length >= SENDERS_MAX)
                forget(senders, oldest_of_all);
}

void senders_add(Senders *senders, const char *name, uint32_t uid) {
        Sender *sender;

        assert(senders);
        assert(name);

        if (g_hash_table_contains(senders->by_name, name))
                return;
        make_room(senders, uid);
        sender = g_new(Sender, 1);
        *sender = (Sender){ g_strdup(name), uid };
        g_queue_push_tail(&senders->all, sender);
        (void) g_hash_table_insert(senders->by_name, sender->name, senders->all.tail);
}

bool senders_find(const Senders *senders, const char *name, uint32_t *ret_uid) {
        const GList *link;

        assert(senders);
        assert(name);
        assert(ret_uid);

        link = g_hash_table_lookup(senders->by_name, name);
        if (!link)
                return false;
        *ret_uid = ((const Sender *) link->data)->uid;
        return true;
}
