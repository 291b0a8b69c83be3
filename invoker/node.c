/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invoker/complain.h"
#include "invoker/frame.h"
#include "invoker/invoker.h"
#include "invoker/node-out.h"
#include "invoker/node-spec.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/limits.h"
#include "lib/slot.h"
#include "lib/string-tables.h"

enum { MUTED_MSEC = 20, FDS_OWN = 2 };

typedef struct Hand { /* a container on this node that the head may use */
        Container c;
        uint32_t birth;  /* the number of the running process, or of the last one */
        uint32_t next;   /* the number of the process that begins when this one is reaped; 0: none */
        bool said_ended; /* the head was told that the container's process has ended */
} Hand;

typedef struct Service {
        Placement place;
        int signal_fd;
        Hand *hands; /* [containers_all] */
        /* the signals and the stream; then the eventfd and the process of each of `hands` */
        struct pollfd *polls;
        void **segments; /* [n_actors]; NULL: not made yet */
        uint8_t *policy;
        FrameLimits limits;
        FrameReader reader;
        OutQueue out;
        bool muted; /* a bell is ignored, since it rang too often without an answer */
        char words[sizeof(((NodeHello *) NULL)->words)]; /* why this node cannot begin */
} Service;

/* Makes the memory of the policy. Only this process writes it, and actors read it. */
static int make_policy(Service *node) {
        Placement *place = &node->place;
        uint64_t bytes = place->page->policy.segment_bytes;
        char path[32];
        void *map;
        int r;

        place->policy_fd = memfd_make("actord-policy", bytes);
        r = place->policy_fd < 0 ? place->policy_fd : fd_map(place->policy_fd, bytes, true, &map);
        if (r < 0)
                return r;
        node->policy = map;
        r = madvise(map, bytes, MADV_DONTFORK) < 0 ? -errno : memfd_seal_future_write(place->policy_fd);
        if (r < 0)
                return r;
        (void) snprintf(path, sizeof(path), "self/fd/%d", place->policy_fd);
        place->policy_read_fd =
                        place->proc_fd >= 0 ? openat(place->proc_fd, path, O_RDONLY | O_CLOEXEC) : -1;
        if (place->policy_read_fd < 0)
                place->policy_read_fd = place->policy_fd;
        return 0;
}

static int make_segment(Service *node, uint32_t actor) {
        Placement *place = &node->place;
        uint64_t bytes = place->page->segment.segment_bytes;
        char name[32];
        int fd, r;

        if (node->segments[actor])
                return 0;
        (void) snprintf(name, sizeof(name), "actord-segment-%u", actor);
        fd = memfd_make(name, bytes);
        r = fd < 0 ? fd : fd_map(fd, bytes, true, &node->segments[actor]);
        if (r < 0)
                return r;
        place->segment_fds[actor] = fd;
        (void) madvise(node->segments[actor], bytes, MADV_DONTFORK);
        return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) < 0 ? -errno : 0;
}

static int make_hands(Service *node) {
        uint32_t n = containers_all(&node->place);

        node->hands = calloc(n, sizeof(Hand));
        if (!node->hands)
                return -ENOMEM;
        for (uint32_t k = 0; k < n; k++) {
                node->hands[k].c.worker = (Worker) WORKER_EMPTY;
                node->hands[k].c.ask_fd = node->hands[k].c.relay_fd = -EBADF;
                node->hands[k].c.index = k;
        }
        return 0;
}

static int make_memory(Service *node) {
        Placement *place = &node->place;
        uint32_t n = containers_all(place);
        int r;

        node->polls = calloc(FDS_OWN + 2 * n, sizeof(struct pollfd));
        node->segments = calloc(place->n_actors, sizeof(void *));
        place->segment_fds = malloc(place->n_actors * sizeof(int));
        if (!node->polls || !node->segments || !place->segment_fds)
                return -ENOMEM;
        memset(place->segment_fds, 0xff, place->n_actors * sizeof(int)); /* -1: none yet */
        r = make_policy(node);
        if (r < 0)
                return r;
        frame_limits(place->page, n, FRAME_SIDE_HEAD, &node->limits);
        r = frame_reader_init(&node->limits, &node->reader);
        /* A container may have two processes, one after the other, before the queue is sent, and each may
         * send an answer and its end. The 16 are for the answers to pings. */
        return r < 0 ? r : out_init(&node->out, 4 * n + 16);
}

