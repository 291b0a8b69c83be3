/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's end of include/plan.h: connects to an invoker, hears Hello and Written, copies records out
 * of its spool, sends plans. What comes from there is checked: a length, a number or a record that cannot
 * be ends the connection, never the daemon. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include "include/plan.h"

typedef struct PlanLink PlanLink;

/* Called from the event loop. hello, written, failed: negative ends the connection; failed is called
 * before any hello, once. closed is the last call; the link is freed by its owner in or after it, never
 * in another of these. error: 0 when the invoker closed, else what was wrong. */
typedef struct PlanLinkOps {
        int (*hello)(const Hello *hello, const struct ucred *peer, void *userdata);
        int (*written)(void *userdata);
        int (*failed)(const Failed *failed, const struct ucred *peer, void *userdata);
        void (*closed)(int error, void *userdata);
} PlanLinkOps;

/* Connects to the socket `name` in a directory. -ECONNREFUSED, -ENOENT: no invoker listens. */
int plan_connect(int directory_fd, const char *name);

/* Makes a link over the descriptor, which it closes in the end if this succeeds. */
int plan_link_new(sd_event *event, int fd, const PlanLinkOps *ops, void *userdata, PlanLink **ret);
PlanLink *plan_link_free(PlanLink *link);

/* Sends the plan; one that could not be sent yet is replaced. */
int plan_link_send(PlanLink *link, const Plan *plan);

/* Continues reading after this record. */
void plan_link_seek(PlanLink *link, uint64_t seq);
uint64_t plan_link_position(const PlanLink *link);
/* The number of records in the spool that were not read yet. */
uint64_t plan_link_unread(const PlanLink *link);

/* 1 and the next record; 0: there is none yet; -EBADMSG: what stands there is no such record; -EOVERFLOW:
 * records were overwritten unread. Works after the invoker is gone, too: the spool outlives it. */
int plan_link_next(PlanLink *link, Record *ret);
