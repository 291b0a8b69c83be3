/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the gate gets rid of a descriptor without closing it: descriptors of strangers have numbers from
 * GATE_FLOOR up, its own lie below. The keeper is cloned with the table shared (CLONE_FILES), then the
 * gate takes a copy of the lower part for itself (CLOSE_RANGE_UNSHARE), and the keeper remains alone with
 * the whole old one. The kernel copies a table in words of 64 numbers, so that is where the border lies. */
#include "daemon/gate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

#define MESSAGE_HEAD     16u /* of each message of D-Bus: who reads it knows its size */
#define MESSAGE_FDS_MOST 253u
#define FIELDS_MAX       (1u << 20)
#define CHUNK_BYTES      65536u
#define UNKEPT_MAX       1024u
#define FETCH_MSEC       10000
#define LINGER_MSEC      1000

enum { GATE_BUS = STDERR_FILENO + 1, GATE_DAEMON, GATE_ASK, GATE_SYNC, GATE_FLOOR = 64 };

typedef struct Slot {
        pid_t pid;
        uint32_t uid;
        uint32_t closed; /* by the keeper: its own are closed; what it still waits for are others' */
} Slot;

typedef struct Descriptors {
        int fds[MESSAGE_FDS_MOST];
        size_t n;
} Descriptors;

typedef struct Gate {
        Slot *slots; /* shared with the keepers */
        sd_bus *ask; /* who a sender is */
        size_t n_unkept;
        uint8_t *head;
        uint8_t chunk[CHUNK_BYTES];
} Gate;

/* Only sealed memory is sure to lie on no file system of a user's. */
static bool is_harmless(int fd) {
        return memfd_check_sealed(fd) >= 0;
}

static int wait_for_bus(void) {
        struct pollfd p[] = { { .fd = GATE_BUS, .events = POLLIN }, { .fd = GATE_DAEMON } };

        for (;;) {
                if (poll(p, ELEMENTSOF(p), -1) < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (p[1].revents)
                        return -EPIPE;
                if (p[0].revents)
                        return 0;
        }
}

static int take_descriptors(struct msghdr *msg, Descriptors *descriptors) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
                size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                if (n > ELEMENTSOF(descriptors->fds) - descriptors->n)
                        return -EMSGSIZE;
                memcpy(descriptors->fds + descriptors->n, CMSG_DATA(c), n * sizeof(int));
                descriptors->n += n;
        }
        return msg->msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}

/* All n bytes, or -EPIPE. The bus's descriptor may be non-blocking: the daemon shares it. */
static int receive(void *bytes, size_t n, Descriptors *descriptors) {
        uint8_t *p = bytes;
        int r;

        while (n > 0) {
                _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MOST * sizeof(int))];
                struct iovec iov = { p, n };
                struct msghdr msg = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
                ssize_t k;

                r = wait_for_bus();
                if (r < 0)
                        return r;
                k = recvmsg(GATE_BUS, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
                if (k < 0 && (errno == EAGAIN || errno == EINTR))
                        continue;
                if (k <= 0)
                        return k < 0 ? -errno : -EPIPE;
                r = take_descriptors(&msg, descriptors);
                if (r < 0)
                        return r;
                p += k;
                n -= (size_t) k;
        }
        return 0;
}

static int pass_on(const void *bytes, size_t n, const Descriptors *descriptors) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MOST * sizeof(int))] = {};
        size_t n_fds = descriptors->n;
        const uint8_t *p = bytes;

        while (n > 0) {
                struct iovec iov = { (void *) p, n };
                struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
                ssize_t k;

                if (n_fds > 0) {
                        msg.msg_control = control;
                        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                        *CMSG_FIRSTHDR(&msg) = (struct cmsghdr){
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS,
                                .cmsg_len = CMSG_LEN(n_fds * sizeof(int)),
                        };
                        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), descriptors->fds, n_fds * sizeof(int));
                }
                k = sendmsg(GATE_DAEMON, &msg, MSG_NOSIGNAL);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                n_fds = 0;
                p += k;
                n -= (size_t) k;
        }
        return 0;
}

/* The sender, which the bus itself writes into the header's fields: (code, variant) each, aligned to 8.
 * What is not understood ends the search. */
