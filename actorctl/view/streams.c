/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises standard output and standard error. Instead of each stdio stream there is another stream, which
 * sanitises its buffer before it writes it. So messages, tables and warnings of libraries are all sanitised,
 * and verbs need no code for it. */
#include "actorctl/view/streams.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/sanitise.h"

enum { CHARACTER_BYTES_MAX = 4, BUFFER_BYTES = 1 << 16 };

typedef struct Stream {
        int fd;
        bool utf8;
        /* The first bytes of a character that the next write completes. */
        char begun[CHARACTER_BYTES_MAX];
        size_t n_begun;
        int error; /* of the first write that failed, except for -EPIPE; 0: there was none */
} Stream;

static Stream streams[] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };
static FILE *files[G_N_ELEMENTS(streams)];

/* How many bytes at the end may be an incomplete character. */
static size_t unfinished(const char *bytes, size_t n) {
        for (size_t k = 1; k < CHARACTER_BYTES_MAX && k <= n; k++)
                if ((unsigned char) bytes[n - k] >= 0xc0)
                        return g_utf8_get_char_validated(bytes + n - k, (gssize) k) == (gunichar) -2 ? k : 0;
        return 0;
}

/* stdio drops bytes that it cannot write, and the next write may succeed. So the error is kept here. */
static void note_error(Stream *stream, int r) {
        if (r < 0 && r != -EPIPE && stream->error == 0)
                stream->error = r;
}

static void append_lines(GString *to, const char *bytes, size_t n, bool utf8) {
        while (n > 0) {
                const char *end = memchr(bytes, '\n', n);
                size_t k = end ? (size_t) (end - bytes) : n;

                sanitise_append(to, bytes, k, utf8);
                if (end)
                        g_string_append_c(to, '\n');
                k += end != NULL;
                bytes += k;
                n -= k;
        }
}

static ssize_t write_sanitised(void *cookie, const char *bytes, size_t n) {
        Stream *stream = cookie;
        g_autoptr(GString) text = g_string_new_len(stream->begun, (gssize) stream->n_begun),
                           safe = g_string_new(NULL);
        int r;

        g_string_append_len(text, bytes, (gssize) n);
        stream->n_begun = stream->utf8 ? unfinished(text->str, text->len) : 0;
        memcpy(stream->begun, text->str + text->len - stream->n_begun, stream->n_begun);
        append_lines(safe, text->str, text->len - stream->n_begun, stream->utf8);
        r = write_full(stream->fd, safe->str, safe->len);
        if (r < 0) {
                note_error(stream, r);
                errno = -r;
                return 0; /* fopencookie() wants 0 for a failure */
        }
        return (ssize_t) n;
}

static FILE *open_stream(Stream *stream, int mode) {
        FILE *file = fopencookie(stream, "w", (cookie_io_functions_t){ .write = write_sanitised });

        /* A file or a program always gets UTF-8, with any locale. */
        stream->utf8 = sanitise_locale_is_utf8() || !isatty(stream->fd);
        if (file)
                (void) setvbuf(file, NULL, mode, mode == _IONBF ? 0 : BUFFER_BYTES);
        return file;
}

void streams_sanitise(void) {
        FILE *out = open_stream(&streams[0], isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF),
             *err = open_stream(&streams[1], _IOLBF);

        if (out)
                files[0] = stdout = out;
        if (err)
                files[1] = stderr = err;
}

void stream_write_raw(FILE *stream, const char *bytes) {
        (void) fflush(stream);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                if (stream == files[i]) {
                        note_error(&streams[i], write_full(streams[i].fd, bytes, strlen(bytes)));
                        return;
                }
        fputs(bytes, stream);
}

int stream_end(FILE *stream) {
        int r = fflush(stream) != 0 && errno != EPIPE ? -errno : 0;

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                if (stream == files[i])
                        return streams[i].error;
        return r;
}
