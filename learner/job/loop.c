/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conducts a job's rounds as the invoker does, with the same orders in the same sequence, but with calls
 * instead of processes. Each actor has its own ordinals and banks, as in the invoker, so the number of
 * actors may change from round to round. */
#include "learner/job/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/host.h"
#include "learner/learner.h"
#include "learner/threads.h"
#include "lib/arrival.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fragment.h"
#include "lib/saturate.h"
#include "lib/slot.h"
#include "lib/warm.h"

typedef struct FusedSeat { /* the state of one actor */
        uint64_t ordinal;  /* invocations that were learned from */
        uint32_t bank;     /* which bank holds its snapshots */
        Imagined container;
        bool fresh; /* its container's next invocation will be a cold one */
} FusedSeat;

struct Fused {
        JobSettings settings;
        JobPage page;
        WorkerPage worker;
        const ActordEnv *env;
        uint32_t n_actors, n_containers;
        uint64_t round, policy_version, emulated_nsec;
        Arrival arrival; /* if no actor is marked as acting, all act with the newest version */
        FusedFault fault;
        FusedSeat *seats; /* [n_actors] */

        void *policy, **segments; /* [n_actors] */
        LearnerContext learner_context;
        Learner *learner;
        ActorContext actor_context;
        Host *host;
};

DEFINE_CLEANUP(Fused *, fused_free)

static int fused_fail(Fused *fused, uint32_t actor, const Answer *answer) {
        fused->fault = (FusedFault){ .fault = answer->fault, .actor = actor, .detail = answer->detail };
        return -EIO;
}

Fused *fused_free(Fused *fused) {
        if (!fused)
                return NULL;

        (void) host_free(fused->host);
        (void) learner_free(fused->learner);
        for (uint32_t a = 0; fused->segments && a < fused->n_actors; a++)
                instance_memory_give_back(fused->segments[a], fused->page.segment.segment_bytes);
        free(fused->segments);
        instance_memory_give_back(fused->policy, fused->page.policy.segment_bytes);
        free(fused->seats);
        free(fused);
        return NULL;
}

static int fused_take_memory(Fused *fused) {
        fused->seats = calloc(fused->n_actors, sizeof(*fused->seats));
        fused->segments = calloc(fused->n_actors, sizeof(void *));
        fused->policy = instance_memory_take(fused->page.policy.segment_bytes);
        if (!fused->seats || !fused->segments || !fused->policy)
                return -ENOMEM;

        /* Pages are allocated when they are first written, so actors that never act cost nothing. */
        for (uint32_t a = 0; a < fused->n_actors; a++) {
                fused->segments[a] = instance_memory_take(fused->page.segment.segment_bytes);
                if (!fused->segments[a])
                        return -ENOMEM;
        }
        return 0;
}

static int fused_make_workers(Fused *fused) {
        int r;

        fused->learner_context = (LearnerContext){
                .settings = &fused->settings,
                .page = &fused->page,
                .worker = &fused->worker,
                .policy = fused->policy,
                .segments = fused->segments,
                .state_fd = -EBADF,
                .checkpoint_fd = -EBADF,
        };
        r = learner_new(&fused->learner_context, &fused->learner);
        if (r < 0)
                return r;

        fused->actor_context = (ActorContext){
                .settings = &fused->settings,
                .page = &fused->page,
                .worker = &fused->worker,
                .env = fused->env,
                .n_containers = 1,
                .segments = fused->segments,
                .policy = fused->policy,
                .bell_fd = -EBADF,
        };
        return host_new(&fused->actor_context, fused->env, &fused->host);
}