static const char *find_sender(const uint8_t *head, size_t size, bool big) {
        enum { FIELD_SENDER = 7 };
        size_t at = MESSAGE_HEAD;

        while (at + 8 <= size) {
                uint8_t code = head[at], signature = head[at + 2];
                uint32_t n;

                if (head[at + 1] != 1 || head[at + 3] != 0)
                        return NULL;
                at += 4;
                if (signature == 'g') {
                        at += 2u + head[at];
                } else {
                        memcpy(&n, head + at, sizeof(n));
                        n = big ? GUINT32_FROM_BE(n) : GUINT32_FROM_LE(n);
                        at += 4;
                        if (signature == 's' || signature == 'o') {
                                if (n >= size - at || head[at + n] != 0)
                                        return NULL;
                                if (code == FIELD_SENDER)
                                        return (const char *) head + at;
                                at += n + 1;
                        } else if (signature != 'u')
                                return NULL;
                }
                at = (at + 7) & ~(size_t) 7;
        }
        return NULL;
}

/* UINT32_MAX: the bus does not say; then all such share one user's limit. */
static uint32_t uid_of(Gate *gate, const char *sender) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint32_t uid = UINT32_MAX;

        if (sender && sd_bus_call_method(gate->ask, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                      "org.freedesktop.DBus", "GetConnectionUnixUser", NULL, &reply, "s",
                                      sender) >= 0)
                (void) sd_bus_message_read(reply, "u", &uid);
        return uid;
}

static void reap(Gate *gate) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                for (size_t i = 0; i < GATE_KEEPERS_MAX; i++)
                        if (gate->slots[i].pid == pid)
                                gate->slots[i] = (Slot){};
}

/* NULL: no room, or not for this user. */
static Slot *find_slot(Gate *gate, uint32_t uid) {
        Slot *found = NULL;
        unsigned n = 0;

        reap(gate);
        for (size_t i = 0; i < GATE_KEEPERS_MAX; i++) {
                Slot *slot = gate->slots + i;

                n += slot->pid > 0 && slot->uid == uid && !__atomic_load_n(&slot->closed, __ATOMIC_RELAXED);
                if (slot->pid == 0 && !found)
                        found = slot;
        }
        return n < GATE_KEEPERS_USER_MAX ? found : NULL;
}

/* Until the daemon, and whoever it let have a copy, has closed all tokens. */
static void keeper_serve(const int ends[], const int fds[], size_t n) {
        struct pollfd p[MESSAGE_FDS_MOST];
        size_t n_open = n;
        bool given = false;
        char byte;

        for (size_t i = 0; i < n; i++)
                p[i] = (struct pollfd){ .fd = ends[i], .events = POLLIN };
        while (n_open > 0) {
                if (poll(p, n, -1) < 0)
                        continue;
                for (size_t i = 0; i < n; i++) {
                        if (p[i].fd < 0 || p[i].revents == 0)
                                continue;
                        if (recv(ends[i], &byte, 1, MSG_DONTWAIT) == 1 &&
                                        message_send(ends[i], "d", 1, fds + i, 1) >= 0) {
                                given = true;
                                continue;
                        }
                        p[i].fd = -1;
                        n_open--;
                }
        }
        /* One that was asked for and never fetched goes with its token, a moment from now: it must not be
         * the last. */
        if (given)
                (void) poll(NULL, 0, LINGER_MSEC);
}

_Noreturn static void keeper_run(Slot *slot, int sync_fd, const int ends[], const int fds[], size_t n) {
        char byte;

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-keep");
        /* The table is ours alone when the gate has taken its copy: then the bus must not stay open
         * through us. */
        if (read(sync_fd, &byte, 1) == 1) {
                (void) close_range(0, GATE_FLOOR - 1, 0);
                keeper_serve(ends, fds, n);
                for (size_t i = 0; i < n; i++)
                        (void) close(fds[i]);
                __atomic_store_n(&slot->closed, 1, __ATOMIC_RELAXED);
        }
        _exit(EXIT_SUCCESS);
}

/* On success all numbers from GATE_FLOOR up are the keeper's. */
static int keeper_start(Slot *slot, uint32_t uid, const int ends[], const int fds[], size_t n) {
        int pair[2];
        pid_t pid;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        if (dup3(pair[1], GATE_SYNC, O_CLOEXEC) < 0)
                return -errno;
        (void) close(pair[1]);

        *slot = (Slot){ .uid = uid };
        pid = (pid_t) syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0UL, 0UL, 0UL, 0UL);
        if (pid == 0)
                keeper_run(slot, pair[0], ends, fds, n);
        if (pid < 0) {
                int r = -errno;

                (void) close(pair[0]);
                return r;
        }
        slot->pid = pid;
        if (close_range(GATE_FLOOR, ~0u, CLOSE_RANGE_UNSHARE) < 0)
                return -errno;
        return write(GATE_SYNC, "u", 1) == 1 ? 0 : -errno;
}

