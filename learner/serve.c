/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An actor asks in shared memory and signals an eventfd, its bell. Each pass of the learner looks at all
 * actors in their order, and serves each at most once. So an actor that asks all the time delays other
 * actors only by its own turn. No byte from an actor is trusted: its ordinal must be the one that the
 * invoker named, its step must be in the rollout, and its observations are copied before they are used. An
 * actor that breaks these rules gets no answer, and its invocation ends by its deadline. */
#include "learner/serve.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/exchange.h"
#include "lib/forward.h"
#include "lib/fragment.h"
#include "lib/rng.h"
#include "lib/slot.h"

enum {
        SPIN_PASSES = 64,     /* passes over all actors before the learner sleeps */
        PAUSE_NSEC = 1000000, /* the pause if actors ring without a request */
        LOOK_MSEC = 1000,     /* the longest sleep if no bell rings */
        FALSE_RINGS_MAX = 16, /* bells without a request before a pause; one more for each actor */
        RINGS_AT_ONCE = 64,   /* the most bells that one epoll_wait() returns */
        THREAD_WORK = 200000, /* with fewer multiplications no other thread is woken */
};

typedef struct Client {
        Ask ask; /* its last request */
        uint64_t ordinal;
        bool asks, finished, late; /* late: the others do not wait for it any more */
} Client;

typedef struct Station { /* the working memory of a thread */
        Forward *forward;
        uint8_t *observations; /* [FORWARD_ROWS_MAX] */
        void *action;
        float *parameters; /* [FORWARD_ROWS_MAX] */
} Station;

struct Serve {
        const JobSettings *settings;
        const JobPage *page;
        WorkerPage *worker;
        void *const *segments;
        const void *policy;
        Threads *threads;
        int asks_fd;
        bool in_step; /* the requests of all actors for a step are served together */

        uint32_t n_clients, n_ready;
        uint32_t n_false_rings; /* how often in a row bells rang and no actor had a new request */
        uint32_t *ready;        /* [actors] */
        uint32_t task_rows;
        Client *clients; /* [actors] */
        Station *stations;
};

DEFINE_CLEANUP(Serve *, serve_free)

Serve *serve_free(Serve *serve) {
        if (!serve)
                return NULL;

        for (uint32_t i = 0; serve->stations && i < serve->settings->n_threads; i++) {
                forward_free(serve->stations[i].forward);
                free(serve->stations[i].observations);
                free(serve->stations[i].action);
                free(serve->stations[i].parameters);
        }
        free(serve->stations);
        free(serve->clients);
        free(serve->ready);
        free(serve);
        return NULL;
}

static int station_init(const JobPage *page, Station *station) {
        station->observations = aligned_alloc(
                        64, (FORWARD_ROWS_MAX * page->segment.observation_bytes + 63) / 64 * 64);
        station->action = calloc(1, page->segment.action_bytes);
        station->parameters = calloc(FORWARD_ROWS_MAX * forward_parameters(&page->network), sizeof(float));
        if (!station->observations || !station->action || !station->parameters)
                return -ENOMEM;
        return forward_new_judged(&page->network, &page->judge, &page->spec, &station->forward);
}

