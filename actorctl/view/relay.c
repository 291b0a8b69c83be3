/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises the standard error of a job. An environment's output must not control the terminal. And the job
 * must never wait for actorctl, which may be stopped by Ctrl-Z, killed, or busy. So a separate process, in a
 * session of its own, reads the output from a pipe, sanitises it, and writes it to the standard error of
 * actorctl. It runs until the last writer has closed the pipe, and continues to read even if its own output
 * is closed. */
#include "actorctl/view/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/sanitise-lines.h"
#include "actorctl/view/screen.h"
#include "lib/sanitise.h"
#include "lib/cleanup.h"
#include "lib/limits.h"

/* the largest size to which a writer without privileges can set the pipe, by default */
#define PIPE_BYTES_MAX (1u << 20)
#define WAIT_MSEC      2000

struct Relay {
        int fd, control;
        pid_t pid;
};

/* The state of the reading process. */
typedef struct Reader {
        int words, control;
        SanitisedLines *lines;
        GString *text;
        bool terminal, deaf; /* deaf: standard error is closed */
} Reader;

static void write_text(Reader *r) {
        const char *p;
        size_t n;

        if (r->text->len == 0)
                return;
        /* the text overwrites a live line, which is drawn again below */
        if (r->terminal)
                (void) g_string_prepend(r->text, "\r\033[K");
        p = r->text->str;
        n = r->text->len;
        while (n > 0 && !r->deaf) {
                ssize_t k = write(STDERR_FILENO, p, n);
                struct pollfd ready = { STDERR_FILENO, POLLOUT, 0 };

                if (k >= 0) {
                        p += k;
                        n -= (size_t) k;
                } else if (errno == EAGAIN)
                        (void) poll(&ready, 1, -1);
                else if (errno != EINTR)
                        r->deaf = true;
        }
        g_string_truncate(r->text, 0);
}

/* Returns the number of bytes; 0: no writer is left; -EAGAIN: there is nothing to read now. */
static ssize_t read_words(Reader *r) {
        static char bytes[1u << 16];
        ssize_t n;

        do
                n = read(r->words, bytes, sizeof(bytes));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        sanitised_lines_put(r->lines, bytes, (size_t) n, r->text);
        write_text(r);
        return n;
}

static void flush_words(Reader *r) {
        sanitised_lines_flush(r->lines, r->text);
        write_text(r);
}

/* Answers a request to flush when all bytes that were in the pipe at that time have been shown. A job that
 * writes faster than this process reads does not delay the answer. */
static void answer(Reader *r) {
        char byte;

        if (read(r->control, &byte, 1) <= 0) {
                r->control = -EBADF;
                return;
        }
        for (ssize_t n, sum = 0; sum < PIPE_BYTES_MAX && (n = read_words(r)) > 0;)
                sum += n;
        flush_words(r);
        (void) send(r->control, &byte, 1, MSG_NOSIGNAL);
}

static void read_all_words(Reader *r) {
        for (;;) {
                struct pollfd p[] = { { r->words, POLLIN, 0 }, { r->control, POLLIN, 0 } };

                if (poll(p, G_N_ELEMENTS(p), -1) < 0 && errno != EINTR)
                        break;
                if (p[1].revents)
                        answer(r);
                else if (p[0].revents && read_words(r) == 0)
                        break;
        }
        flush_words(r);
}

static void close_others(int a, int b) {
        int low = MIN(a, b), high = MAX(a, b);

        (void) close_range(0, STDERR_FILENO - 1, 0);
        if (low > STDERR_FILENO + 1)
                (void) close_range(STDERR_FILENO + 1, (unsigned) low - 1, 0);
        if (high > low + 1)
                (void) close_range((unsigned) low + 1, (unsigned) high - 1, 0);
        (void) close_range((unsigned) high + 1, ~0u, 0);
}

static _Noreturn void reader_main(int words, int control) {
        struct stat st;
        Reader r = {
                .words = words,
                .control = control,
                .text = g_string_new(NULL),
                .terminal = terminal_obeys(STDERR_FILENO),
        };

        (void) setsid();
        (void) prctl(PR_SET_NAME, "actorctl-relay");
        (void) signal(SIGPIPE, SIG_IGN);
        close_others(words, control);
        r.lines = sanitised_lines_new(
                        sanitise_locale_is_utf8(), fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode));
        read_all_words(&r);
        _exit(0);
}

Relay *relay_new(void) {
        _cleanup_close_ int words = -EBADF, ours = -EBADF, theirs = -EBADF, fd = -EBADF;
        int ends[2], pair[2];
        Relay *relay;
        pid_t pid = -1;

        if (pipe2(ends, O_CLOEXEC) >= 0) {
                words = ends[0];
                fd = ends[1];
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) >= 0) {
                        ours = pair[0];
                        theirs = pair[1];
                        if (fcntl(words, F_SETFL, O_NONBLOCK) >= 0)
                                pid = fork();
                }
        }
        if (pid < 0) {
                complain("the process that passes on the job's output cannot be started: %s%s",
                                g_strerror(errno), limit_advice(errno));
                return NULL;
        }
        if (pid == 0)
                reader_main(words, theirs);
        relay = g_new(Relay, 1);
        *relay = (Relay){ .fd = TAKE_FD(fd), .control = TAKE_FD(ours), .pid = pid };
        return relay;
}

int relay_fd(const Relay *relay) {
        return relay ? relay->fd : STDERR_FILENO;
}

/* Waits for the process's answer. 1: it came; 0: the process has ended; -1: neither happened in time. */
static int wait_answer(const Relay *relay) {
        struct pollfd p = { relay->control, POLLIN, 0 };
        char byte;
        int r;

        do
                r = poll(&p, 1, WAIT_MSEC);
        while (r < 0 && errno == EINTR);
        return r > 0 ? recv(relay->control, &byte, 1, MSG_DONTWAIT) == 1 : -1;
}

void relay_flush(Relay *relay) {
        char byte = 0;

        if (!relay)
                return;
        /* Discards an answer to an earlier request that came too late. */
        while (recv(relay->control, &byte, 1, MSG_DONTWAIT) > 0)
                ;
        if (send(relay->control, &byte, 1, MSG_NOSIGNAL) == 1)
                (void) wait_answer(relay);
}

Relay *relay_free(Relay *relay) {
        bool ended;

        if (!relay)
                return NULL;
        (void) close_fd(relay->fd);
        relay_flush(relay);
        /* Another process may still hold the pipe's writing end, and then the reading process does not end.
         * In this case this function waits no longer than WAIT_MSEC: init reaps the reading process. */
        ended = wait_answer(relay) == 0;
        while (waitpid(relay->pid, NULL, ended ? 0 : WNOHANG) < 0 && errno == EINTR)
                ;
        (void) close_fd(relay->control);
        g_free(relay);
        return NULL;
}
