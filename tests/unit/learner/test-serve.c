/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner computes actions for actors that follow the rules, die or lie. Real threads use the real words
 * of shared memory: honest ones ask as actors do, hostile ones write any values. */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/learner-fixture.h"
#include "learner/serve.h"
#include "lib/boottime.h"
#include "lib/exchange.h"
#include "lib/forward.h"
#include "lib/rng.h"

enum { ACTORS = 3, STEPS = 50, ENVS = 2 };

typedef struct Scene {
        Bed bed;
        Threads *threads;
        Serve *serve;
        int asks_fd, bells[ACTORS], stop_fd;
        pthread_t server;
        Order order;
        int result;
} Scene;

typedef struct Player {
        Scene *scene;
        uint32_t actor;
        uint64_t n_wrong;
        _Atomic uint32_t stop;
} Player;

static void scene_open(Scene *scene, const char *policy) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        g_autofree char *sections = g_strdup_printf(
                        "[Scaling]\nActors=%d\n[Actor]\nEnvsPerActor=%d\nRolloutSteps=%d\nTimeoutSec=1\n"
                        "[Distribution]\nPolicy=%s\n",
                        ACTORS, ENVS, STEPS, policy);

        *scene = (Scene){};
        bed_settings("CartPole-v1", sections, &scene->bed.settings);
        bed_open(&scene->bed, &spec, -EBADF, -EBADF);
        (void) bed_restore(&scene->bed);

        scene->asks_fd = epoll_create1(EPOLL_CLOEXEC);
        scene->stop_fd = eventfd(0, EFD_NONBLOCK);
        epoll_ctl(scene->asks_fd, EPOLL_CTL_ADD, scene->stop_fd, &event);
        for (int a = 0; a < ACTORS; a++) {
                scene->bells[a] = eventfd(0, EFD_NONBLOCK);
                epoll_ctl(scene->asks_fd, EPOLL_CTL_ADD, scene->bells[a], &event);
                scene->bed.worker.ordinals[a] = 40 + (uint64_t) a;
        }
        g_assert_cmpint(threads_new(1, &scene->threads), ==, 0);
        g_assert_cmpint(serve_new(&scene->bed.settings, &scene->bed.page, &scene->bed.worker,
                                        scene->bed.segments, scene->bed.policy, scene->threads,
                                        scene->asks_fd, &scene->serve),
                        ==, 0);
        scene->order = (Order){
                .kind = ORDER_SERVE, .n_actors = ACTORS, .policy_version = scene->bed.learner->policy_version
        };
}

static void *serve_main(void *arg) {
        Scene *scene = arg;

        scene->result = serve_run(scene->serve, &scene->order);
        return NULL;
}

static void scene_start(Scene *scene) {
        scene->bed.worker.serve_stop = 0;
        g_assert_cmpint(pthread_create(&scene->server, NULL, serve_main, scene), ==, 0);
}

static void scene_stop(Scene *scene) {
        scene->bed.worker.serve_stop = 1;
        g_assert_cmpint(eventfd_write(scene->stop_fd, 1), ==, 0);
        pthread_join(scene->server, NULL);
        g_assert_cmpint(scene->result, ==, 0);
}

static void scene_close(Scene *scene) {
        serve_free(scene->serve);
        threads_free(scene->threads);
        for (int a = 0; a < ACTORS; a++)
                (void) close(scene->bells[a]);
        (void) close(scene->stop_fd);
        (void) close(scene->asks_fd);
        bed_close(&scene->bed);
}

/* Whether the learner has chosen the action, and the log-probability, that the actor itself would have
 * computed. */
