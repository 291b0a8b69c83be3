/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One HTTP request and its answer, on descriptors that systemd hands over (actord-metrics@.service). It is
 * as much of RFC 9110 and 9112 as a scraper needs: GET or HEAD of /metrics, and the connection is closed. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The statuses that are given. */
typedef enum HttpStatus {
        HTTP_OK = 200,
        HTTP_BAD_REQUEST = 400,
        HTTP_NOT_FOUND = 404,
        HTTP_BAD_METHOD = 405,
        HTTP_TOO_LARGE = 431,
        HTTP_UNAVAILABLE = 503,
} HttpStatus;

/* Ends the process after this long by SIGALRM, whatever it waits for: a peer that sends slowly or does not
 * read, or a daemon that does not answer. */
#define HTTP_SECONDS 20u

/* Reads one request's head from fd. *ret_head_only: the answer is to have no body (HEAD). Negative: the peer
 * closed the connection, or it broke, so that no answer is possible. */
int http_read(int fd, HttpStatus *ret_status, bool *ret_head_only);

/* Writes the whole answer to fd. The body of any status but HTTP_OK is one sentence of ours. */
int http_write(int fd, HttpStatus status, bool head_only, const GString *text);