/* Too many of one user's, or no process to be had: they stay where they are, and go all together. */
static int sweep(Gate *gate) {
        Slot *slot;

        if (gate->n_unkept < UNKEPT_MAX)
                return 0;
        slot = find_slot(gate, UINT32_MAX - 1);
        if (slot && keeper_start(slot, UINT32_MAX - 1, NULL, NULL, 0) >= 0)
                gate->n_unkept = 0;
        return 0;
}

/* Sealed memory passes; for the others there are tokens. */
static int make_tokens(
                const Descriptors *received, Descriptors *tokens, Descriptors *ends, Descriptors *foreign) {
        for (size_t i = 0; i < received->n; i++) {
                int pair[2];

                if (is_harmless(received->fds[i])) {
                        tokens->fds[tokens->n++] = received->fds[i];
                        continue;
                }
                if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                        return -errno;
                tokens->fds[tokens->n++] = pair[0];
                ends->fds[ends->n++] = pair[1];
                foreign->fds[foreign->n++] = received->fds[i];
        }
        return 0;
}

/* Sends bytes and what stands for the descriptors that came with them. */
static int exchange(
                Gate *gate, const void *bytes, size_t n, const char *sender, const Descriptors *received) {
        Descriptors tokens = {}, ends = {}, foreign = {};
        uint32_t uid;
        Slot *slot;
        int r;

        r = make_tokens(received, &tokens, &ends, &foreign);
        if (r >= 0)
                r = pass_on(bytes, n, &tokens);
        if (r < 0)
                return r;
        for (size_t i = 0; i < tokens.n; i++)
                (void) close(tokens.fds[i]);
        if (foreign.n == 0)
                return 0;

        uid = uid_of(gate, sender);
        slot = find_slot(gate, uid);
        if (slot && keeper_start(slot, uid, ends.fds, foreign.fds, foreign.n) >= 0) {
                gate->n_unkept = 0;
                return 0;
        }
        for (size_t i = 0; i < ends.n; i++)
                (void) close(ends.fds[i]);
        gate->n_unkept += foreign.n;
        return 0;
}

static int pass_message(Gate *gate) {
        Descriptors received = {};
        uint32_t n_body, n_fields;
        const char *sender;
        size_t n_head;
        bool big;
        int r;

        r = receive(gate->head, MESSAGE_HEAD, &received);
        if (r < 0)
                return r;
        memcpy(&n_body, gate->head + 4, sizeof(n_body));
        memcpy(&n_fields, gate->head + 12, sizeof(n_fields));
        big = gate->head[0] == 'B';
        n_body = big ? GUINT32_FROM_BE(n_body) : GUINT32_FROM_LE(n_body);
        n_fields = big ? GUINT32_FROM_BE(n_fields) : GUINT32_FROM_LE(n_fields);
        if (n_fields > FIELDS_MAX)
                return -EBADMSG;
        n_head = MESSAGE_HEAD + ((n_fields + 7) & ~7u);

        r = receive(gate->head + MESSAGE_HEAD, n_head - MESSAGE_HEAD, &received);
        if (r < 0)
                return r;
        sender = received.n > 0 ? find_sender(gate->head, n_head, big) : NULL;
        r = exchange(gate, gate->head, n_head, sender, &received);
        while (r >= 0 && n_body > 0) {
                uint32_t n = MIN(n_body, CHUNK_BYTES);

                received.n = 0;
                r = receive(gate->chunk, n, &received);
                if (r >= 0)
                        r = exchange(gate, gate->chunk, n, sender, &received);
                n_body -= n;
        }
        return r;
}

/* Before the first message the bus answers in lines; its last word is about descriptors. */
static int pass_greeting(Gate *gate) {
        Descriptors none = {};
        size_t n = 0;
        int r;

        for (;;) {
                char *line = (char *) gate->head;

                r = receive(gate->head + n, 1, &none);
                if (r < 0)
                        return r;
                r = pass_on(gate->head + n, 1, &none);
                if (r < 0)
                        return r;
                if (gate->head[n++] != '\n' && n < CHUNK_BYTES)
                        continue;
                if (strncmp(line, "AGREE_UNIX_FD", 13) == 0 || strncmp(line, "ERROR", 5) == 0)
                        return 0;
                n = 0;
        }
}