static bool acted_right(Scene *scene, Forward *forward, uint32_t actor, uint32_t t, uint32_t e) {
        const Bed *bed = &scene->bed;
        const SegmentLayout *l = &bed->page.segment;
        uint64_t row = (uint64_t) t * l->envs + e;
        float parameters[4], action[2], log_probability;
        ActordRandom random;

        forward_load(forward, policy_bank(bed->policy, &bed->page.policy, scene->order.policy_version),
                        &bed->page.policy);
        forward_row(forward, segment_observation(bed->segments[actor], l, row), parameters);
        random_begin(&random, bed->settings.seed, RANDOM_ACTION, actor * ENVS + e, 40 + (uint64_t) actor, t);
        action_sample(&bed->page.network, parameters, false, &random, action, &log_probability);
        return memcmp(action, segment_action(bed->segments[actor], l, row), sizeof(action)) == 0 &&
               memcmp(&log_probability, &segment_log_probabilities(bed->segments[actor], l)[row],
                               sizeof(log_probability)) == 0;
}

static void *honest_main(void *arg) {
        Player *player = arg;
        Scene *scene = player->scene;
        const SegmentLayout *l = &scene->bed.page.segment;
        void *segment = scene->bed.segments[player->actor];
        Forward *forward;

        g_assert_cmpint(forward_new(&scene->bed.page.network, &scene->bed.page.spec, &forward), ==, 0);
        for (uint32_t t = 0; t < STEPS; t++) {
                for (uint32_t e = 0; e < ENVS; e++) {
                        float *o = segment_observation(segment, l, (uint64_t) t * ENVS + e);

                        for (uint32_t k = 0; k < 3; k++)
                                o[k] = (float) (player->actor + t * 0.25 + e - k);
                }
                exchange_ask(segment_exchange(segment, l), 40 + (uint64_t) player->actor, t,
                                t % 3 == 0 ? 20000 : 0, scene->bells[player->actor]);
                for (uint32_t e = 0; e < ENVS; e++)
                        player->n_wrong += !acted_right(scene, forward, player->actor, t, e);
        }
        forward_free(forward);
        return NULL;
}

/* Writes invalid requests as fast as it can. The first ones name the right episode but steps that do not
 * exist, and the later ones name wrong episodes. There is a pause between them: the learner may read parts
 * of two requests as one, and the right episode with an existing step would be valid. */
static void *hostile_main(void *arg) {
        Player *player = arg;
        Scene *scene = player->scene;
        Exchange *exchange = segment_exchange(scene->bed.segments[player->actor], &scene->bed.page.segment);

        exchange->step = UINT32_MAX;
        for (uint32_t i = 1; !player->stop; i++) {
                bool early = i < 20000;
                uint32_t step = i % (2 * STEPS);

                if (early)
                        step = i % 2 ? UINT32_MAX - i : STEPS;
                if (i == 20000) {
                        exchange->ordinal = i;
                        g_usleep(5000);
                }
                exchange->ordinal = early ? 42 : i;
                exchange->step = step;
                exchange->parked = exchange->asleep = i;
                exchange->asked += 7;
                (void) eventfd_write(scene->bells[player->actor], 1);
        }
        return NULL;
}

/* Two honest actors play two rollouts each beside a third actor, which is hostile or silent. */
static void play(const char *policy, bool hostile) {
        Scene scene;
        Player players[ACTORS];
        pthread_t threads[ACTORS];

        scene_open(&scene, policy);
        for (uint32_t a = 0; a < ACTORS; a++)
                players[a] = (Player){ .scene = &scene, .actor = a };
        scene_start(&scene);
        if (hostile)
                pthread_create(&threads[2], NULL, hostile_main, &players[2]);

        for (unsigned attempt = 0; attempt < 2; attempt++) {
                for (int a = 0; a < 2; a++)
                        pthread_create(&threads[a], NULL, honest_main, &players[a]);
                for (int a = 0; a < 2; a++) {
                        pthread_join(threads[a], NULL);
                        g_assert_cmpuint(players[a].n_wrong, ==, 0);
                }
        }

        if (hostile) {
                players[2].stop = 1;
                pthread_join(threads[2], NULL);
        }
        scene_stop(&scene);
        g_assert_cmpuint(segment_exchange(scene.bed.segments[2], &scene.bed.page.segment)->answered, ==, 0);
        scene_close(&scene);
}

