/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends events to the journal and sentences to stderr. The format of a field is always the daemon's own. Its
 * value may be hostile, so it is never used as a format. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "lib/boottime.h"
#include "lib/sanitise.h"

static struct {
        bool journal;
        int max_priority;
        LogBucket buckets[_MESSAGE_MAX];
        char last_error[1024];
} log_state = { .max_priority = LOG_INFO };

static const char *const message_ids[_MESSAGE_MAX] = {
#define X(name, id) [MESSAGE_##name] = id,
        MESSAGES(X)
#undef X
};

const char *message_id(Message message) {
        assert((int) message >= 0 && message < _MESSAGE_MAX);

        return message_ids[message];
}

/* Whether stderr is the journal. systemd names the journal's device and inode in JOURNAL_STREAM. So a stderr
 * that leads elsewhere is not mistaken for the journal. */
static bool stderr_is_journal(void) {
        const char *e = getenv("JOURNAL_STREAM");
        unsigned long long device, inode;
        struct stat st;

        return e && sscanf(e, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) >= 0 &&
               st.st_dev == device && st.st_ino == inode;
}

void log_open(int max_priority) {
        log_state.journal = stderr_is_journal();
        log_state.max_priority = max_priority;
}

int log_bucket_pass(LogBucket *bucket, unsigned long long now_sec, unsigned *ret_suppressed) {
        assert(bucket);
        assert(ret_suppressed);

        *ret_suppressed = 0;
        if (now_sec - bucket->begin_sec >= LOG_INTERVAL_SEC) {
                *ret_suppressed = bucket->n_suppressed;
                *bucket = (LogBucket){ .begin_sec = now_sec };
        }
        if (bucket->n >= LOG_BURST) {
                bucket->n_suppressed++;
                return 0;
        }
        bucket->n++;
        return 1;
}

static void log_field_va(LogEntry *entry, const char *format, va_list ap) {
        size_t left = LOG_TEXT_MAX - entry->n_text;
        int n;

        if (entry->n_fields >= LOG_FIELDS_MAX || left < 2)
                return;

        n = vsnprintf(entry->text + entry->n_text, left, format, ap);
        if (n <= 0)
                return;

        entry->starts[entry->n_fields++] = entry->n_text;
        entry->n_text += (size_t) n < left ? (size_t) n + 1 : left;
}

void log_begin(LogEntry *entry, Message message) {
        assert(entry);

        entry->message = message;
        entry->n_fields = entry->n_text = 0;
        log_field(entry, "MESSAGE_ID=%s", message_id(message));
}

void log_field(LogEntry *entry, const char *format, ...) {
        va_list ap;

        assert(entry);
        assert(format);

        va_start(ap, format);
        log_field_va(entry, format, ap);
        va_end(ap);
}

/* Writes the sentence as one line: a line break in a hostile text must not begin a new message. */
static void write_stderr(int priority, const char *sentence) {
        g_autofree char *line = NULL, *safe = NULL;

        if (priority > log_state.max_priority)
                return;

        line = g_strdelimit(g_strdup(sentence), "\r\n\t", ' ');
        safe = sanitise_for_journal(line);
        (void) fprintf(stderr, "actord: %s\n", safe);
}

static void send_journal(LogEntry *entry, int priority, const char *sentence) {
        g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *safe = sanitise_for_journal(sentence),
                        *message = g_strconcat("MESSAGE=", safe, NULL);
        struct iovec fields[LOG_FIELDS_MAX + 2];
        char level[16];
        size_t n = 0;

        (void) snprintf(level, sizeof(level), "PRIORITY=%d", priority);
        fields[n++] = (struct iovec){ message, strlen(message) };
        fields[n++] = (struct iovec){ level, strlen(level) };
        for (size_t i = 0; entry && i < entry->n_fields; i++) {
                char *field = sanitise_for_journal(entry->text + entry->starts[i]);

                g_ptr_array_add(values, field);
                fields[n++] = (struct iovec){ field, strlen(field) };
        }

        if (sd_journal_sendv(fields, (int) n) < 0)
                write_stderr(priority, sentence);
}

static void log_write(LogEntry *entry, int priority, const char *sentence) {
        if (priority <= LOG_ERR) {
                g_autofree char *safe = sanitise_for_journal(sentence);

                /* a line break would begin another assignment of sd_notify(3) */
                (void) snprintf(log_state.last_error, sizeof(log_state.last_error), "%s", safe);
        }
        if (log_state.journal)
                send_journal(entry, priority, sentence);
        else
                write_stderr(priority, sentence);
}

static void say_suppressed(unsigned n_suppressed, Message message) {
        LogEntry entry;
        char sentence[160];

        log_begin(&entry, MESSAGE_RECORDS_SUPPRESSED);
        log_field(&entry, "ACTORD_BURST=%u", LOG_BURST);
        log_field(&entry, "ACTORD_INTERVAL_SEC=%u", LOG_INTERVAL_SEC);
        log_field(&entry, "ACTORD_SUPPRESSED=%u", n_suppressed);
        log_field(&entry, "ACTORD_SUPPRESSED_ID=%s", message_id(message));
        (void) snprintf(sentence, sizeof(sentence),
                        "%u events of one kind were left out; the ledger has them.", n_suppressed);
        log_write(&entry, LOG_NOTICE, sentence);
}

void log_send(LogEntry *entry, int priority, const char *format, ...) {
        char sentence[2048];
        unsigned n_suppressed;
        va_list ap;

        assert(entry);
        assert(format);

        if (!log_bucket_pass(log_state.buckets + entry->message, clock_boottime() / 1000000000u,
                            &n_suppressed))
                return;
        if (n_suppressed > 0)
                say_suppressed(n_suppressed, entry->message);

        va_start(ap, format);
        (void) vsnprintf(sentence, sizeof(sentence), format, ap);
        va_end(ap);
        log_write(entry, priority, sentence);
}

void log_line(int priority, const char *format, ...) {
        char sentence[2048];
        va_list ap;

        assert(format);

        va_start(ap, format);
        (void) vsnprintf(sentence, sizeof(sentence), format, ap);
        va_end(ap);
        log_write(NULL, priority, sentence);
}

const char *log_last_error(void) {
        return log_state.last_error;
}
