/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that wait for their turn. A call that must wait for polkit, for a process that copies files or
 * asks for a user's groups, or for an earlier call of the same connection is not refused: its message is
 * kept, and its handler runs again when its turn has come. Turns go round the users, so that a user with
 * many calls does not hold up one with few. Every line has limits and a deadline; beyond them the answer
 * is the error Busy, which asks the caller to try again. A caller that leaves the bus leaves its lines. */
#pragma once

#include "daemon/manager.h"
#include "daemon/users.h"

#define LINE_CALLS_MAX      4096u
#define LINE_CALLS_USER_MAX 1024u /* MaxJobsPerUser= of them at most are jobs */
#define LINE_BYTES_MAX      (64ull << 20)
#define LINE_BYTES_USER_MAX (16ull << 20)
/* How many calls may wait, in a queue that has room for `most`: each may bring GATE_DESCRIPTORS_MAX
 * descriptors, and half of the daemon's table of descriptors is for calls, the rest for jobs. Calls whose
 * turn is yet to come (daemon/turns.h) have what those in lines leave. */
unsigned calls_max(unsigned most);

/* From the call's arrival: less than the 25 s that callers wait for an answer unless they say otherwise. */
#define LINE_TIMEOUT_USEC (20ull * 1000 * 1000)

/* X(NAME, at once, at once of one key): a submission's key is its connection, so that the jobs of a
 * connection are numbered in the order of its calls; the key of the others is the user. */
#define LINES(X)                                  \
        X(SUBMISSIONS, LINE_CALLS_MAX, 1u)        \
        X(QUERIES, QUERIES_MAX, QUERIES_USER_MAX) \
        X(COPIES, COPIES_MAX, COPIES_USER_MAX)    \
        X(LOOKUPS, LOOKUPS_MAX, LOOKUPS_USER_MAX)

typedef enum LineName {
#define X(name, ...) LINE_##name,
        LINES(X)
#undef X
                        _LINE_MAX,
        _LINE_INVALID = -EINVAL,
} LineName;

/* A question to polkit: an agent that never answers holds up its own user only. */
#define QUERIES_MAX      64u
#define QUERIES_USER_MAX 8u
/* A process that copies a caller's files. */
#define COPIES_MAX      32u
#define COPIES_USER_MAX 4u

typedef struct LineEntry {
        uint64_t key;
        uint32_t uid;
        bool active;
        uint64_t served; /* when its user had the last turn: a count that rises */
} LineEntry;

/* The index of the waiting call that is next, or -1; entries in the order of their arrival. Pure. Among
 * calls whose key has room it is one of the user with the fewest active calls; among equal users, of the
 * one whose last turn is longest ago; among that user's calls, the oldest. */
ssize_t line_pick(const LineEntry *entries, size_t n, unsigned n_max, unsigned n_key_max);

Lines *lines_new(Manager *manager);
Lines *lines_free(Lines *lines);
bool lines_are_empty(const Lines *lines);
/* How many calls are in lines; one that is in two counts twice. */
unsigned lines_waiting(const Lines *lines);

/* 1: it is the call's turn, and was before if this is not the first time; 0: it waits, and `handler` is
 * called again with it (the caller returns 1 now); negative: an error is set. */
int line_enter(Lines *lines, LineName name, sd_bus_message *message, uint32_t uid,
                sd_bus_message_handler_t handler, sd_bus_error *error);
bool line_has(const Lines *lines, LineName name, sd_bus_message *message);
/* Ends the call's turn. A call that is not in the line is ignored. */
void line_leave(Lines *lines, LineName name, sd_bus_message *message);
/* Lets waiting calls try again, as what one of them waited for has happened. */
void line_again(Lines *lines, LineName name);

/* Runs the handler of a call that was kept, and answers the caller if it fails. */
void call_again(Lines *lines, sd_bus_message *message, sd_bus_message_handler_t handler);