static void test_ready(void) {
        play("single-learner-fine", false);
}

static void test_ready_hostile(void) {
        play("single-learner-fine", true);
}

/* The learner waits for requests of all three actors, and the third sends none. After a time the learner
 * goes on without it. */
static void test_in_step(void) {
        play("environments", false);
}

static void test_in_step_hostile(void) {
        play("environments", true);
}

static void *ringing_main(void *arg) {
        Player *player = arg;

        while (!player->stop)
                (void) eventfd_write(player->scene->bells[player->actor], 1);
        return NULL;
}

static uint64_t cpu_nsec_of(pthread_t thread) {
        struct timespec ts;
        clockid_t clock;

        g_assert_cmpint(pthread_getcpuclockid(thread, &clock), ==, 0);
        g_assert_cmpint(clock_gettime(clock, &ts), ==, 0);
        return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

/* An actor rings its bell again and again but asks for no action. The learner soon looks at this bell only
 * now and then, and serves the other actors meanwhile. */
static void test_storm(void) {
        enum { STORM_USEC = 500000 };
        Scene scene;
        Player honest, ringing;
        pthread_t thread;
        uint64_t begun, cpu;

        scene_open(&scene, "single-learner-fine");
        honest = (Player){ .scene = &scene, .actor = 0 };
        ringing = (Player){ .scene = &scene, .actor = 2 };
        scene_start(&scene);
        pthread_create(&thread, NULL, ringing_main, &ringing);
        begun = clock_boottime();
        cpu = cpu_nsec_of(scene.server);
        g_usleep(STORM_USEC);
        cpu = cpu_nsec_of(scene.server) - cpu;
        begun = clock_boottime() - begun;
        g_test_message("%.1f ms of CPU in %.1f ms", (double) cpu / 1e6, (double) begun / 1e6);
        g_assert_cmpuint(cpu, <, begun / 8);

        (void) honest_main(&honest);
        g_assert_cmpuint(honest.n_wrong, ==, 0);
        ringing.stop = 1;
        pthread_join(thread, NULL);
        scene_stop(&scene);
        scene_close(&scene);
}

/* The segment still has the request of an attempt whose process died. The next attempt must not take the
 * answer to that request for its own, and the learner must not take the old request for a new one. */
static void test_stale(void) {
        Scene scene;
        Player player;
        Exchange *exchange;

        scene_open(&scene, "single-learner-fine");
        exchange = segment_exchange(scene.bed.segments[0], &scene.bed.page.segment);
        exchange->asked = 12;
        exchange->answered = 11;
        exchange->ordinal = 40;
        exchange->step = 30;
        player = (Player){ .scene = &scene, .actor = 0 };
        scene_start(&scene);
        (void) honest_main(&player);
        g_assert_cmpuint(player.n_wrong, ==, 0);
        g_assert_cmpuint(exchange->asked, ==, 12 + STEPS);
        g_assert_cmpuint(exchange->answered, ==, 12 + STEPS);
        scene_stop(&scene);
        scene_close(&scene);
}

static void test_refused(void) {
        Scene scene;

        scene_open(&scene, "single-learner-fine");
        scene.order.policy_version++;
        g_assert_cmpint(serve_run(scene.serve, &scene.order), ==, -ESTALE);
        scene.order.policy_version--;
        scene.order.n_actors = ACTORS + 1;
        g_assert_cmpint(serve_run(scene.serve, &scene.order), ==, -EINVAL);
        scene_close(&scene);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/serve/ready", test_ready);
        g_test_add_func("/serve/ready/hostile", test_ready_hostile);
        g_test_add_func("/serve/in-step", test_in_step);
        g_test_add_func("/serve/in-step/hostile", test_in_step_hostile);
        g_test_add_func("/serve/stale", test_stale);
        g_test_add_func("/serve/storm", test_storm);
        g_test_add_func("/serve/refused", test_refused);
        return g_test_run();
}