int serve_new(const JobSettings *settings, const JobPage *page, WorkerPage *worker, void *const *segments,
                const void *policy, Threads *threads, int asks_fd, Serve **ret) {
        const Distribution *row = distribution_of(settings);
        _cleanup_(serve_freep) Serve *serve = NULL;
        uint32_t n_actors = settings_actors_max(settings);

        assert(page && worker && segments && policy);
        assert(threads);
        assert(ret);

        serve = calloc(1, sizeof(*serve));
        if (!serve)
                return -ENOMEM;
        *serve = (Serve){
                .settings = settings,
                .page = page,
                .worker = worker,
                .segments = segments,
                .policy = policy,
                .threads = threads,
                .asks_fd = asks_fd,
                .in_step = row && row->inference_barrier == BARRIER_ALL,
        };
        serve->ready = calloc(n_actors, sizeof(*serve->ready));
        serve->clients = calloc(n_actors, sizeof(*serve->clients));
        serve->stations = calloc(settings->n_threads, sizeof(*serve->stations));
        if (!serve->ready || !serve->clients || !serve->stations)
                return -ENOMEM;
        for (uint32_t i = 0; i < settings->n_threads; i++) {
                int r = station_init(page, &serve->stations[i]);

                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(serve);
        return 0;
}

static Exchange *exchange_of(const Serve *s, uint32_t actor) {
        return segment_exchange(s->segments[actor], &s->page->segment);
}

/* Computes some of the rows of all ready actors. The rows are numbered actor by actor. */
static void serve_task(void *arg, uint32_t task, uint32_t thread) {
        const Serve *s = arg;
        const SegmentLayout *l = &s->page->segment;
        Station *station = &s->stations[thread];
        uint64_t first = (uint64_t) task * s->task_rows, n_rows = (uint64_t) s->n_ready * l->envs;
        uint32_t n = n_rows - first < s->task_rows ? (uint32_t) (n_rows - first) : s->task_rows;
        ActordRandom randoms[FORWARD_ROWS_MAX];

        for (uint32_t k = 0; k < n; k++) {
                uint32_t actor = s->ready[(first + k) / l->envs];
                uint64_t row = (uint64_t) s->clients[actor].ask.step * l->envs + (first + k) % l->envs;

                segment_stack_read(s->segments[actor], l, segment_ends(s->segments[actor], l), row,
                                station->observations + k * l->observation_bytes);
                random_begin(&randoms[k], s->settings->seed, RANDOM_ACTION,
                                actor * l->envs + (uint32_t) ((first + k) % l->envs),
                                s->clients[actor].ordinal, s->clients[actor].ask.step);
                forward_draw(station->forward, k, &randoms[k]);
        }
        forward_rows(station->forward, station->observations, l->observation_bytes, n, station->parameters);

        for (uint32_t k = 0; k < n; k++) {
                uint32_t actor = s->ready[(first + k) / l->envs], e = (uint32_t) ((first + k) % l->envs);
                const Client *client = &s->clients[actor];
                uint64_t row = (uint64_t) client->ask.step * l->envs + e;
                float log_probability;

                action_sample(&s->page->network,
                                station->parameters + k * forward_parameters(&s->page->network), false,
                                &randoms[k], station->action, &log_probability);
                memcpy(segment_action(s->segments[actor], l, row), station->action, l->action_bytes);
                segment_log_probabilities(s->segments[actor], l)[row] = log_probability;
        }
}

/* Looks once at each actor for a new request. An actor that has asked for an action becomes ready. */
static void look_around(Serve *s) {
        for (uint32_t a = 0; a < s->n_clients; a++) {
                Client *client = &s->clients[a];
                Ask ask;

                if (client->ordinal == ORDINAL_NONE ||
                                !exchange_asked(exchange_of(s, a), client->ask.number, &ask))
                        continue;
                client->ask = ask;
                client->asks = ask.ordinal == client->ordinal && ask.step < s->page->segment.steps;
                if (client->asks)
                        client->late = client->finished = false;
        }

        s->n_ready = 0;
        for (uint32_t a = 0; a < s->n_clients; a++)
                if (s->clients[a].asks)
                        s->ready[s->n_ready++] = a;
}

/* Whether some actor for which the others wait has not sent its request yet. */
static bool request_is_missing(const Serve *s) {
        for (uint32_t a = 0; a < s->n_clients; a++) {
                const Client *client = &s->clients[a];

                if (client->ordinal != ORDINAL_NONE && !client->asks && !client->finished && !client->late)
                        return true;
        }
        return false;
}

static void leave_behind(Serve *s) {
        for (uint32_t a = 0; a < s->n_clients; a++)
                s->clients[a].late = !s->clients[a].asks;
}

static void serve_ready(Serve *s) {
        uint64_t n_rows = (uint64_t) s->n_ready * s->page->segment.envs;
        uint32_t candidates = s->page->network.candidates > 1 ? s->page->network.candidates : 1;
        uint64_t work = s->page->network.n_parameters * candidates * n_rows, share;
        uint32_t n_threads = work >= THREAD_WORK ? threads_count(s->threads) : 1, n_tasks;

        /* The number of rows that a thread takes at once, so that each thread gets some. */
        share = (n_rows + n_threads - 1) / n_threads;
        s->task_rows = share < FORWARD_ROWS_MAX ? (uint32_t) share : FORWARD_ROWS_MAX;
        n_tasks = (uint32_t) ((n_rows + s->task_rows - 1) / s->task_rows);
        if (n_threads > 1)
                threads_run(s->threads, serve_task, s, n_tasks);
        else
                for (uint32_t k = 0; k < n_tasks; k++)
                        serve_task(s, k, 0);

        for (uint32_t k = 0; k < s->n_ready; k++)
                exchange_answer(exchange_of(s, s->ready[k]), s->clients[s->ready[k]].ask.number);
        for (uint32_t k = 0; k < s->n_ready; k++) {
                Client *client = &s->clients[s->ready[k]];

                client->asks = false;
                client->finished = client->ask.step + 1 == s->page->segment.steps;
        }
        s->n_ready = 0;
}

static bool stopped(const Serve *s) {
        return atomic_load_explicit(&s->worker->serve_stop, memory_order_seq_cst);
}

static void say_asleep(const Serve *s, bool asleep) {
        for (uint32_t a = 0; a < s->n_clients; a++)
                if (s->clients[a].ordinal != ORDINAL_NONE)
                        exchange_asleep(exchange_of(s, a), asleep);
}

static uint64_t now_msec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000u + (uint64_t) ts.tv_nsec / 1000000u;
}

