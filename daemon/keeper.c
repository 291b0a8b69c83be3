/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All ready keepers wait for the gate's orders on one socket, and any of them takes the next order. Each
 * keeper notes in shared memory what it is doing. The *attic* is one more keeper, for descriptors that the
 * daemon will never ask for. It holds these descriptors until they are many or the gate is idle, and then
 * ends. */
#include "daemon/keeper.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

#define MESSAGE_FDS_MOST 253u
#define ATTIC_FDS_MAX    1024u
#define ATTICS_MAX       64u
#define LEAVES_MAX       64u /* orders to leave at a time; the socket has room, so the gate never waits */
#define ATTIC_UID        (UINT32_MAX - 1)
#define ANSWER_MSEC      100
#define ANSWER_NSEC      (60ull * 1000 * 1000 * 1000)
#define LINGER_MSEC      1000

typedef struct Slot {
        pid_t pid;     /* 0: the place is free */
        uint32_t uid;  /* whose descriptors it holds; the keeper sets this, busy and is_up */
        uint32_t busy; /* the keeper holds descriptors */
        uint32_t is_up;
        uint64_t started_nsec;
} Slot;

typedef struct Shared {
        pid_t taker; /* the keeper that took the last order; 0: none has yet */
        Slot slots[KEEPERS_MAX];
} Shared;

struct Keepers {
        Shared *shared; /* memory that is shared with the keepers */
        Slot *slots;
        unsigned n_slots; /* how many slots have been used so far, from the first one on */
        unsigned n;       /* the number of keepers */
        unsigned n_leave; /* orders to leave that no keeper has carried out yet */
        int orders[2];    /* the gate writes to the second */
        int answers[2];   /* the gate reads from the first */
        pid_t holder;     /* the only keeper that can take the last order; 0: any keeper can */
        bool is_lost;     /* the keeper that had the last order was killed */
        pid_t attic;
        int attic_fd;     /* for orders to the attic (see above); negative: there is no attic */
        unsigned n_attic; /* descriptors in the attic */
        pid_t gate;
        uint64_t start_nsec; /* how long the gate waits for a keeper to start */
};

DEFINE_CLEANUP(Keepers *, keepers_free)

typedef struct Order {
        uint32_t uid;
        uint32_t leave;
} Order;

typedef struct FirstOrder {
        int bus_fd;
        uint32_t uid;
} FirstOrder;

typedef struct Answer {
        int error;
        uint32_t n_foreign;
        uint8_t byte;
} Answer;

typedef struct Descriptors {
        int fds[MESSAGE_FDS_MOST];
        size_t n;
} Descriptors;

typedef struct Message {
        Answer answer;
        Descriptors tokens, ends, foreign;
} Message;

/* Whether any process can safely use the descriptor. Only sealed memory is certain not to be on a file
 * system that a user serves. */
static bool is_harmless(int fd) {
        return memfd_check_sealed(fd) >= 0;
}

static void close_all(Descriptors *descriptors) {
        for (size_t i = 0; i < descriptors->n; i++)
                (void) close(descriptors->fds[i]);
        descriptors->n = 0;
}

static void add(Descriptors *descriptors, int fd) {
        assert(descriptors->n < ELEMENTSOF(descriptors->fds));
        descriptors->fds[descriptors->n++] = fd;
}

/* Receives the first byte and its descriptors. Descriptors for which this process has no room are lost and
 * get no token. */
static int receive_byte(int fd, uint8_t *ret, Descriptors *received) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MOST * sizeof(int))];
        struct iovec iov = { ret, 1 };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        ssize_t k;

        k = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (k <= 0)
                return k < 0 ? -errno : -EPIPE;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                received->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                memcpy(received->fds, CMSG_DATA(c), received->n * sizeof(int));
        }
        return 0;
}

/* Makes the tokens of a message. Token k belongs to descriptor k, so after the first descriptor that cannot
 * have a token there are no more tokens. */
static void make_tokens(const Descriptors *received, Message *m) {
        bool more = true;

        for (size_t i = 0; i < received->n; i++) {
                int fd = received->fds[i], pair[2];

                more = more && i < GATE_DESCRIPTORS_MAX;
                if (more && is_harmless(fd)) {
                        add(&m->tokens, fd);
                        continue;
                }
                add(&m->foreign, fd);
                more = more && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) >= 0;
                if (more) {
                        add(&m->tokens, pair[0]);
                        add(&m->ends, pair[1]);
                }
        }
        m->answer.n_foreign = (uint32_t) m->foreign.n;
}

