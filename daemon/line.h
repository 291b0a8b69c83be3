/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that wait for their turn. A call may have to wait for polkit, for a process that copies files or
 * asks for a user's groups, or for an earlier call of the same connection. Then the daemon keeps its
 * message, and its handler runs again when its turn has come. Users take turns, so that a user with many
 * calls does not delay a user with few. Every line has limits and a deadline. Beyond them, the answer is the
 * error Busy, which asks the caller to try again. When a caller leaves the bus, its calls that want an
 * answer leave their lines, too. */
#pragma once

#include "daemon/manager.h"
#include "daemon/users.h"

/* Limits of each line: calls, and bytes of their messages; of all users, and of one user. */
#define LINE_CALLS_MAX      4096u
#define LINE_CALLS_USER_MAX 1024u
#define LINE_BYTES_MAX      (64ull << 20)
#define LINE_BYTES_USER_MAX (16ull << 20)
/* How many calls may wait in a line, at most `most`. Each call may bring GATE_DESCRIPTORS_MAX descriptors.
 * The calls of a line may use half of the daemon's table of descriptors; jobs need the rest. daemon/turns.h
 * has what the lines leave of this half. */
unsigned calls_max(unsigned most);

/* How long a call may wait, from its arrival. This is less than the 25 s for which callers wait by
 * default. */
#define LINE_TIMEOUT_USEC (20ull * 1000 * 1000)

/* X(NAME, the most turns at once, the most at once for one key). The key of a submission is its connection,
 * so that the jobs of a connection are numbered in the order of its calls. The key of other calls is the
 * user. */
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

/* Questions to polkit: how many may wait for an answer, and how many of one user. So an agent that never
 * answers delays only its own user. */
#define QUERIES_MAX      64u
#define QUERIES_USER_MAX 8u
/* Processes that copy callers' files: how many may run at once, and how many of one user. */
#define COPIES_MAX      32u
#define COPIES_USER_MAX 4u

typedef struct LineEntry {
        uint64_t key;
        uint32_t uid;
        bool active;
        uint64_t served; /* when the user last had a turn, as a number that rises with each turn */
} LineEntry;

/* The index of the waiting call that is next, or -1. Entries are in the order of their arrival. Pure. Only
 * calls whose key has room are considered. The user with the fewest active calls is next; among equal users,
 * the one whose last turn is longest ago; among this user's calls, the oldest one. */
ssize_t line_pick(const LineEntry *entries, size_t n, unsigned n_max, unsigned n_key_max);

Lines *lines_new(Manager *manager);
Lines *lines_free(Lines *lines);
bool lines_are_empty(const Lines *lines);
/* How many calls are in lines. A call in two lines counts twice. */
unsigned lines_waiting(const Lines *lines);

/* Puts a call into a line. 1: the call has its turn now, or had it before. 0: the call waits, and `handler`
 * will be called again with it (the caller returns 1 now). Negative: an error is set. */
int line_enter(Lines *lines, LineName name, sd_bus_message *message, uint32_t uid,
                sd_bus_message_handler_t handler, sd_bus_error *error);
bool line_has(const Lines *lines, LineName name, sd_bus_message *message);
/* Ends the call's turn. A call that is not in the line is ignored. */
void line_leave(Lines *lines, LineName name, sd_bus_message *message);
/* Lets the calls that have their turn try again, because something that they waited for has happened. */
void line_again(Lines *lines, LineName name);

/* Runs the handler of a kept call, and answers the caller if the handler fails. */
void call_again(Lines *lines, sd_bus_message *message, sd_bus_message_handler_t handler);
