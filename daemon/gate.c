/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate (daemon/gate.h) first looks whether the next message has descriptors (daemon/look.h). If it has,
 * a keeper receives the message's first byte with all the descriptors (daemon/keeper.h), and the gate
 * receives the rest of the message.
 *
 * A message with descriptors waits until the gate has taken the other messages that have come (at most
 * TAKEN_AT_ONCE), and then for its user's turn. A message without descriptors passes at once, unless an
 * earlier one of the same connection waits. */
#include "daemon/gate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>
#include "daemon/helper.h"
#include "daemon/keeper.h"
#include "daemon/look.h"
#include "daemon/senders.h"
#include "daemon/turn-queue.h"
#include "daemon/wire.h"
#include "lib/boottime.h"
#include "lib/bus-client.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

#define MESSAGE_BYTES_MAX (1u << 27)
#define FIELDS_MAX        (1u << 20)
#define LOOK_BYTES        65536u
#define GREETING_MAX      4096u
#define FETCH_MSEC        10000
#define REST_MSEC         10000
#define PAUSE_MSEC        100

/* Limits of the messages that wait in the gate: their number; their bytes, which the message that was taken
 * last may exceed; and how many are taken from the bus before one is passed on, so that a flood does not
 * delay messages that wait already. */
#define WAITING_MAX       256u
#define WAITING_BYTES_MAX (64u << 20)
#define TAKEN_AT_ONCE     64u

enum { GATE_BUS, GATE_DAEMON, GATE_ASK, _GATE_FDS };

typedef struct Message {
        uint8_t *bytes;
        size_t n;
        int tokens[GATE_DESCRIPTORS_MAX];
        size_t n_tokens;
} Message;

typedef struct Gate {
        int fds[_GATE_FDS];
        Keepers *keepers;
        sd_bus *ask; /* the connection for asking the bus which user a sender is, once for each sender */
        Senders *senders;
        TurnQueue *waiting; /* messages */
        size_t waiting_bytes;
        unsigned waiting_max, n_taken;
        uint64_t resume_nsec; /* when to take messages again, if no process was free for descriptors */
        uint8_t look[LOOK_BYTES];
} Gate;

static void drop_tokens(Message *m) {
        for (size_t i = 0; i < m->n_tokens; i++)
                (void) close(m->tokens[i]);
        m->n_tokens = 0;
}

static Message *message_free(Message *m) {
        if (!m)
                return NULL;

        drop_tokens(m);
        g_free(m->bytes);
        g_free(m);
        return NULL;
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Message, message_free)

static int wait_for_bus(const Gate *gate) {
        struct pollfd p[] = { { .fd = gate->fds[GATE_BUS], .events = POLLIN },
                { .fd = gate->fds[GATE_DAEMON] } };

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

/* Reads all n bytes of a part of a message that has no descriptors, or returns a negative errno (-EPIPE: the
 * bus or the daemon has closed its end). The descriptor of the bus may be non-blocking, since the daemon
 * shares it. */
static int receive(const Gate *gate, uint8_t *p, size_t n) {
        int r;

        while (n > 0) {
                ssize_t k = recv(gate->fds[GATE_BUS], p, n, MSG_DONTWAIT);

                if (k == 0)
                        return -EPIPE;
                if (k < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                if (k < 0) {
                        r = wait_for_bus(gate);
                        if (r < 0)
                                return r;
                        continue;
                }
                p += k;
                n -= (size_t) k;
        }
        return 0;
}

static int pass_on(const Gate *gate, const void *bytes, size_t n, const int fds[], size_t n_fds) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(GATE_DESCRIPTORS_MAX * sizeof(int))] = {};
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
                        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, n_fds * sizeof(int));
                }
                k = sendmsg(gate->fds[GATE_DAEMON], &msg, MSG_NOSIGNAL);
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

/* Handles messages that are not answers. The gate asks the bus questions on a connection of its own, and any
 * user may send messages to this connection. A call gets an error as its answer, and other messages are
 * dropped. sd-bus queues messages that come while the gate waits for an answer. */