/* Keeps the descriptors until all tokens (keeper.h) are closed. The daemon and other processes may have
 * tokens. */
static void serve(const Descriptors *ends, const Descriptors *foreign) {
        struct pollfd p[MESSAGE_FDS_MOST];
        size_t n = ends->n, n_open = n;
        bool given = false;
        char byte;

        for (size_t i = 0; i < n; i++)
                p[i] = (struct pollfd){ .fd = ends->fds[i], .events = POLLIN };
        while (n_open > 0) {
                if (poll(p, n, -1) < 0)
                        continue;
                for (size_t i = 0; i < n; i++) {
                        if (p[i].fd < 0 || p[i].revents == 0)
                                continue;
                        if (recv(ends->fds[i], &byte, 1, MSG_DONTWAIT) == 1 &&
                                        message_send(ends->fds[i], "d", 1, foreign->fds + i, 1) >= 0) {
                                given = true;
                                continue;
                        }
                        p[i].fd = -1;
                        n_open--;
                }
        }
        /* A descriptor that the daemon asked for and never fetched is closed with its token, perhaps a
         * moment after this process sees that the token is closed. Closing the last copy may block, so this
         * process keeps its own copy for that moment. */
        if (given)
                (void) poll(NULL, 0, LINGER_MSEC);
}

static void keep(Shared *shared, Slot *slot, int bus_fd, uint32_t uid, int answers_fd, bool attic) {
        Descriptors received = {};
        Message m = {};

        __atomic_store_n(&shared->taker, getpid(), __ATOMIC_RELEASE);
        m.answer.error = receive_byte(bus_fd, &m.answer.byte, &received);
        /* A keeper that hangs must not keep the daemon's connection to the bus open. */
        (void) close(bus_fd);
        make_tokens(&received, &m);
        if (!attic && m.foreign.n > 0) {
                __atomic_store_n(&slot->uid, uid, __ATOMIC_RELAXED);
                __atomic_store_n(&slot->busy, 1, __ATOMIC_RELEASE);
        }
        /* If the daemon's user has as many descriptors in flight as the kernel allows, the answer goes
         * without descriptors. */
        if (message_send(answers_fd, &m.answer, sizeof(m.answer), m.tokens.fds, m.tokens.n) < 0)
                (void) message_send(answers_fd, &m.answer, sizeof(m.answer), NULL, 0);
        close_all(&m.tokens);
        if (!attic) {
                serve(&m.ends, &m.foreign);
                close_all(&m.foreign);
                __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
        }
        close_all(&m.ends);
}

/* Runs a keeper. first: an order that the keeper gets at its start and not from the socket, or NULL. */
_Noreturn static void keeper_run(
                const Keepers *keepers, Slot *slot, int orders_fd, bool attic, const FirstOrder *first) {
        int fds[] = { orders_fd, keepers->answers[1], first ? first->bus_fd : -EBADF };
        size_t n, n_fds;
        int bus_fd;
        Order order;

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-keep");
        if (getppid() != keepers->gate || fd_keep_only(fds, ELEMENTSOF(fds)) < 0 ||
                        close_range(0, STDERR_FILENO, 0) < 0)
                _exit(EXIT_FAILURE);
        if (first)
                keep(keepers->shared, slot, fds[2], first->uid, fds[1], attic);
        __atomic_store_n(&slot->is_up, 1, __ATOMIC_RELEASE);
        for (;;) {
                int r = message_receive(fds[0], -1, &order, sizeof(order), &n, &bus_fd, 1, &n_fds);

                if (r == -EAGAIN)
                        continue; /* another keeper took the order first */
                if (r >= 0 && order.leave)
                        _exit(EXIT_SUCCESS);
                if (r < 0 || n_fds != 1)
                        _exit(EXIT_FAILURE);
                keep(keepers->shared, slot, bus_fd, order.uid, fds[1], attic);
        }
}

static void forget(Keepers *keepers, Slot *slot, int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS && keepers->n_leave > 0)
                keepers->n_leave--;
        if (slot->pid == keepers->holder ||
                        slot->pid == __atomic_load_n(&keepers->shared->taker, __ATOMIC_ACQUIRE))
                keepers->is_lost = true;
        keepers->n--;
        *slot = (Slot){};
}

static void reap(Keepers *keepers) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                for (unsigned i = 0; i < keepers->n_slots; i++)
                        if (keepers->slots[i].pid == pid)
                                forget(keepers, keepers->slots + i, status);
}