/* Reports an error on this node. The head gets the same words in the node's first message. */
static int refuse(Service *node, int r, const char *words) {
        (void) snprintf(node->words, sizeof(node->words), "%s", words);
        return invoker_complain(r, words);
}

static int make_worker(Service *node, Hand *hand) {
        const Placement *place = &node->place;
        const JobSettings *s = place->settings;
        const LeafLimits limits = {
                .memory_bytes = s->memory_max_bytes,
                .n_tasks = s->tasks_max,
                .cpu_permille = settings_present(s, SETTING_Actor_CPUQuota) ? s->cpu_quota_permille : 0,
                .cpus = &s->allowed_cpus,
        };
        char name[32];
        int r;

        if (hand->c.has_worker)
                return 0;
        (void) snprintf(name, sizeof(name), "actor-%u", hand->c.index);
        r = worker_init(name, ACTOR_PAGE_BYTES, &place->cgroup, &limits, &hand->c.worker);
        if (r < 0)
                return r;
        hand->c.has_worker = true;
        return 0;
}

/* Finds the environment's spec. A user's code is asked in a process of its own. */
static int find_spec(Service *node, ActordEnvSpec *ret) {
        const char *words;
        uint32_t fault;
        int32_t detail;
        int r;

        if (fork_runs_foreign_code(&node->place)) {
                r = make_worker(node, &node->hands[0]);
                if (r < 0)
                        return refuse(node, r, "an actor cannot be started on this node");
                r = node_spec_ask(&node->place, node->signal_fd, &node->hands[0].c, ret, &words);
                return r < 0 && r != -ECANCELED ? refuse(node, r, words) : r;
        }
        r = probe_ask(&node->place, ret, &fault, &detail);
        return r < 0 ? refuse(node, r, "this node cannot load the job's environment") : 0;
}

static int prepare_host(Service *node) {
        Placement *place = &node->place;
        int r;

        r = setup_contracts(place);
        if (r < 0)
                return r;
        r = setup_streams();
        if (r < 0)
                return invoker_complain(r, invoker_step_sentence(INVOKER_STEP_STREAMS));
        node->signal_fd = setup_signals();
        if (node->signal_fd < 0)
                return invoker_complain(node->signal_fd, invoker_step_sentence(INVOKER_STEP_SIGNALS));
        setup_cgroup(place);
        place->proc_fd = setup_proc();
        if (environment_is_foreign(place->settings->environment) &&
                        !environment_is_file(place->settings->environment))
                return refuse(node, -EOPNOTSUPP,
                                "a node can run a user's environment only if it is a single file");
        r = prepare_level(place);
        return r < 0 ? refuse(node, r, "this node does not allow the sandbox level of the job") : 0;
}

/* Prepares the node in the order in which the head prepares a job: loads the environment, makes the
 * sandboxes, asks the environment for its spec and makes the job page. */
static int prepare(Service *node) {
        Placement *place = &node->place;
        ActordEnvSpec spec = {};
        uint32_t fault;
        int32_t detail;
        int r;

        r = prepare_host(node);
        if (r < 0)
                return r;
        r = probe_load(place, &fault, &detail);
        if (r < 0)
                return refuse(node, r, "this node cannot load the job's environment");
        r = prepare_sandboxes(place);
        if (r < 0)
                return refuse(node, r, "the actors' sandbox cannot be built on this node");
        r = make_hands(node);
        if (r < 0)
                return refuse(node, r, "this node lacks memory for its actors");
        r = find_spec(node, &spec);
        if (r < 0)
                return r;
        r = probe_make_page(place, &spec, &fault, &detail);
        if (r < 0)
                return refuse(node, r, "this node cannot make the job's shared memory");
        r = make_memory(node);
        return r < 0 ? refuse(node, r, "this node lacks memory for its actors") : 0;
}