int fused_new(const JobSettings *settings, const ActordEnv *env, Fused **ret) {
        _cleanup_(fused_freep) Fused *fused = NULL;
        const Order order = { .kind = ORDER_RESTORE };
        ActordEnvSpec spec = {};
        Answer answer;
        int r;

        assert(settings);
        assert(env);
        assert(ret);

        r = env->spec(settings->options, settings->n_options, &spec);
        if (r < 0)
                return r;

        fused = calloc(1, sizeof(*fused));
        if (!fused)
                return -ENOMEM;
        fused->settings = *settings;
        fused->env = env;
        r = job_page_make(&fused->settings, &spec, &fused->page);
        if (r < 0)
                return r;
        fused->n_actors = settings_actors_max(&fused->settings);
        fused->n_containers = settings_processes(&fused->settings);

        r = fused_take_memory(fused);
        if (r < 0)
                return r;
        r = fused_make_workers(fused);
        if (r < 0)
                return r;

        learner_obey(fused->learner, &order, &answer);
        if (answer.fault != FAULT_NONE)
                return -EIO;

        *ret = TAKE_PTR(fused);
        return 0;
}

/* Decides which containers would be new in this round if the job ran on the emulated fleet. */
static void containers_arrange(Fused *fused, uint32_t n_needed) {
        WarmRest rest = warm_rest(&fused->settings);

        for (uint32_t k = 0; k < fused->n_containers; k++)
                fused->seats[k].fresh = imagined_arrange(
                                &fused->seats[k].container, k < n_needed, &rest, fused->emulated_nsec);
}

static bool start_is_cold(Fused *fused, uint32_t actor) {
        FusedSeat *container;
        bool fresh;

        if (arrival_acts(&fused->arrival, actor))
                return fused->arrival.flights[actor].state == FLIGHT_COLD;

        assert(fused->n_containers > 0);
        container = &fused->seats[actor % fused->n_containers];
        fresh = container->fresh;
        container->fresh = false;
        return fresh;
}

static int actor_run(Fused *fused, uint32_t actor, FusedTimes *times) {
        const Flight *flight = arrival_acts(&fused->arrival, actor) ? &fused->arrival.flights[actor] : NULL;
        FusedSeat *seat = &fused->seats[actor];
        const SegmentLayout *l = &fused->page.segment;
        uint64_t start_nsec = thread_cpu_nsec(), nsec;
        Order order = {
                .kind = ORDER_ROLLOUT,
                .round = fused->round + 1,
                .ordinal = seat->ordinal,
                .policy_version = flight ? flight->policy_version : fused->policy_version,
                .policy_bank = (uint32_t) (flight ? flight->policy_bank : fused->arrival.policy_bank),
                .actor = actor,
                .snapshot_bank = seat->bank,
        };
        Answer answer = {};

        invocation_run(fused->host, &order, &answer);
        if (answer.fault != FAULT_NONE)
                return fused_fail(fused, actor, &answer);

        nsec = clock_invocation_nsec(&fused->settings, thread_cpu_nsec() - start_nsec,
                        (uint64_t) l->envs * l->steps, start_is_cold(fused, actor));
        times->actors_nsec += nsec;
        if (nsec > times->slowest_actor_nsec)
                times->slowest_actor_nsec = nsec;

        order.kind = ORDER_TAKE;
        learner_obey(fused->learner, &order, &answer);
        return answer.fault == FAULT_NONE ? 0 : fused_fail(fused, actor, &answer);
}

static int learner_run(Fused *fused, uint32_t n_rollouts, Statistics *ret_statistics, FusedTimes *times) {
        const SegmentLayout *l = &fused->page.segment;
        const Order order = {
                .kind = ORDER_LEARN,
                .round = fused->round + 1,
                .ordinal = fused->round,
                .policy_version = fused->policy_version,
                .policy_bank = arrival_bank(&fused->arrival, fused->n_actors, fused->page.policy.n_banks),
                .n_actors = n_rollouts,
        };
        Answer answer;

        learner_obey(fused->learner, &order, &answer);
        if (answer.fault != FAULT_NONE)
                return fused_fail(fused, UINT32_MAX, &answer);

        times->learner_nsec = clock_update_nsec(&fused->settings, answer.slowest_thread_nsec,
                        (uint64_t) n_rollouts * l->envs * l->steps);
        fused->policy_version = answer.policy_version;
        fused->arrival.policy_bank = order.policy_bank;
        *ret_statistics = answer.statistics;
        return 0;
}

static void seat_close(FusedSeat *seat) {
        seat->bank ^= 1;
        seat->ordinal++;
}

/* Plays overlapping rounds one after the other. This is possible since a rollout depends on the policy
 * version with which its actor began, and not on when it is played. */