/* The last slots are reserved for attics, so that one can always be started. NULL: all slots are taken. */
static Slot *free_slot(Keepers *keepers, bool attic) {
        unsigned max = attic ? KEEPERS_MAX : KEEPERS_MAX - ATTICS_MAX;

        for (unsigned i = 0; i < MIN(keepers->n_slots, max); i++)
                if (keepers->slots[i].pid == 0)
                        return keepers->slots + i;
        return keepers->n_slots < max ? keepers->slots + keepers->n_slots++ : NULL;
}

static int start(Keepers *keepers, int orders_fd, bool attic, const FirstOrder *first) {
        Slot *slot = free_slot(keepers, attic);
        pid_t pid;

        if (!slot)
                return -EAGAIN;
        *slot = (Slot){
                .uid = attic ? ATTIC_UID : 0,
                .busy = attic,
                .started_nsec = clock_boottime(),
        };
        pid = fork();
        if (pid == 0)
                keeper_run(keepers, slot, orders_fd, attic, first);
        if (pid < 0)
                return -errno;
        slot->pid = pid;
        if (first)
                keepers->holder = pid;
        if (attic)
                keepers->attic = pid;
        keepers->n++;
        return 0;
}

/* How many keepers can take a new order. Each order to leave that still waits (n_leave) will end one keeper,
 * so as many are not counted. */
static unsigned count_ready(const Keepers *keepers) {
        uint64_t now = clock_boottime();
        unsigned n = 0;

        for (unsigned i = 0; i < keepers->n_slots; i++) {
                const Slot *slot = keepers->slots + i;

                n += slot->pid > 0 && !__atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE) &&
                     (__atomic_load_n(&slot->is_up, __ATOMIC_ACQUIRE) ||
                                     now < slot->started_nsec + keepers->start_nsec);
        }
        return n > keepers->n_leave ? n - keepers->n_leave : 0;
}

static unsigned count_of_user(const Keepers *keepers, uint32_t uid) {
        unsigned n = 0;

        for (unsigned i = 0; i < keepers->n_slots; i++) {
                const Slot *slot = keepers->slots + i;

                n += slot->pid > 0 && __atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE) &&
                     __atomic_load_n(&slot->uid, __ATOMIC_RELAXED) == uid;
        }
        return n;
}

static void attic_close(Keepers *keepers) {
        keepers->attic_fd = close_fd(keepers->attic_fd);
        keepers->n_attic = 0;
}

static bool attic_is_last(const Keepers *keepers) {
        return count_of_user(keepers, ATTIC_UID) >= ATTICS_MAX;
}

static int attic_start(Keepers *keepers, const FirstOrder *first) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (attic_is_last(keepers))
                return -EAGAIN;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        theirs = pair[0];
        ours = pair[1];
        r = start(keepers, theirs, true, first);
        if (r < 0)
                return r;
        attic_close(keepers);
        keepers->attic_fd = TAKE_FD(ours);
        return 0;
}

/* Starts an attic if there is none, or if the current one holds ATTIC_FDS_MAX descriptors. */
static int attic_open(Keepers *keepers) {
        int r;

        if (keepers->attic_fd >= 0 && keepers->n_attic < ATTIC_FDS_MAX)
                return 0;
        r = attic_start(keepers, NULL);
        return keepers->attic_fd >= 0 ? 0 : r;
}

static bool may_keep(const Keepers *keepers, uint32_t uid) {
        return count_of_user(keepers, uid) < KEEPERS_USER_MAX;
}

/* The socket for the order for a message of this user, or -errno. */
static int place_of(Keepers *keepers, uint32_t uid) {
        unsigned n_ready = count_ready(keepers);
        int r;

        if (may_keep(keepers, uid) && (n_ready > 0 || start(keepers, keepers->orders[0], false, NULL) >= 0))
                return keepers->orders[1];
        r = attic_open(keepers);
        if (r >= 0)
                return keepers->attic_fd;
        /* The attic (top of this file) has not started. So a ready keeper takes the message, although its
         * user has enough keepers already. Otherwise this message would block the messages of all users. */
        return n_ready > 0 ? keepers->orders[1] : r;
}