static int acquire(Service *node, Hand *hand) {
        const Placement *place = &node->place;
        int r;

        for (uint32_t a = hand->c.index; hand->c.index < place->n_containers && a < place->n_actors;
                        a += place->n_containers) {
                r = make_segment(node, a);
                if (r < 0)
                        return r;
        }
        return make_worker(node, hand);
}

static FrameUse use_of(Hand *hand) {
        FrameUse use = {
                .cpu_nsec = hand->c.spare_nsec + meter_take(&hand->c.worker.meter),
                .memory_peak_bytes = meter_peak(&hand->c.worker.meter),
        };

        hand->c.spare_nsec = 0;
        return use;
}

static int say_ended(Service *node, Hand *hand, uint32_t fault, int32_t detail) {
        Out *out = out_add(&node->out, FRAME_ENDED, hand->c.index, hand->birth);

        if (!out)
                return -EBADMSG;
        out->body.ended = (FrameEnded){
                .use = { .cpu_nsec = hand->c.spare_nsec },
                .fault = fault,
                .detail = detail,
        };
        out->body_bytes = sizeof(FrameEnded);
        hand->c.spare_nsec = 0;
        hand->said_ended = true;
        return 0;
}

/* Starts a process for the container. Its first order makes it report that it is ready. */
static int begin(Service *node, Hand *hand, uint32_t birth) {
        const Order order = { .kind = ORDER_PROBE };
        int r;

        hand->birth = birth;
        hand->next = 0;
        hand->said_ended = false;
        r = acquire(node, hand);
        r = r < 0 ? r : (int) fork_actor(&node->place, &hand->c);
        if (r < 0)
                return say_ended(node, hand, FAULT_INTERNAL, -r);
        worker_order(&hand->c.worker, &order, UINT64_MAX);
        return 0;
}

static int take_order(Service *node) {
        const FrameHead *head = &node->reader.head;
        const Placement *place = &node->place;
        const SegmentLayout *l = &place->page->segment;
        Hand *hand = &node->hands[head->container];
        Order order;
        int r;

        r = frame_order(head, node->reader.body, place->page, place->n_actors, place->n_containers, &order);
        if (r < 0)
                return r;
        if (order.kind == ORDER_PROBE) {
                if (hand->c.worker.pid <= 0)
                        return begin(node, hand, head->birth);
                hand->next = head->birth;
                worker_kill(&hand->c.worker);
                return 0;
        }
        if (head->birth == hand->birth && hand->said_ended)
                return 0; /* the head has been told that this process has ended */
        if (head->birth != hand->birth || hand->c.worker.pid <= 0 || hand->c.worker.busy)
                return -EBADMSG;
        if (order.kind == ORDER_ROLLOUT)
                memcpy(segment_snapshot(node->segments[order.actor], l, order.snapshot_bank, 0),
                                node->reader.body + sizeof(Order), frame_bank_bytes(l));
        hand->c.worker.muted = false;
        hand->c.worker.n_false_rings = 0;
        worker_order(&hand->c.worker, &order, UINT64_MAX);
        return 0;
}

static int take_policy(Service *node) {
        const PolicyLayout *l = &node->place.page->policy;
        FramePolicy policy;
        int r;

        r = frame_policy(&node->reader.head, node->reader.body, node->place.page, &policy);
        if (r < 0)
                return r;
        memcpy(node->policy + policy.bank * l->bank_bytes, node->reader.body + sizeof(policy),
                        l->bank_bytes);
        return 0;
}