static int ask_new(sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        const char *name;
        int r;

        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_fd(bus, GATE_ASK, GATE_ASK);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, true);
        if (r >= 0)
                r = sd_bus_start(bus);
        /* Which waits for the bus's answer to Hello: it closes a connection that has not got so far
         * within seconds. */
        if (r >= 0)
                r = sd_bus_get_unique_name(bus, &name);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

/* All side by side above everything that is open, then down to their places, and nothing else is left.
 * Each number below GATE_FLOOR is taken from now on, from GATE_SYNC up by anything, so that no descriptor
 * of a stranger gets one. */
static int gate_keep(int bus_fd, int daemon_fd, int ask_fd) {
        int fds[] = { bus_fd, daemon_fd, ask_fd };

        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, GATE_FLOOR);
                if (fds[i] < 0)
                        return -errno;
        }
        for (int to = GATE_BUS; to < GATE_FLOOR; to++) {
                size_t i = (size_t) (to - GATE_BUS);

                if (dup3(fds[i < ELEMENTSOF(fds) ? i : 1], to, O_CLOEXEC) < 0)
                        return -errno;
        }
        return close_range(GATE_FLOOR, ~0u, 0) < 0 ? -errno : 0;
}

_Noreturn static void gate_run(int bus_fd, int daemon_fd, int ask_fd, pid_t daemon) {
        static Gate gate;
        sigset_t all;
        int r;

        /* It ends with the daemon, and not before: the bus must not lose a name that the daemon still
         * uses. */
        (void) sigfillset(&all);
        (void) sigprocmask(SIG_SETMASK, &all, NULL);
        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-gate");
        if (getppid() != daemon)
                _exit(EXIT_FAILURE);

        r = gate_keep(bus_fd, daemon_fd, ask_fd);
        if (r < 0)
                _exit(EXIT_FAILURE);
        gate.head = malloc(MESSAGE_HEAD + FIELDS_MAX + 8);
        gate.slots = mmap(NULL, GATE_KEEPERS_MAX * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (!gate.head || gate.slots == MAP_FAILED || ask_new(&gate.ask) < 0)
                _exit(EXIT_FAILURE);

        r = pass_greeting(&gate);
        while (r >= 0) {
                r = pass_message(&gate);
                if (r >= 0)
                        r = sweep(&gate);
        }
        _exit(EXIT_SUCCESS);
}

static int connect_bus(const char *address) {
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        bool abstract = g_str_has_prefix(address, "unix:abstract=");
        g_autofree char *escaped = NULL, *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n;

        if (!abstract && !g_str_has_prefix(address, "unix:path="))
                return -EAFNOSUPPORT;
        address = strchr(address, '=') + 1;
        escaped = g_strndup(address, strcspn(address, ",;"));
        path = g_uri_unescape_string(escaped, NULL);
        n = path ? strlen(path) : 0;
        if (n == 0 || n + abstract >= sizeof(to.sun_path))
                return -EINVAL;
        memcpy(to.sun_path + abstract, path, n);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &to,
                            (socklen_t) (offsetof(struct sockaddr_un, sun_path) + abstract + n)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int gate_start(const char *address, int *ret_in, int *ret_out) {
        _cleanup_close_ int bus_fd = -EBADF, ask_fd = -EBADF, ours = -EBADF, theirs = -EBADF;
        pid_t pid, daemon = getpid();
        int pair[2];

        assert(address);
        assert(ret_in && ret_out);

        bus_fd = connect_bus(address);
        if (bus_fd < 0)
                return bus_fd;
        ask_fd = connect_bus(address);
        if (ask_fd < 0)
                return ask_fd;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                gate_run(bus_fd, theirs, ask_fd, daemon);
        *ret_in = TAKE_FD(ours);
        *ret_out = TAKE_FD(bus_fd);
        return 0;
}

static bool is_token(int fd) {
        int domain = 0, type = 0;
        socklen_t n = sizeof(type);

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) >= 0 && type == SOCK_SEQPACKET &&
               getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) >= 0 && domain == AF_UNIX;
}

int gate_fetch(int token) {
        size_t n, n_fds = 0;
        int r, fd;
        char byte;

        if (!is_token(token)) {
                fd = fcntl(token, F_DUPFD_CLOEXEC, 3);
                return fd < 0 ? -errno : fd;
        }
        if (message_send(token, "?", 1, NULL, 0) < 0)
                return -ENOLINK;
        r = message_receive(token, FETCH_MSEC, &byte, 1, &n, &fd, 1, &n_fds);
        return r < 0 || n_fds != 1 ? -ENOLINK : fd;
}