static void drop_strays(sd_bus *ask) {
        uint64_t n = 0;

        (void) sd_bus_get_n_queued_read(ask, &n);
        for (n += TAKEN_AT_ONCE; n > 0; n--)
                if (sd_bus_process(ask, NULL) == 0)
                        return;
}

/* The sender's user id. UINT32_MAX: the bus does not know it. All such senders share the limit of one
 * user. */
static uint32_t uid_of(Gate *gate, const char *sender) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint32_t uid = UINT32_MAX;

        if (!sender || senders_find(gate->senders, sender, &uid))
                return uid;
        if (sd_bus_call_method(gate->ask, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                            "org.freedesktop.DBus", "GetConnectionUnixUser", NULL, &reply, "s",
                            sender) >= 0 &&
                        sd_bus_message_read(reply, "u", &uid) >= 0)
                senders_add(gate->senders, sender, uid);
        drop_strays(gate->ask);
        return uid;
}

/* The keeper that had the order was killed. If it had read the first byte, the message is passed on without
 * descriptors, and its sender gets an error. 0: the first byte is still there. The gate finds this out from
 * the next bytes: a whole message begins with byte order, type, flags and the version 1, and a message
 * without its first byte never does. */
static int take_over(Gate *gate, const uint8_t start[4], Received *ret) {
        size_t n = 0;
        int r;

        r = look_at_message(gate->fds[GATE_BUS], gate->look, sizeof(gate->look), &n);
        if (r < 0 && r != -EAGAIN)
                return r;
        *ret = (Received){ .byte = start[0] };
        return r < 0 || n < 4 || memcmp(gate->look, start, 4) != 0;
}

/* Lets a keeper of the sender's user receive the message's first byte with its descriptors. The gate has
 * looked at n bytes of the message, which hold the sender's name. 0: nothing was taken, and the gate tries
 * again later. */
static int take_descriptors(Gate *gate, size_t n, Message *m) {
        Received received;
        WireFields fields = {};
        uint8_t start[4];
        int r;

        if (n < sizeof(start))
                return 0;
        if (n >= WIRE_START_BYTES)
                wire_read_fields(gate->look, MIN(n, wire_head_bytes(gate->look)), &fields);
        memcpy(start, gate->look, sizeof(start));
        r = keepers_receive(gate->keepers, gate->fds[GATE_BUS], uid_of(gate, fields.sender), &received);
        if (r == -ECHILD)
                r = take_over(gate, start, &received);
        if (r <= 0)
                return r;
        m->bytes[0] = received.byte;
        m->n = 1;
        memcpy(m->tokens, received.tokens, sizeof(m->tokens));
        m->n_tokens = received.n_tokens;
        return 1;
}