static int take_frame(Service *node) {
        const FrameHead *head = &node->reader.head;
        Hand *hand = &node->hands[head->container];

        switch ((FrameKind) head->kind) {
        case FRAME_ORDER: return take_order(node);
        case FRAME_POLICY: return take_policy(node);
        case FRAME_PING: return out_add(&node->out, FRAME_PONG, 0, 0) ? 0 : -EBADMSG;
        case FRAME_KILL:
                if (head->birth == hand->birth)
                        worker_kill(&hand->c.worker);
                return 0;
        default: return -EBADMSG;
        }
}

/* Counts the truncated episodes in the rows. A hostile actor may have written any values there. */
static uint64_t count_finals(const SegmentLayout *l, void *segment) {
        const volatile uint8_t *ends = segment_ends(segment, l);
        uint64_t n = 0;

        for (uint64_t i = 0; i < (uint64_t) l->steps * l->envs; i++)
                n += ends[i] == END_TRUNCATED;
        return n < l->finals_max ? n : l->finals_max;
}

static int say_answer(Service *node, Hand *hand, const Answer *answer) {
        const SegmentLayout *l = &node->place.page->segment;
        const Order *order = &hand->c.worker.order;
        Out *out = out_add(&node->out, FRAME_ANSWER, hand->c.index, hand->birth);

        if (!out)
                return -EBADMSG;
        hand->c.worker.busy = false;
        out->body.answer = (FrameAnswer){ .answer = *answer, .use = use_of(hand) };
        out->body_bytes = sizeof(FrameAnswer);
        out->body.answer.answer.fault = answer_claim(answer);
        if (order->kind != ORDER_ROLLOUT || answer->fault != FAULT_NONE)
                return 0;
        out->body.answer.n_finals = count_finals(l, node->segments[order->actor]);
        out->rows[0] = node->segments[order->actor];
        out->rows_bytes[0] = frame_rows_bytes(l, out->body.answer.n_finals);
        out->rows[1] = segment_snapshot(node->segments[order->actor], l, order->snapshot_bank ^ 1, 0);
        out->rows_bytes[1] = frame_bank_bytes(l);
        return 0;
}

static int look_at_answer(Service *node, Hand *hand) {
        Answer answer;

        return worker_answered(&hand->c.worker, &answer) ? say_answer(node, hand, &answer) : 0;
}

/* An actor signals its eventfd (rings its bell). If it rings too often without an answer, its bell is
 * ignored until the next order. Until then a timer looks for the answer. */
static int hear_bell(Service *node, Hand *hand) {
        uint64_t rings;

        (void) !read(hand->c.worker.bell_fd, &rings, sizeof(rings));
        hand->c.worker.muted = ++hand->c.worker.n_false_rings >= FALSE_RINGS_MAX;
        return look_at_answer(node, hand);
}

static int hear_end(Service *node, Hand *hand) {
        Ended ended;
        int r;

        /* Sends an answer that the process gave before it ended. */
        r = look_at_answer(node, hand);
        if (r < 0 || worker_reap(&hand->c.worker, 0, &ended) < 0)
                return r;
        hand->c.spare_nsec += ended.cpu_nsec;
        r = say_ended(node, hand, ended.fault, ended.detail);
        return r < 0 || hand->next == 0 ? r : begin(node, hand, hand->next);
}

static int hear_stream(Service *node) {
        bool heard;
        int r;

        while ((r = frame_read(&node->reader, INVOKER_FD_SOCKET, &heard)) > 0) {
                r = take_frame(node);
                if (r < 0)
                        return r;
        }
        return r;
}

static void watch(Service *node) {
        node->polls[0] = (struct pollfd){ .fd = node->signal_fd, .events = POLLIN };
        node->polls[1] = (struct pollfd){
                .fd = INVOKER_FD_SOCKET,
                .events = (short) (node->out.n > 0 ? POLLIN | POLLOUT : POLLIN),
        };
        node->muted = false;
        for (uint32_t k = 0; k < containers_all(&node->place); k++) {
                const Worker *worker = &node->hands[k].c.worker;

                node->muted = node->muted || (worker->muted && worker->busy);
                node->polls[FDS_OWN + 2 * k] = (struct pollfd){ .fd = worker->muted ? -1 : worker->bell_fd,
                        .events = POLLIN };
                node->polls[FDS_OWN + 2 * k + 1] =
                                (struct pollfd){ .fd = worker->pid > 0 ? worker->pid_fd : -1,
                                        .events = POLLIN };
        }
}