static int place_order(Keepers *keepers, int fd, uint32_t uid, bool *ret_attic) {
        const Order order = { .uid = uid };
        const FirstOrder first = { fd, uid };
        int place, r;

        reap(keepers);
        __atomic_store_n(&keepers->shared->taker, 0, __ATOMIC_RELEASE);
        keepers->holder = 0;
        keepers->is_lost = false;

        place = place_of(keepers, uid);
        if (place < 0)
                return place;
        *ret_attic = place == keepers->attic_fd;
        r = message_send(place, &order, sizeof(order), &fd, 1);
        /* The daemon's user has as many descriptors in flight as the kernel allows (unix(7)), so a new
         * process gets the order. */
        if (r == -ETOOMANYREFS) {
                *ret_attic = !may_keep(keepers, uid);
                return *ret_attic ? attic_start(keepers, &first)
                                  : start(keepers, keepers->orders[0], false, &first);
        }
        if (*ret_attic && r < 0)
                attic_close(keepers); /* the attic was killed */
        if (*ret_attic && r >= 0)
                keepers->holder = keepers->attic;
        return r;
}

/* If a keeper was killed while it waited for an order, another keeper takes the order. -ECHILD: a keeper was
 * killed after it had taken the order. */
static int receive_answer(Keepers *keepers, Answer *ret, Received *ret_received) {
        uint64_t end = clock_boottime() + ANSWER_NSEC;
        bool need = false;
        unsigned n_before;
        size_t n;
        int r;

        for (;;) {
                r = message_receive(keepers->answers[0], keepers->is_lost ? 0 : ANSWER_MSEC, ret,
                                sizeof(*ret), &n, ret_received->tokens, GATE_DESCRIPTORS_MAX,
                                &ret_received->n_tokens);
                if (r >= 0)
                        return n == sizeof(*ret) ? ret->error : -EBADMSG;
                if (r == -ETIMEDOUT && keepers->is_lost)
                        return -ECHILD;
                if (r != -ETIMEDOUT || clock_boottime() >= end)
                        return r;
                /* The order woke only one keeper. If that one was killed, the others still sleep. A keeper
                 * that cannot be started now, for example at the limit of processes, is tried again
                 * later. */
                n_before = keepers->n;
                reap(keepers);
                need = need || keepers->n < n_before;
                if ((need || count_ready(keepers) == 0) &&
                                start(keepers, keepers->orders[0], false, NULL) >= 0)
                        need = false;
        }
}

int keepers_receive(Keepers *keepers, int fd, uint32_t uid, Received *ret) {
        Received received = {};
        Answer answer;
        bool attic;
        int r;

        assert(keepers);
        assert(ret);

        if (place_order(keepers, fd, uid, &attic) < 0)
                return 0;
        r = receive_answer(keepers, &answer, &received);
        if (r < 0)
                return r;
        if (attic)
                keepers->n_attic += answer.n_foreign;
        received.byte = answer.byte;
        *ret = received;
        return 1;
}

unsigned keepers_count(const Keepers *keepers) {
        assert(keepers);

        return keepers->n;
}

void keepers_rest(Keepers *keepers) {
        const Order leave = { .leave = 1 };

        assert(keepers);

        reap(keepers);
        if (!attic_is_last(keepers))
                attic_close(keepers);
        for (unsigned n = count_ready(keepers); n > 0 && keepers->n_leave < LEAVES_MAX; n--) {
                if (message_send(keepers->orders[1], &leave, sizeof(leave), NULL, 0) < 0)
                        return;
                keepers->n_leave++;
        }
}

Keepers *keepers_free(Keepers *keepers) {
        if (!keepers)
                return NULL;

        for (size_t i = 0; i < 2; i++) {
                (void) close_fd(keepers->orders[i]);
                (void) close_fd(keepers->answers[i]);
        }
        attic_close(keepers);
        (void) munmap(keepers->shared, sizeof(Shared));
        g_free(keepers);
        return NULL;
}

int keepers_new(uint64_t start_usec, Keepers **ret) {
        _cleanup_(keepers_freep) Keepers *keepers = NULL;
        Shared *shared;

        assert(ret);

        shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
                return -errno;
        keepers = g_new(Keepers, 1);
        *keepers = (Keepers){
                .shared = shared,
                .slots = shared->slots,
                .orders = { -EBADF, -EBADF },
                .answers = { -EBADF, -EBADF },
                .attic_fd = -EBADF,
                .gate = getpid(),
                .start_nsec = start_usec * 1000,
        };
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keepers->orders) < 0)
                return -errno;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keepers->answers) < 0)
                return -errno;
        *ret = TAKE_PTR(keepers);
        return 0;
}