static int skip(Gate *gate, size_t n) {
        for (size_t k; n > 0; n -= k) {
                int r;

                k = MIN(n, sizeof(gate->look));
                r = receive(gate, gate->look, k);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* 1: the message is complete. 0: its header is too long for the gate, and it was skipped, since any user can
 * send such a message. sd-bus skips messages that it does not understand, too. */
static int take_rest(Gate *gate, Message *m) {
        size_t n_body, n_head;
        int r;

        r = receive(gate, m->bytes + m->n, WIRE_START_BYTES - m->n);
        if (r < 0)
                return r;
        n_body = wire_body_bytes(m->bytes);
        n_head = wire_head_bytes(m->bytes);
        if (n_head + n_body > MESSAGE_BYTES_MAX)
                return -EBADMSG; /* a bus never forwards so large a message */
        if (n_head > FIELDS_MAX)
                return skip(gate, n_head + n_body - WIRE_START_BYTES);
        m->n = n_head + n_body;
        m->bytes = g_realloc(m->bytes, m->n);
        r = receive(gate, m->bytes + WIRE_START_BYTES, m->n - WIRE_START_BYTES);
        return r < 0 ? r : 1;
}

/* Writes the number of tokens (keeper.h) into the message as its number of descriptors. If the message names
 * a descriptor beyond this number, the daemon finds the message invalid. */
static void count_tokens(const Message *m) {
        WireFields fields = {};

        wire_read_fields(m->bytes, wire_head_bytes(m->bytes), &fields);
        wire_set_n_fds(m->bytes, &fields, (uint32_t) m->n_tokens);
}

static int pass_message(const Gate *gate, Message *m) {
        int r;

        r = pass_on(gate, m->bytes, m->n, m->tokens, m->n_tokens);
        if (r != -ETOOMANYREFS || m->n_tokens == 0)
                return r;
        /* The daemon's user has as many descriptors in flight as the kernel allows (unix(7)), so the message
         * goes without them. */
        drop_tokens(m);
        count_tokens(m);
        return pass_on(gate, m->bytes, m->n, NULL, 0);
}

static void wait_for_turn(Gate *gate, const char *sender, Message *m) {
        void *gone = turn_queue_push(gate->waiting, uid_of(gate, sender), sender, m, TURN_ITEMS_USER_MAX);

        assert(!gone); /* there was room, or no message would have been taken */
        gate->waiting_bytes += m->n;
}

static int take_message(Gate *gate) {
        g_autoptr(Message) m = g_new0(Message, 1);
        WireFields fields = {};
        size_t n = 0;
        bool brings;
        int r;

        m->bytes = g_malloc(WIRE_START_BYTES);
        r = look_at_message(gate->fds[GATE_BUS], gate->look, sizeof(gate->look), &n);
        if (r < 0)
                return r == -EAGAIN ? 0 : r;
        brings = r > 0;
        if (brings) {
                r = take_descriptors(gate, n, m);
                if (r == 0)
                        gate->resume_nsec = clock_boottime() + PAUSE_MSEC * 1000000ull;
                if (r <= 0)
                        return r;
        }
        r = take_rest(gate, m);
        if (r <= 0)
                return r;
        if (!brings && turn_queue_length(gate->waiting) == 0)
                return pass_message(gate, m);

        wire_read_fields(m->bytes, wire_head_bytes(m->bytes), &fields);
        if (brings)
                count_tokens(m);
        if (!fields.sender || (!brings && !turn_queue_has(gate->waiting, fields.sender)))
                return pass_message(gate, m);
        wait_for_turn(gate, fields.sender, g_steal_pointer(&m));
        return 0;
}

static int pass_next(Gate *gate) {
        g_autoptr(Message) m = NULL;
        uint32_t uid;

        m = turn_queue_pop(gate->waiting, &uid);
        assert(m);
        gate->n_taken = 0;
        gate->waiting_bytes -= m->n;
        return pass_message(gate, m);
}

static bool has_room(const Gate *gate) {
        return gate->n_taken < TAKEN_AT_ONCE && gate->waiting_bytes < WAITING_BYTES_MAX &&
               turn_queue_length(gate->waiting) < gate->waiting_max;
}

static int patience_msec(const Gate *gate, bool pauses) {
        if (pauses)
                return PAUSE_MSEC;
        return keepers_count(gate->keepers) > 0 ? REST_MSEC : -1;
}

/* One turn of the loop: takes a message from the bus, passes one to the daemon, or times out. */
static int work(Gate *gate) {
        bool pauses = clock_boottime() < gate->resume_nsec;
        bool takes = has_room(gate) && !pauses;
        bool waits = turn_queue_length(gate->waiting) > 0;
        struct pollfd p[] = { { .fd = takes ? gate->fds[GATE_BUS] : -1, .events = POLLIN },
                { .fd = gate->fds[GATE_DAEMON], .events = waits ? POLLOUT : 0 },
                { .fd = sd_bus_is_open(gate->ask) > 0 ? gate->fds[GATE_ASK] : -1, .events = POLLIN } };
        int r;

        r = poll(p, ELEMENTSOF(p), patience_msec(gate, pauses));
        if (r < 0)
                return errno == EINTR ? 0 : -errno;
        if (p[1].revents & ~POLLOUT)
                return -EPIPE;
        if (p[2].revents)
                drop_strays(gate->ask);
        if (p[0].revents) {
                gate->n_taken += waits;
                return take_message(gate);
        }
        if (p[1].revents)
                return pass_next(gate);
        if (r == 0 && !pauses)
                keepers_rest(gate->keepers);
        return 0;
}

/* Passes on the lines that the bus sends before its first message. The last of them answers
 * NEGOTIATE_UNIX_FD. */
static int pass_greeting(const Gate *gate) {
        char line[GREETING_MAX];
        size_t n = 0;
        int r;

        for (;;) {
                r = receive(gate, (uint8_t *) line + n, 1);
                if (r < 0)
                        return r;
                r = pass_on(gate, line + n, 1, NULL, 0);
                if (r < 0)
                        return r;
                if (line[n++] != '\n' && n < sizeof(line))
                        continue;
                if (strncmp(line, "AGREE_UNIX_FD", 13) == 0 || strncmp(line, "ERROR", 5) == 0)
                        return 0;
                n = 0;
        }
}

static int ask_new(int fd, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        const char *name;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(bus, fd, fd);
        if (r < 0)
                return r;
        /* This connection accepts no descriptors: a descriptor of a hostile user would be open in the gate,
         * and in each keeper that starts later. */
        r = bus_client_start(bus);
        if (r < 0)
                return r;
        /* Waits for the bus's answer to Hello: a bus closes a connection that has sent no Hello within
         * seconds. */
        r = sd_bus_get_unique_name(bus, &name);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

/* How many messages may wait. They may use half of this process's limit of open files; the kernel counts
 * descriptors in flight against this limit, too. */
static unsigned waiting_max(void) {
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return WAITING_MAX;
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) < 0 && getrlimit(RLIMIT_NOFILE, &files) < 0)
                return WAITING_MAX;
        return (unsigned) CLAMP(files.rlim_cur / (2 * GATE_DESCRIPTORS_MAX), 1, WAITING_MAX);
}

_Noreturn static void gate_run(int bus_fd, int daemon_fd, int ask_fd, pid_t daemon) {
        static Gate gate;
        sigset_t all;

        /* The gate ends with the daemon and not before: the bus must not lose a name that the daemon still
         * uses. */
        (void) sigfillset(&all);
        (void) sigprocmask(SIG_SETMASK, &all, NULL);
        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-gate");
        if (getppid() != daemon)
                _exit(EXIT_FAILURE);

        gate = (Gate){
                .fds = { [GATE_BUS] = bus_fd, [GATE_DAEMON] = daemon_fd, [GATE_ASK] = ask_fd },
                .senders = senders_new(),
                .waiting = turn_queue_new(),
                .waiting_max = waiting_max(),
        };
        if (fd_keep_only(gate.fds, _GATE_FDS) >= 0 && keepers_new(KEEPER_START_USEC, &gate.keepers) >= 0 &&
                        ask_new(gate.fds[GATE_ASK], &gate.ask) >= 0 && pass_greeting(&gate) >= 0)
                while (work(&gate) >= 0)
                        ;
        _exit(EXIT_FAILURE);
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
        _cleanup_close_ int bus_fd = -EBADF, ask_fd = -EBADF;
        pid_t daemon = getpid();
        int r, channel;

        assert(address);
        assert(ret_in && ret_out);

        bus_fd = connect_bus(address);
        if (bus_fd < 0)
                return bus_fd;
        ask_fd = connect_bus(address);
        if (ask_fd < 0)
                return ask_fd;
        r = helper_start(SOCK_STREAM, &channel, NULL);
        if (r < 0)
                return r;
        if (r > 0)
                gate_run(bus_fd, channel, ask_fd, daemon);
        *ret_in = channel;
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
