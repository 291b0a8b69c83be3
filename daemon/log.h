/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's messages. An event has fields and a sentence: programs read the fields (ACTORD_*=), people
 * the sentence and the catalog's text for its message id. Under journald events go to the journal with all
 * fields; otherwise only the sentences go to stderr. */
#pragma once

#include <stddef.h>
#include <syslog.h>
#include "include/messages.h"

#define LOG_FIELDS_MAX   48u
#define LOG_TEXT_MAX     6144u
#define LOG_BURST        60u
#define LOG_INTERVAL_SEC 10u

typedef struct LogEntry {
        Message message;
        size_t n_fields, n_text;
        size_t starts[LOG_FIELDS_MAX]; /* where each "NAME=value" begins in text */
        char text[LOG_TEXT_MAX];
} LogEntry;

/* Decides once where messages go: to the journal if stderr is a journal stream, otherwise to stderr.
 * max_priority: the least important messages that stderr gets. */
void log_open(int max_priority);

/* 32 hexadecimal digits. */
const char *message_id(Message message);

void log_begin(LogEntry *entry, Message message);
/* Adds a field such as "ACTORD_JOB=%lu". A field that is too long is cut. In the journal, control characters
 * of a value are written as numbers (\x0a). */
void log_field(LogEntry *entry, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends at most LOG_BURST events of one message id in LOG_INTERVAL_SEC. The next event after that says how
 * many were left out. */
void log_send(LogEntry *entry, int priority, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Logs a sentence that is not an event. */
void log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The newest sentence of LOG_ERR or worse, to be shown with an exit status; "" before the first. */
const char *log_last_error(void);

/* Whether an event of this kind may pass at this time. Pure except for its own counters. *ret_suppressed: if
 * it may pass, how many were left out before it. */
typedef struct LogBucket {
        unsigned long long begin_sec;
        unsigned n, n_suppressed;
} LogBucket;
int log_bucket_pass(LogBucket *bucket, unsigned long long now_sec, unsigned *ret_suppressed);