static int hear_hands(Service *node) {
        int r = 0;

        for (uint32_t k = 0; k < containers_all(&node->place) && r >= 0; k++) {
                Hand *hand = &node->hands[k];

                if (node->polls[FDS_OWN + 2 * k].revents)
                        r = hear_bell(node, hand);
                else if (hand->c.worker.muted && hand->c.worker.busy)
                        r = look_at_answer(node, hand);
                if (r >= 0 && node->polls[FDS_OWN + 2 * k + 1].revents && hand->c.worker.pid > 0)
                        r = hear_end(node, hand);
        }
        return r;
}

static int greet(Service *node) {
        static NodeHello hello;
        const FrameHead head = { .magic = FRAME_MAGIC,
                .kind = FRAME_HELLO,
                .sequence = node->out.sequence++,
                .n_bytes = sizeof(hello) };
        int r;

        hello.abi = STREAM_ABI;
        hello.struct_bytes = sizeof(hello);
        (void) snprintf(hello.release, sizeof(hello.release), "%s", ACTORD_VERSION);
        memcpy(hello.words, node->words, sizeof(hello.words));
        if (node->place.page)
                hello.page = *node->place.page;
        r = write_full(INVOKER_FD_SOCKET, &head, sizeof(head));
        return r < 0 ? r : write_full(INVOKER_FD_SOCKET, &hello, sizeof(hello));
}

/* Serves until a signal comes, or until the stream ends or brings an invalid frame. */
static int serve(Service *node) {
        int r = greet(node);

        while (r >= 0) {
                watch(node);
                if (poll(node->polls, FDS_OWN + 2 * containers_all(&node->place),
                                    node->muted ? MUTED_MSEC : -1) < 0 &&
                                errno != EINTR)
                        return -errno;
                if (node->polls[0].revents)
                        return 0;
                if (node->polls[1].revents & (POLLIN | POLLHUP | POLLERR))
                        r = hear_stream(node);
                r = r < 0 ? r : hear_hands(node);
                r = r < 0 ? r : out_send(&node->out, INVOKER_FD_SOCKET);
        }
        return r;
}

static void node_done(Service *node) {
        uint32_t n = node->hands ? containers_all(&node->place) : 0;
        Ended ended;

        for (uint32_t k = 0; k < n; k++)
                worker_kill(&node->hands[k].c.worker);
        for (uint32_t k = 0; k < n; k++) {
                if (node->hands[k].c.worker.pid > 0)
                        (void) worker_reap(&node->hands[k].c.worker, REAP_MSEC, &ended);
                worker_done(&node->hands[k].c.worker, &node->place.cgroup, true);
        }
        fork_free_sandboxes(&node->place);
        frame_reader_done(&node->reader);
        out_done(&node->out);
        free(node->hands);
        free(node->polls);
        free(node->segments);
        free(node->place.segment_fds);
}

int node_serve(void) {
        static Service node = { .signal_fd = -EBADF };
        int r;

        limits_prepare();
        node.place = (Placement) PLACEMENT_EMPTY;
        r = prepare(&node);
        if (r < 0 && r != -ECANCELED) {
                if (!node.words[0])
                        (void) snprintf(node.words, sizeof(node.words), "%s", strerror(-r));
                (void) greet(&node);
        } else if (r >= 0) {
                r = serve(&node);
                if (r == -EBADMSG)
                        (void) invoker_complain(r, "the job's host sent an unexpected message");
        }
        node_done(&node);
        return r == -EPIPE ? 0 : r;
}
