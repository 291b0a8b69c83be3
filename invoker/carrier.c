/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The carrier's process may wait for its node, but only as long as the node may be silent, and for its
 * relays. If a relay does not read or write, the invoker kills it when the deadline of its order has
 * passed. */
#include "invoker/carrier.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "invoker/frame.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"
#include "lib/slot.h"
#include "lib/words.h"

#define HELLO_NSEC (60ull * 1000000000u) /* how long a node's invoker may take to begin */

typedef struct Line { /* the connection to the relay of one container */
        int fd;
        uint32_t birth;
        uint64_t ordered_nsec; /* when the container got its order; 0: it has no order */
        bool ended;            /* the node has said that the process is gone */
} Line;

typedef struct Carrier {
        const Placement *place;
        const uint8_t *policy;
        int stream_fd, control_fd;
        FrameLimits limits;
        FrameReader reader;
        uint64_t sequence; /* the number of the next frame to the node */
        Line *lines;       /* [containers_all] */
        struct pollfd *polls;
        uint8_t *bank;      /* for the snapshots or the policy's bank that is being sent */
        uint64_t *versions; /* [n_banks]: the policy versions on the node; UINT64_MAX: none */
        bool ready;
        uint32_t n_orders; /* orders that the node has */
        CarrierMeter *meter;
        uint64_t longest_nsec;
        Silence silence;
} Carrier;

uint64_t carrier_patience_nsec(uint64_t longest_nsec, uint64_t timeout_nsec) {
        uint64_t nsec = CARRIER_PATIENCE_NSEC;

        if (longest_nsec < (UINT64_MAX - nsec) / CARRIER_ROUNDS)
                nsec += CARRIER_ROUNDS * longest_nsec;
        return nsec < timeout_nsec ? nsec : timeout_nsec;
}

void silence_broken(Silence *silence, uint64_t now_nsec) {
        *silence = (Silence){ .since_nsec = now_nsec };
}

bool silence_grows(Silence *silence, uint64_t now_nsec, uint64_t patience_nsec) {
        if (now_nsec - silence->since_nsec < patience_nsec / CARRIER_LOOKS)
                return false;
        silence->since_nsec = now_nsec;
        silence->n_looks++;
        return true;
}

_Noreturn __attribute__((format(printf, 2, 3))) static void lost(
                const Carrier *carrier, const char *format, ...) {
        CarrierWord word = { .kind = CARRIER_LOST };
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(word.words, sizeof(word.words), format, arguments);
        va_end(arguments);
        (void) message_send(carrier->control_fd, &word, sizeof(word), NULL, 0);
        _exit(EXIT_SUCCESS);
}

static uint64_t patience(const Carrier *carrier) {
        return carrier->ready ? carrier_patience_nsec(carrier->longest_nsec, timeout_nsec(carrier->place))
                              : HELLO_NSEC;
}

_Noreturn static void lost_silent(const Carrier *carrier) {
        lost(carrier, carrier->ready ? "it has not answered for %u s" : "it has not begun within %u s",
                        (unsigned) (patience(carrier) / 1000000000u));
}