static int overlapping_round(
                Fused *fused, uint32_t n_actors, Statistics *ret_statistics, FusedTimes *times) {
        const SegmentLayout *l = &fused->page.segment;
        uint32_t actor;
        int r;

        arrival_begin(&fused->arrival, &fused->settings, n_actors, fused->policy_version);
        actor = arrival_next(&fused->arrival, &fused->settings, (uint64_t) l->envs * l->steps);
        assert(actor < fused->n_actors);

        r = actor_run(fused, actor, times);
        if (r < 0)
                return r;
        r = learner_run(fused, 1, ret_statistics, times);
        if (r < 0)
                return r;
        seat_close(&fused->seats[actor]);
        times->round_nsec =
                        arrival_take(&fused->arrival, actor, times->slowest_actor_nsec, times->learner_nsec);
        return 0;
}

static int whole_round(Fused *fused, uint32_t n_actors, Statistics *ret_statistics, FusedTimes *times) {
        int r;

        containers_arrange(fused, n_actors);
        for (uint32_t a = 0; a < n_actors; a++) {
                r = actor_run(fused, a, times);
                if (r < 0)
                        return r;
        }
        r = learner_run(fused, n_actors, ret_statistics, times);
        if (r < 0)
                return r;

        for (uint32_t a = 0; a < n_actors; a++)
                seat_close(&fused->seats[a]);
        times->round_nsec = clock_round_nsec(times->slowest_actor_nsec, times->learner_nsec);
        return 0;
}

int fused_round(Fused *fused, uint32_t n_actors, Statistics *ret_statistics, FusedTimes *ret_times) {
        FusedTimes times = {};
        int r;

        assert(fused);
        assert(n_actors >= 1 && n_actors <= fused->n_actors);
        assert(ret_statistics);
        assert(ret_times);

        r = distribution_overlaps(distribution_of(&fused->settings))
                            ? overlapping_round(fused, n_actors, ret_statistics, &times)
                            : whole_round(fused, n_actors, ret_statistics, &times);
        if (r < 0)
                return r;

        fused->round++;
        fused->emulated_nsec = saturating_add(fused->emulated_nsec, times.round_nsec);
        *ret_times = times;
        return 0;
}

int fused_evaluate(Fused *fused, uint64_t first, uint32_t n, double *ret_mean) {
        double sum = 0.0;

        assert(fused);
        assert(n > 0);
        assert(ret_mean);

        for (uint32_t i = 0; i < n; i++) {
                const Order order = {
                        .kind = ORDER_EVALUATE,
                        .round = fused->round,
                        .ordinal = first + i,
                        .policy_version = fused->policy_version,
                        .policy_bank = (uint32_t) fused->arrival.policy_bank,
                };
                Answer answer = {};

                evaluation_run(fused->host, &order, &answer);
                if (answer.fault != FAULT_NONE)
                        return fused_fail(fused, UINT32_MAX, &answer);
                sum += answer.episode_return;
        }

        *ret_mean = sum / n;
        return 0;
}

int fused_take_policy(Fused *fused, const Fused *from) {
        const PolicyLayout *l = &fused->page.policy, *other = &from->page.policy;
        const Network *network = &fused->page.network, *theirs = &from->page.network;

        assert(fused);
        assert(from);

        if (network->n_layers != theirs->n_layers || network->n_parameters != theirs->n_parameters ||
                        network->n_observation != theirs->n_observation ||
                        network->n_action != theirs->n_action ||
                        fused->page.judge.n_parameters != from->page.judge.n_parameters ||
                        l->bank_bytes != other->bank_bytes)
                return -EINVAL;

        fused->policy_version = from->policy_version;
        memcpy((uint8_t *) fused->policy + fused->arrival.policy_bank % l->n_banks * l->bank_bytes,
                        policy_bank(from->policy, other, from->arrival.policy_bank), l->bank_bytes);
        return 0;
}

const FusedFault *fused_fault(const Fused *fused) {
        return &fused->fault;
}

void fused_hash_policy(const Fused *fused, uint8_t ret_sha256[32]) {
        learner_hash_policy(fused->learner, ret_sha256);
}