/* Called when too many bells have rung without a request. Ignores bells for PAUSE_NSEC, then looks at the
 * actors. */
static void pause_shortly(Serve *s, uint32_t n_before) {
        const struct timespec pause = { .tv_nsec = PAUSE_NSEC };

        (void) nanosleep(&pause, NULL);
        look_around(s);
        if (s->n_ready > n_before)
                s->n_false_rings = 0;
}

/* When no request has come: spins for a moment, then sleeps until a bell rings, for most_msec or LOOK_MSEC
 * at most. n_before: how many ready actors wait for the others. */
static void wait_for_more(Serve *s, uint32_t n_before, uint64_t most_msec) {
        struct epoll_event rings[RINGS_AT_ONCE];

        if (s->n_false_rings > FALSE_RINGS_MAX + s->n_clients) {
                pause_shortly(s, n_before);
                return;
        }
        for (unsigned i = 0; i < SPIN_PASSES; i++) {
                look_around(s);
                if (s->n_ready > n_before || stopped(s))
                        return;
        }

        say_asleep(s, true);
        look_around(s);
        if (s->n_ready <= n_before && !stopped(s) &&
                        epoll_wait(s->asks_fd, rings, RINGS_AT_ONCE,
                                        (int) (most_msec < LOOK_MSEC ? most_msec : LOOK_MSEC)) > 0) {
                look_around(s);
                s->n_false_rings = s->n_ready > n_before ? 0 : s->n_false_rings + 1;
        }
        say_asleep(s, false);
}

static int begin(Serve *s, const Order *order) {
        const PolicyHead *bank = policy_bank(s->policy, &s->page->policy, order->policy_bank);

        if (bank->policy_version != order->policy_version)
                return -ESTALE;
        if (order->n_actors > settings_actors_max(s->settings))
                return -EINVAL;

        for (uint32_t i = 0; i < s->settings->n_threads; i++)
                forward_load(s->stations[i].forward, bank, &s->page->policy);
        s->n_clients = order->n_actors;
        s->n_false_rings = 0;
        for (uint32_t a = 0; a < s->n_clients; a++) {
                Client *client = &s->clients[a];

                client->ordinal = s->worker->ordinals[a];
                client->asks = client->finished = client->late = false;
        }
        return 0;
}

int serve_run(Serve *s, const Order *order) {
        /* A quarter of the time that an invocation may take. If an actor keeps the others waiting for longer
         * than this, it counts as late, and the others go on. */
        uint64_t patience_msec = s->settings->timeout_usec / 4000u, give_up_msec = 0;
        int r;

        assert(order);

        r = begin(s, order);
        if (r < 0)
                return r;

        while (!stopped(s)) {
                uint64_t now;

                atomic_store_explicit(&s->worker->served_nsec, clock_boottime(), memory_order_relaxed);
                look_around(s);
                if (s->n_ready == 0) {
                        wait_for_more(s, 0, LOOK_MSEC);
                        continue;
                }
                if (!s->in_step || !request_is_missing(s)) {
                        serve_ready(s);
                        give_up_msec = 0;
                        continue;
                }
                now = now_msec();
                if (give_up_msec == 0)
                        give_up_msec = now + patience_msec;
                if (now >= give_up_msec)
                        leave_behind(s);
                else
                        wait_for_more(s, s->n_ready, give_up_msec - now);
        }
        return 0;
}