static void send_bytes(const Carrier *carrier, const void *data, size_t n) {
        struct pollfd p = { .fd = carrier->stream_fd, .events = POLLOUT };

        while (n > 0) {
                ssize_t sent = send(carrier->stream_fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (sent > 0) {
                        atomic_fetch_add_explicit(
                                        &carrier->meter->sent_bytes, (uint64_t) sent, memory_order_relaxed);
                        data = (const uint8_t *) data + sent;
                        n -= (size_t) sent;
                        continue;
                }
                if (sent < 0 && errno != EAGAIN && errno != EINTR)
                        lost(carrier, "the connection to it is closed");
                if (poll(&p, 1, (int) (patience(carrier) / 1000000u)) == 0)
                        lost_silent(carrier);
        }
}

static void send_frame(Carrier *carrier, FrameKind kind, uint32_t container, uint32_t birth,
                const void *body, size_t n, const void *more, size_t n_more) {
        const FrameHead head = {
                .magic = FRAME_MAGIC,
                .kind = kind,
                .container = container,
                .birth = birth,
                .sequence = carrier->sequence++,
                .n_bytes = n + n_more,
        };

        send_bytes(carrier, &head, sizeof(head));
        send_bytes(carrier, body, n);
        send_bytes(carrier, more, n_more);
}

/* Sends the policy version that an order names, unless the node has it. False: its bank holds another
 * version by now. This happens only if the order was given up meanwhile, and then its relay has ended. */
static bool send_policy(Carrier *carrier, const Order *order) {
        const PolicyLayout *l = &carrier->place->page->policy;
        const FramePolicy policy = { .version = order->policy_version, .bank = order->policy_bank };
        const volatile PolicyHead *bank;

        if (order->policy_bank >= l->n_banks)
                return false;
        if (carrier->versions[policy.bank] == policy.version)
                return true;
        bank = policy_bank(carrier->policy, l, policy.bank);
        memcpy(carrier->bank, (const void *) bank, l->bank_bytes);
        if (((const PolicyHead *) (const void *) carrier->bank)->policy_version != policy.version ||
                        bank->policy_version != policy.version)
                return false;
        send_frame(carrier, FRAME_POLICY, 0, 0, &policy, sizeof(policy), carrier->bank, l->bank_bytes);
        carrier->versions[policy.bank] = policy.version;
        return true;
}

static void order_begins(Carrier *carrier, Line *line) {
        line->ordered_nsec = clock_boottime();
        if (carrier->n_orders++ > 0)
                return;
        silence_broken(&carrier->silence, line->ordered_nsec);
        atomic_store(&carrier->meter->since_nsec, line->ordered_nsec);
}

static void order_ends(Carrier *carrier, Line *line) {
        uint64_t now = clock_boottime();

        line->ordered_nsec = 0;
        if (--carrier->n_orders > 0)
                return;
        atomic_fetch_add(&carrier->meter->busy_nsec, now - atomic_load(&carrier->meter->since_nsec));
        atomic_store(&carrier->meter->since_nsec, 0);
}

static void line_close(Carrier *carrier, uint32_t container) {
        Line *line = &carrier->lines[container];

        if (line->fd < 0)
                return;
        send_frame(carrier, FRAME_KILL, container, line->birth, NULL, 0, NULL, 0);
        line->fd = close_fd(line->fd);
        if (line->ordered_nsec > 0)
                order_ends(carrier, line);
}

/* Sends a relay's order. The policy is copied and sent first, since the order's snapshots then use the same
 * memory. */
static void line_order(Carrier *carrier, uint32_t container) {
        uint64_t bank_bytes = frame_bank_bytes(&carrier->place->page->segment);
        Line *line = &carrier->lines[container];
        FrameHead head;
        Order order;

        if (read_full(line->fd, &head, sizeof(head)) < 0 || read_full(line->fd, &order, sizeof(order)) < 0 ||
                        line->ordered_nsec > 0) {
                line_close(carrier, container);
                return;
        }
        if (order.kind != ORDER_PROBE && !send_policy(carrier, &order)) {
                line_close(carrier, container);
                return;
        }
        bank_bytes = order.kind == ORDER_ROLLOUT ? bank_bytes : 0;
        if (read_full(line->fd, carrier->bank, bank_bytes) < 0) {
                line_close(carrier, container);
                return;
        }
        order_begins(carrier, line);
        send_frame(carrier, FRAME_ORDER, container, line->birth, &order, sizeof(order), carrier->bank,
                        bank_bytes);
}

_Noreturn static void lost_for_its_words(const Carrier *carrier, const NodeHello *hello) {
        char words[sizeof(hello->words)];

        memcpy(words, hello->words, sizeof(words));
        words_clean(words, sizeof(words));
        lost(carrier, "it cannot begin: %s", words);
}

static void hear_hello(Carrier *carrier) {
        const NodeHello *hello = (const NodeHello *) (const void *) carrier->reader.body;
        const CarrierWord ready = { .kind = CARRIER_READY };

        if (hello->abi != STREAM_ABI || hello->struct_bytes != sizeof(*hello) ||
                        strncmp(hello->release, ACTORD_VERSION, sizeof(hello->release)) != 0)
                lost(carrier, "it has another version of actord: install the same build on each node");
        if (hello->words[0])
                lost_for_its_words(carrier, hello);
        /* Both pages were made in zeroed memory, so memcmp() finds no difference in the padding. */
        if (memcmp((const uint8_t *) &hello->page, (const uint8_t *) carrier->place->page,
                            sizeof(JobPage)) != 0)
                lost(carrier, "its environment is not the same as here: the same build and the same "
                              "engines must be on each node");
        carrier->ready = true;
        if (message_send(carrier->control_fd, &ready, sizeof(ready), NULL, 0) < 0)
                _exit(EXIT_FAILURE);
}

/* Passes on an answer, or the end of a process, unless the process's relay is gone. A relay reads only while
 * it has an order. So needless messages would fill its socket, and in the end this process would wait for
 * the relay. */
static void hear_answer(Carrier *carrier) {
        const FrameHead *head = &carrier->reader.head;
        Line *line = &carrier->lines[head->container];
        FrameAnswer answer;

        if (head->kind == FRAME_ANSWER &&
                        frame_answer(head, carrier->reader.body, carrier->place->page, &answer) < 0)
                lost(carrier, "it sent an invalid answer");
        if (line->fd < 0 || line->birth != head->birth)
                return;
        if (line->ended || (head->kind == FRAME_ANSWER && line->ordered_nsec == 0))
                lost(carrier, "it sent an answer that was not asked for");
        line->ended = head->kind == FRAME_ENDED;
        if (line->ordered_nsec > 0) {
                uint64_t nsec = clock_boottime() - line->ordered_nsec;

                carrier->longest_nsec = nsec > carrier->longest_nsec ? nsec : carrier->longest_nsec;
                order_ends(carrier, line);
        }
        if (write_full(line->fd, head, sizeof(*head)) < 0 ||
                        write_full(line->fd, carrier->reader.body, head->n_bytes) < 0)
                line_close(carrier, head->container);
}

static void hear_stream(Carrier *carrier) {
        bool heard;
        size_t n = 0;
        int r;

        while ((r = frame_read(&carrier->reader, carrier->stream_fd, &heard)) > 0) {
                n++;
                atomic_fetch_add_explicit(&carrier->meter->received_bytes,
                                sizeof(FrameHead) + carrier->reader.head.n_bytes, memory_order_relaxed);
                if (carrier->ready == (carrier->reader.head.kind == FRAME_HELLO))
                        lost(carrier, "it sent an unexpected message");
                if (carrier->reader.head.kind == FRAME_HELLO)
                        hear_hello(carrier);
                else if (carrier->reader.head.kind != FRAME_PONG)
                        hear_answer(carrier);
        }
        if (heard || n > 0)
                silence_broken(&carrier->silence, clock_boottime());
        if (r == -EPIPE)
                lost(carrier, "it has ended, or the connection to it is closed");
        if (r < 0)
                lost(carrier, "it sent an unexpected message");
}

static void hear_invoker(Carrier *carrier) {
        CarrierWord word;
        size_t n, n_fds;
        int fd = -EBADF, r;

        r = message_receive(carrier->control_fd, 0, &word, sizeof(word), &n, &fd, 1, &n_fds);
        if (r == -EAGAIN || r == -ETIMEDOUT)
                return;
        if (r < 0 || n != sizeof(word) || n_fds != 1 || word.kind != CARRIER_ATTACH ||
                        word.container >= containers_all(carrier->place))
                _exit(EXIT_SUCCESS); /* the invoker has closed its end: the node is not needed any more */
        line_close(carrier, word.container);
        carrier->lines[word.container].fd = fd;
        carrier->lines[word.container].ended = false;
        carrier->lines[word.container].birth++;
}

/* Sends a ping, or gives the node up. Returns how many milliseconds to sleep; -1: until an event. */
static int look_at_silence(Carrier *carrier) {
        uint64_t most = patience(carrier);

        if (carrier->ready && carrier->n_orders == 0)
                return -1;
        if (silence_grows(&carrier->silence, clock_boottime(), most)) {
                if (carrier->silence.n_looks == CARRIER_LOOKS)
                        lost_silent(carrier);
                if (carrier->ready)
                        send_frame(carrier, FRAME_PING, 0, 0, NULL, 0, NULL, 0);
        }
        return (int) (most / CARRIER_LOOKS / 1000000u) + 1;
}

static void carrier_loop(Carrier *carrier) {
        uint32_t n = containers_all(carrier->place);
        struct pollfd *polls = carrier->polls;
        int msec = 0;

        silence_broken(&carrier->silence, clock_boottime());
        for (;;) {
                polls[0] = (struct pollfd){ .fd = carrier->stream_fd, .events = POLLIN };
                polls[1] = (struct pollfd){ .fd = carrier->control_fd, .events = POLLIN };
                for (uint32_t k = 0; k < n; k++)
                        polls[2 + k] = (struct pollfd){ .fd = carrier->lines[k].fd, .events = POLLIN };
                if (poll(polls, 2 + n, msec) < 0 && errno != EINTR)
                        _exit(EXIT_FAILURE);

                /* Messages of the node are read before its silence is judged. */
                if (polls[0].revents)
                        hear_stream(carrier);
                if (polls[1].revents)
                        hear_invoker(carrier);
                for (uint32_t k = 0; k < n; k++)
                        if (polls[2 + k].revents && polls[2 + k].fd == carrier->lines[k].fd)
                                line_order(carrier, k);
                msec = look_at_silence(carrier);
        }
}

static int carrier_init(Carrier *carrier) {
        const Placement *place = carrier->place;
        const JobPage *page = place->page;
        uint64_t bank_bytes = frame_bank_bytes(&page->segment);
        void *policy;
        int r;

        r = fd_map(place->policy_read_fd, page->policy.segment_bytes, false, &policy);
        if (r < 0)
                return r;
        carrier->policy = policy;
        frame_limits(page, containers_all(place), FRAME_SIDE_NODE, &carrier->limits);
        r = frame_reader_init(&carrier->limits, &carrier->reader);
        if (r < 0)
                return r;
        carrier->lines = calloc(containers_all(place), sizeof(Line));
        carrier->polls = calloc(2 + containers_all(place), sizeof(struct pollfd));
        carrier->versions = malloc(page->policy.n_banks * sizeof(uint64_t));
        carrier->bank = malloc(bank_bytes > page->policy.bank_bytes ? bank_bytes : page->policy.bank_bytes);
        if (!carrier->lines || !carrier->polls || !carrier->versions || !carrier->bank)
                return -ENOMEM;
        for (uint32_t k = 0; k < containers_all(place); k++)
                carrier->lines[k].fd = -EBADF;
        memset(carrier->versions, 0xff, page->policy.n_banks * sizeof(uint64_t));
        return 0;
}

/* Closes the invoker's descriptors. If this process kept the pidfd of a process that has ended, the pidfd
 * would stay readable in the invoker's epoll, and the invoker would never sleep. */
static void close_others(const int keep[], size_t n) {
        unsigned from = 3;

        for (;;) {
                unsigned next = UINT_MAX;

                for (size_t i = 0; i < n; i++)
                        if (keep[i] >= 0 && (unsigned) keep[i] >= from && (unsigned) keep[i] < next)
                                next = (unsigned) keep[i];
                if (next > from)
                        (void) close_range(from, next - 1, 0);
                if (next == UINT_MAX)
                        return;
                from = next + 1;
        }
}

void carrier_run(const Placement *place, int stream_fd, int control_fd, CarrierMeter *meter) {
        Carrier carrier = {
                .place = place, .stream_fd = stream_fd, .control_fd = control_fd, .meter = meter
        };
        int r;

        close_others((const int[]){ stream_fd, control_fd, place->policy_read_fd }, 3);
        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-carrier");
        r = carrier_init(&carrier);
        if (r < 0)
                lost(&carrier, "there is no memory for its frames here: %s", strerror(-r));
        carrier_loop(&carrier);
        _exit(EXIT_SUCCESS);
}
