/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/actor-fixture.h"

ToyPlan toy_plan;

static void toy_observe(const Toy *toy, void *ret) {
        float observation[2] = { (float) toy->mark, (float) toy->steps };

        memcpy(ret, observation, sizeof(observation));
}

int toy_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        *ret = (ActordEnvSpec){
                .name = "Toy",
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 2 },
                                .low = -INFINITY,
                                .high = INFINITY },
                .action = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 2 },
                                .low = -0.5,
                                .high = 0.5 },
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = NAN,
                .instance_bytes = sizeof(Toy),
                .snapshot_bytes = offsetof(Toy, dirt),
                .flags = toy_plan.truncates ? ACTORD_ENV_TRUNCATES : 0,
        };
        return 0;
}

static int toy_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return 0;
}

static int toy_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Toy *toy = instance;

        toy_plan.n_resets++;
        toy->mark = actord_random_uniform(random, 0, 1);
        toy->steps = 0;
        toy->length = toy_plan.length_min +
                      random_below(random, toy_plan.length_max - toy_plan.length_min + 1);
        toy_observe(toy, ret_observation);
        return 0;
}

static int toy_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Toy *toy = instance;
        float a[2];

        memcpy(a, action, sizeof(a));
        g_assert_true(fabsf(a[0]) <= 0.5f && fabsf(a[1]) <= 0.5f);

        if (++toy_plan.n_steps == toy_plan.fail_at)
                return -EIO;

        toy->steps++;
        toy->dirt++;
        if (toy_plan.step_noise)
                toy->mark += 1e-3 * actord_random_normal(random);
        if (toy_plan.ends_one_in > 0 && random_below(random, toy_plan.ends_one_in) == 0)
                toy->length = toy->steps;
        toy_observe(toy, ret_observation);
        *ret = (ActordStep){
                .reward = toy->mark + toy->steps,
                .terminated = toy->steps >= toy->length && !toy_plan.truncates,
                .truncated = toy->steps >= toy->length && toy_plan.truncates,
        };
        return 0;
}

static int toy_snapshot(const void *instance, void *ret) {
        memcpy(ret, instance, offsetof(Toy, dirt));
        return 0;
}

static int toy_restore(void *instance, const void *snapshot) {
        toy_plan.n_restores++;
        memcpy(instance, snapshot, offsetof(Toy, dirt));
        return 0;
}

static void toy_close(void *instance) {
}

const ActordEnv toy_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = toy_spec,
        .init = toy_init,
        .reset = toy_reset,
        .step = toy_step,
        .snapshot = toy_snapshot,
        .restore = toy_restore,
        .close = toy_close,
};

static void policy_fill(Job *job) {
        PolicyHead *bank = (PolicyHead *) policy_bank(job->policy, &job->page.policy, 0);
        float *parameters = (float *) policy_numbers(bank, job->page.policy.parameters_at);
        ActordRandom random;

        bank->policy_version = 1;
        random_begin(&random, 1, RANDOM_INIT, 0, 0, 0);
        for (uint64_t i = 0; i < job->page.network.n_parameters; i++)
                parameters[i] = (float) (0.3 * actord_random_normal(&random));
}

void actor_job_start_host(Job *job, uint32_t i) {
        job->contexts[i] = (ActorContext){
                .settings = &job->settings,
                .page = &job->page,
                .worker = job->worker,
                .env = job->env,
                .n_containers = job->n_containers,
                .segments = (void *const *) job->segments,
                .policy = job->policy,
                .bell_fd = -EBADF,
        };
        g_assert_cmpint(host_new(&job->contexts[i], job->env, &job->hosts[i]), ==, 0);
}

void *zeroed(size_t bytes) {
        void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

        memset(p, 0, bytes);
        return p;
}

void actor_job_new(Job *job, const ActordEnv *env, uint32_t envs, uint32_t steps, uint32_t n_containers) {
        ActordEnvSpec spec;

        *job = (Job){
                .env = env,
                .n_containers = n_containers,
                .settings = { .seed = 7,
                                .n_actors = ACTORS,
                                .envs_per_actor = envs,
                                .rollout_steps = steps,
                                .hidden_layers = { 1, { 8 } } },
        };

        memset(&spec, 0, sizeof(spec));
        g_assert_cmpint(env->spec(NULL, 0, &spec), ==, 0);
        g_assert_cmpint(job_page_make(&job->settings, &spec, &job->page), ==, 0);
        job->worker = zeroed(sizeof(*job->worker));
        job->policy = zeroed(job->page.policy.segment_bytes);
        policy_fill(job);
        for (int a = 0; a < ACTORS; a++)
                job->segments[a] = zeroed(job->page.segment.segment_bytes);
        for (uint32_t i = 0; i < n_containers; i++)
                actor_job_start_host(job, i);
}

void actor_job_done(Job *job) {
        for (uint32_t i = 0; i < job->n_containers; i++)
                (void) host_free(job->hosts[i]);
        for (int a = 0; a < ACTORS; a++)
                free(job->segments[a]);
        free(job->policy);
        free(job->worker);
}

uint32_t actor_job_attempt(Job *job, uint32_t actor) {
        Order order = {
                .kind = ORDER_ROLLOUT,
                .actor = actor,
                .ordinal = job->ordinals[actor],
                .policy_version = 1,
                .snapshot_bank = job->banks[actor],
        };
        Answer answer = {};

        invocation_run(job->hosts[actor % job->n_containers], &order, &answer);
        return answer.fault;
}

void actor_job_accept(Job *job, uint32_t actor) {
        job->ordinals[actor]++;
        job->banks[actor] ^= 1;
}

void actor_job_rollout(Job *job, uint32_t actor) {
        g_assert_cmpuint(actor_job_attempt(job, actor), ==, FAULT_NONE);
        actor_job_accept(job, actor);
}

GBytes *actor_job_result(const Job *job, uint32_t actor) {
        const SegmentLayout *l = &job->page.segment;
        const uint8_t *segment = job->segments[actor];
        GByteArray *all = g_byte_array_new();

        g_byte_array_append(all, segment, (guint) l->snapshots_at[0]);
        g_byte_array_append(all, segment + l->snapshots_at[job->banks[actor]],
                        (guint) (l->envs * l->snapshot_stride));
        return g_byte_array_free_to_bytes(all);
}

void assert_results_equal(const Job *a, const Job *b, uint32_t actor) {
        g_autoptr(GBytes) x = actor_job_result(a, actor), y = actor_job_result(b, actor);

        g_assert_true(g_bytes_equal(x, y));
}

void assert_interruptions_hidden(Job *job, Job *hurt, uint32_t n_rounds) {
        for (uint64_t k = 0; k < n_rounds; k++) {
                actor_job_rollout(job, 0);

                toy_plan.n_steps = 0;
                toy_plan.fail_at = 1 + k * 2;
                g_assert_cmpuint(actor_job_attempt(hurt, 0), ==, FAULT_ENVIRONMENT);
                toy_plan.fail_at = 0;
                hurt->hosts[0] = host_free(hurt->hosts[0]);
                actor_job_start_host(hurt, 0);
                actor_job_rollout(hurt, 0);

                assert_results_equal(job, hurt, 0);
        }
}
