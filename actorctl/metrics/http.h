/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One HTTP request and its answer, on descriptors from systemd (actord-metrics@.service). It implements as
 * much of RFC 9110 and 9112 as a scraper needs: GET or HEAD of /metrics, after which the connection is
 * closed. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum HttpStatus {
        HTTP_OK = 200,
        HTTP_BAD_REQUEST = 400,
        HTTP_NOT_FOUND = 404,
        HTTP_BAD_METHOD = 405,
        HTTP_TOO_LARGE = 431,
        HTTP_UNAVAILABLE = 503,
} HttpStatus;

/* After this time SIGALRM ends the process. It may wait for a peer that sends slowly or does not read, or
 * for a daemon that does not answer. */
#define HTTP_SECONDS 20u

/* Reads the head of one request from fd. *ret_head_only: the answer must have no body (HEAD). Negative: the
 * peer has closed the connection, or it broke, so no answer is possible. */
int http_read(int fd, HttpStatus *ret_status, bool *ret_head_only);

/* Writes the whole answer to fd. Except for HTTP_OK, the body is one fixed sentence. */
int http_write(int fd, HttpStatus status, bool head_only, const GString *text);
