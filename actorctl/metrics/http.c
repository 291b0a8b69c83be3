/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/metrics/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fd.h"

enum { HEAD_BYTES_MAX = 8192, DRAIN_BYTES_MAX = 65536 };

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define SENTENCE_TYPE    "text/plain; charset=utf-8"

static const struct {
        HttpStatus status;
        const char *phrase, *sentence;
} answers[] = {
        { HTTP_OK, "OK", "" },
        { HTTP_BAD_REQUEST, "Bad Request", "This is not a request of HTTP/1.0 or HTTP/1.1.\n" },
        { HTTP_NOT_FOUND, "Not Found", "The figures of actord's jobs are at /metrics.\n" },
        { HTTP_BAD_METHOD, "Method Not Allowed", "/metrics is read with GET or HEAD.\n" },
        { HTTP_TOO_LARGE, "Request Header Fields Too Large",
                        "The head of a request has at most 8192 bytes here.\n" },
        { HTTP_UNAVAILABLE, "Service Unavailable",
                        "The figures could not be read from actord: see the journal of actord-metrics@.\n" },
};

/* Reads the request's line: method, target and version, with one space between them (RFC 9112, section
 * 3). */
static HttpStatus status_of(const char *line, bool *ret_head_only) {
        g_auto(GStrv) words = g_strsplit(line, " ", 4);
        g_autofree char *path = NULL;

        if (g_strv_length(words) != 3 || !g_str_has_prefix(words[2], "HTTP/1."))
                return HTTP_BAD_REQUEST;
        *ret_head_only = strcmp(words[0], "HEAD") == 0;
        path = g_strndup(words[1], strcspn(words[1], "?"));
        if (strcmp(path, "/metrics") != 0)
                return HTTP_NOT_FOUND;
        return *ret_head_only || strcmp(words[0], "GET") == 0 ? HTTP_OK : HTTP_BAD_METHOD;
}

/* Whether the head of the request has arrived: it ends with an empty line. */
static bool is_complete(const char *head) {
        return strstr(head, "\r\n\r\n") || strstr(head, "\n\n");
}

int http_read(int fd, HttpStatus *ret_status, bool *ret_head_only) {
        char head[HEAD_BYTES_MAX + 1];
        size_t n = 0;

        g_assert(ret_status);
        g_assert(ret_head_only);

        *ret_head_only = false;
        head[0] = '\0';
        while (!is_complete(head)) {
                ssize_t k;

                if (n == HEAD_BYTES_MAX) {
                        *ret_status = HTTP_TOO_LARGE;
                        return 0;
                }
                k = read(fd, head + n, HEAD_BYTES_MAX - n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k < 0 ? -errno : -ECONNRESET;
                /* The head is read as a string, so a NUL in it is refused. */
                n += (size_t) k;
                head[n] = '\0';
                if (strlen(head) < n) {
                        *ret_status = HTTP_BAD_REQUEST;
                        return 0;
                }
        }
        head[strcspn(head, "\r\n")] = '\0';
        *ret_status = status_of(head, ret_head_only);
        return 0;
}

/* Reads the rest of the request. If a socket is closed with unread bytes, the connection is reset, and the
 * peer may lose the answer. */
static void drain(int fd) {
        char rest[4096];
        size_t n = 0;
        ssize_t k;

        if (shutdown(fd, SHUT_WR) < 0)
                return;
        do {
                k = read(fd, rest, sizeof(rest));
                n += k > 0 ? (size_t) k : 0;
        } while (k > 0 && n < DRAIN_BYTES_MAX);
}

int http_write(int fd, HttpStatus status, bool head_only, const GString *text) {
        g_autoptr(GString) answer = g_string_new(NULL);
        size_t i = 0, length;
        const char *body;
        int r;

        while (answers[i].status != status)
                i++;
        body = status == HTTP_OK ? text->str : answers[i].sentence;
        length = status == HTTP_OK ? text->len : strlen(body);
        g_string_append_printf(answer,
                        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %" G_GSIZE_FORMAT
                        "\r\nConnection: close\r\n%s\r\n",
                        (int) status, answers[i].phrase,
                        status == HTTP_OK ? OPENMETRICS_TYPE : SENTENCE_TYPE, length,
                        status == HTTP_BAD_METHOD ? "Allow: GET, HEAD\r\n" : "");
        if (!head_only)
                g_string_append_len(answer, body, (gssize) length);
        r = write_full(fd, answer->str, answer->len);
        if (r >= 0 && status != HTTP_OK)
                drain(fd);
        return r;
}
