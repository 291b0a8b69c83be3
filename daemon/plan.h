/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's side of the protocol in include/plan.h: connects to an invoker, receives Hello, Failed and
 * Written, copies records from its spool, and sends plans (which rounds may begin). Everything from the
 * invoker is checked: an impossible length, number or record ends the connection, never the daemon. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include "include/plan.h"

typedef struct PlanLink PlanLink;

/* Functions that the event loop calls. A negative result of hello, written or failed ends the connection.
 * failed is called only before hello. closed is the last call. The owner may free the link in closed or
 * later, but not in the other functions. error: 0 if the invoker has closed the connection; otherwise a
 * negative errno. */
typedef struct PlanLinkOps {
        int (*hello)(const Hello *hello, const struct ucred *peer, void *userdata);
        int (*written)(void *userdata);
        int (*failed)(const Failed *failed, const struct ucred *peer, void *userdata);
        void (*closed)(int error, void *userdata);
} PlanLinkOps;

/* Connects to the socket `name` in a directory. -ECONNREFUSED, -ENOENT: no invoker listens. */
int plan_connect(int directory_fd, const char *name);

/* Makes a link over the descriptor. On success the link closes the descriptor at its end. */
int plan_link_new(sd_event *event, int fd, const PlanLinkOps *ops, void *userdata, PlanLink **ret);
PlanLink *plan_link_free(PlanLink *link);

/* Sends the plan. It replaces an earlier plan that could not be sent yet. */
int plan_link_send(PlanLink *link, const Plan *plan);

/* Whether the learner has an order, for whose answer the job's end waits. The invoker tells this by itself
 * once a plan has an `end`. */
bool plan_link_learner_works(const PlanLink *link);

/* Continues reading after this record. */
void plan_link_seek(PlanLink *link, uint64_t seq);
uint64_t plan_link_position(const PlanLink *link);
/* The number of records in the spool that have not been read. */
uint64_t plan_link_unread(const PlanLink *link);

/* Reads the next record of the spool. 1: *ret has it; 0: there is none yet; -EBADMSG: the bytes are not a
 * valid next record; -EOVERFLOW: records were overwritten before they were read. It works even when the
 * invoker is gone, since the spool outlives it. */
int plan_link_next(PlanLink *link, Record *ret);
