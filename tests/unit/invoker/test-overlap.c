/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A learner whose rounds overlap (Policy=async). It scales observations by the statistics of the policy
 * version that acted. A learner that continues from a checkpoint, with the actors that acted then, gets the
 * same bits as a learner that never stopped. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/arrival.h"
#include "lib/clock.h"
#include "tests/unit/learner-fixture.h"

/* Rounds overlap (Policy=async). So a checkpoint must also say which actors act, since when, and with which
 * versions of the policy. */
#define OVERLAP                                                                                         \
        "[Scaling]\nActors=4\n[Distribution]\nPolicy=async\n[Actor]\nEnvsPerActor=3\nRolloutSteps=16\n" \
        "[Billing]\nClock=model\n"                                                                      \
        "[Learner]\nHiddenLayers=6 5\nNormalizeObservations=yes\nNormalizeRewards=yes\n"

typedef struct Async {
        Bed bed;
        Arrival arrival;
        uint64_t ordinals[4];
        uint32_t banks[4];
} Async;

static void async_open(Async *async, const char *algorithm, int checkpoint_fd) {
        g_autofree char *sections = g_strdup_printf("Algorithm=%s\n" OVERLAP, algorithm);
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        Answer restored;

        spec.horizon_steps = 9;
        bed_settings("CartPole-v1", sections, &async->bed.settings);
        bed_open(&async->bed, &spec, -1, checkpoint_fd);
        restored = bed_restore(&async->bed);
        async->arrival = async->bed.worker.arrival;
        if (restored.round > 0)
                memcpy(async->ordinals, async->bed.worker.ordinals, sizeof(async->ordinals));
}

/* Fills a rollout with numbers that depend on its actor and its ordinal alone. */
static void async_fill(Async *async, uint32_t actor) {
        Bed *bed = &async->bed;
        uint32_t bank = async->banks[actor];

        bed_fill(bed, actor, bank, 50 + (uint32_t) async->ordinals[actor]);
        for (uint32_t e = 0; e < 3; e++)
                memset(segment_snapshot_bytes(bed->segments[actor], &bed->page.segment, bank ^ 1, e),
                                (int) async->ordinals[actor] + 7 * (int) actor, 64);
}

/* The learner's batch has the observations of the segment, scaled by the statistics with which the actor
 * acted. */
static void async_check_scale(
                const Async *async, uint32_t actor, const float *mean, const float *inverse_sd) {
        const Batch *batch = async->bed.learner->batch;
        const float *raw = segment_observation(async->bed.segments[actor], &async->bed.page.segment, 0);

        g_assert_cmpuint(batch->n_blocks, ==, 1);
        for (uint32_t i = 0; i < 16 * 3 * 3; i++) {
                double y = (double) ((raw[i] - mean[i % 3]) * inverse_sd[i % 3]);

                g_assert_cmpfloat_with_epsilon((double) batch->observations[i], CLAMP(y, -10, 10), 1e-5);
        }
}

static Answer async_play(Async *async, uint64_t first, uint64_t end, unsigned *ret_stale) {
        const PolicyLayout *layout = &async->bed.page.policy;
        Answer answer = {};

        for (uint64_t round = first; round < end; round++) {
                uint64_t elapsed = async->bed.learner->episodes->n_env_steps;
                float mean[3], inverse_sd[3];
                const PolicyHead *head;
                Flight flight;
                uint32_t actor;

                arrival_begin(&async->arrival, &async->bed.settings, round % 5 == 3 ? 2 : 4, round);
                actor = arrival_next(&async->arrival, &async->bed.settings, 48);
                flight = async->arrival.flights[actor];
                head = policy_bank(async->bed.policy, layout, flight.policy_bank);
                g_assert_cmpuint(head->policy_version, ==, flight.policy_version);
                memcpy(mean, policy_numbers(head, layout->mean_at), sizeof(mean));
                memcpy(inverse_sd, policy_numbers(head, layout->inverse_sd_at), sizeof(inverse_sd));
                *ret_stale += flight.policy_version < round;

                async_fill(async, actor);
                learner_obey(async->bed.learner,
                                &(Order){ .kind = ORDER_TAKE,
                                                .actor = actor,
                                                .policy_version = flight.policy_version,
                                                .policy_bank = (uint32_t) flight.policy_bank,
                                                .snapshot_bank = async->banks[actor] },
                                &answer);
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                async->arrival.policy_bank = arrival_bank(&async->arrival, 4, layout->n_banks);
                learner_obey(async->bed.learner,
                                &(Order){ .kind = ORDER_LEARN,
                                                .round = round + 1,
                                                .ordinal = round,
                                                .policy_version = round,
                                                .policy_bank = (uint32_t) async->arrival.policy_bank,
                                                .n_actors = 1,
                                                .hashes = true },
                                &answer);
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                g_assert_cmpuint(answer.policy_version, ==, round + 1);
                g_assert_cmpuint(async->bed.learner->episodes->n_env_steps, ==, elapsed + 48);
                if (async->bed.settings.normalize_observations)
                        async_check_scale(async, actor, mean, inverse_sd);

                (void) arrival_take(&async->arrival, actor,
                                clock_invocation_nsec(
                                                &async->bed.settings, 0, 48, flight.state == FLIGHT_COLD),
                                500000);
                async->banks[actor] ^= 1;
                async->ordinals[actor]++;
        }
        return answer;
}

/* Writes a checkpoint, removes its name and returns its descriptor. */
static int async_checkpoint(Async *async, uint64_t round) {
        g_autofree char *name = g_strdup_printf("checkpoint-%" PRIu64 ".safetensors", round),
                        *directory = g_dir_make_tmp("overlap-XXXXXX", NULL);
        int fd, state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        async->bed.learner->context.state_fd = state_fd;

        memcpy(async->bed.worker.ordinals, async->ordinals, sizeof(async->ordinals));
        memcpy(async->bed.worker.banks, async->banks, sizeof(async->banks));
        async->bed.worker.arrival = async->arrival;
        g_assert_cmpuint(bed_order(&async->bed, (Order){ .kind = ORDER_CHECKPOINT, .round = round }).fault,
                        ==, FAULT_NONE);
        fd = openat(state_fd, name, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        (void) unlinkat(state_fd, name, 0);
        (void) close(state_fd);
        (void) rmdir(directory);
        return fd;
}

static void test_overlap(gconstpointer algorithm) {
        g_autofree Async *whole = g_new0(Async, 1), *before = g_new0(Async, 1), *after = g_new0(Async, 1);
        Answer expected, learned;
        unsigned n_stale = 0;
        int fd;

        async_open(whole, algorithm, -1);
        expected = async_play(whole, 0, 20, &n_stale);
        g_assert_cmpuint(n_stale, >=, 10);

        async_open(before, algorithm, -1);
        async_play(before, 0, 9, &n_stale);
        fd = async_checkpoint(before, 9);
        async_open(after, algorithm, fd);
        g_assert_cmpmem(&after->arrival, sizeof(Arrival), &before->arrival, sizeof(Arrival));
        learned = async_play(after, 9, 20, &n_stale);
        g_assert_cmpuint(learned.sha256[0] | learned.sha256[1] | learned.sha256[2], !=, 0);
        g_assert_cmpmem(learned.sha256, 32, expected.sha256, 32);
        g_assert_cmpmem(&learned.statistics, sizeof(Statistics), &expected.statistics, sizeof(Statistics));

        (void) close(fd);
        bed_close(&whole->bed);
        bed_close(&before->bed);
        bed_close(&after->bed);
}

/* The actors of a checkpoint must be able to go on: states, banks and versions are checked before they are
 * used. */
static void test_overlap_damage(void) {
        g_autofree Async *async = g_new0(Async, 1), *again = g_new0(Async, 1);
        const PolicyLayout *layout = &async->bed.page.policy;
        unsigned n_stale = 0;
        uint8_t *bank;

        async_open(async, "impala", -1);
        async_play(async, 0, 6, &n_stale);
        async_open(again, "impala", -1);
        for (unsigned k = 0; k < 11; k++) {
                Arrival kept = async->arrival;
                Flight *flight = &async->arrival.flights[3];
                uint64_t version = async->bed.learner->policy_version, ordinal = async->ordinals[2];
                PolicyHead head;
                float weight;
                int fd, silenced;

                g_assert_true(arrival_acts(&async->arrival, 3));
                bank = (uint8_t *) async->bed.policy + flight->policy_bank * layout->bank_bytes;
                memcpy(&head, bank, sizeof(head));
                memcpy(&weight, bank + layout->parameters_at, sizeof(weight));
                switch (k) {
                case 1: flight->state = 77; break;
                case 2: flight->policy_bank = 1000; break;
                case 3: flight->policy_version++; break;
                case 4: async->arrival.policy_bank = 6; break;
                case 5: ((PolicyHead *) bank)->epsilon = NAN; break;
                case 6: ((PolicyHead *) bank)->observation_clip = -1; break;
                case 7: *(float *) (bank + layout->parameters_at) = INFINITY; break;
                /* Streams are numbered by versions, invocations and episodes, and there are 2^40 of each. */
                case 8: async->bed.learner->policy_version = UINT64_C(1) << 40; break;
                case 9: async->ordinals[2] = UINT64_C(1) << 40; break;
                /* An actor writes this number, so the file is not refused: all slots begin anew. */
                case 10:
                        segment_snapshot(
                                        async->bed.segments[1], &async->bed.page.segment, async->banks[1], 2)
                                        ->episode = UINT64_C(1) << 40;
                        break;
                }
                fd = async_checkpoint(async, 6);
                again->bed.learner->context.checkpoint_fd = fd;
                silenced = silence();
                g_assert_cmpuint(bed_order(&again->bed, (Order){ .kind = ORDER_RESTORE }).fault, ==,
                                k == 0 || k == 10 ? FAULT_NONE : FAULT_CHECKPOINT);
                unsilence(silenced);
                (void) close(fd);
                async->arrival = kept;
                async->bed.learner->policy_version = version;
                async->ordinals[2] = ordinal;
                memcpy(bank, &head, sizeof(head));
                memcpy(bank + layout->parameters_at, &weight, sizeof(weight));
        }
        bed_close(&async->bed);
        bed_close(&again->bed);
}

/* The job goes on from a damaged file that was accepted. Its rollouts may be refused and its numbers may
 * overflow, but each update has a bank to write to. */
static void damaged_play(Async *async) {
        const PolicyLayout *layout = &async->bed.page.policy;
        uint64_t version = async->bed.learner->policy_version;
        Answer answer;

        async->arrival = async->bed.worker.arrival;
        for (uint32_t k = 0; k < 4; k++) {
                Flight flight;
                uint32_t actor;

                arrival_begin(&async->arrival, &async->bed.settings, 4, version);
                actor = arrival_next(&async->arrival, &async->bed.settings, 48);
                g_assert_cmpuint(actor, <, 4);
                flight = async->arrival.flights[actor];
                async_fill(async, actor);
                learner_obey(async->bed.learner,
                                &(Order){ .kind = ORDER_TAKE,
                                                .actor = actor,
                                                .policy_version = flight.policy_version,
                                                .policy_bank = (uint32_t) flight.policy_bank },
                                &answer);
                if (answer.fault != FAULT_NONE) {
                        g_assert_cmpuint(answer.fault, !=, FAULT_INTERNAL);
                        return;
                }
                async->arrival.policy_bank = arrival_bank(&async->arrival, 4, layout->n_banks);
                learner_obey(async->bed.learner,
                                &(Order){ .kind = ORDER_LEARN,
                                                .round = k + 1,
                                                .policy_bank = (uint32_t) async->arrival.policy_bank,
                                                .n_actors = 1 },
                                &answer);
                if (answer.fault != FAULT_NONE) {
                        g_assert_cmpuint(answer.fault, ==, FAULT_NUMERIC);
                        return;
                }
                version = answer.policy_version;
                (void) arrival_take(&async->arrival, actor, 1000, 1000);
        }
}

/* Draws a place in the file whose bit is flipped. kind 0: among the numbers, which begin behind the header
 * and end with the actors' states; 1: among the banks, which end the file; 2: anywhere. */
static gsize flip_place(
                GRand *rand, unsigned kind, gsize header, gsize flights_end, gsize banks, gsize end) {
        const gsize least[] = { header, banks, 0 }, most[] = { flights_end, end, end };

        return (gsize) g_rand_int_range(rand, (gint32) least[kind], (gint32) most[kind]);
}

static void flips_try(Async *again, const char *content, gsize n, bool whole, unsigned *ret_accepted) {
        int fd = memfd_create("checkpoint", MFD_CLOEXEC);

        g_assert_cmpint(write(fd, content, n), ==, n);
        again->bed.learner->context.checkpoint_fd = fd;
        if (bed_order(&again->bed, (Order){ .kind = ORDER_RESTORE }).fault == FAULT_NONE) {
                g_assert_true(whole);
                (*ret_accepted)++;
                damaged_play(again);
        }
        (void) close(fd);
}

static void test_overlap_flips(void) {
        g_autofree Async *async = g_new0(Async, 1), *again = g_new0(Async, 1);
        g_autoptr(GRand) rand = g_rand_new_with_seed(12);
        const PolicyLayout *layout = &async->bed.page.policy;
        g_autofree char *content = NULL;
        unsigned n_stale = 0, n_accepted = 0;
        gsize header = 0, flights_end, banks, n;
        struct stat st;
        int fd, kept;

        async_open(async, "impact", -1);
        async_play(async, 0, 6, &n_stale);
        fd = async_checkpoint(async, 6);
        g_assert_cmpint(fstat(fd, &st), ==, 0);
        n = (gsize) st.st_size;
        content = g_malloc(n);
        g_assert_cmpint(pread(fd, content, n, 0), ==, n);
        memcpy(&header, content, sizeof(uint64_t));
        header += 8;
        flights_end = (gsize) g_ascii_strtoull(
                        strchr(strstr(strstr(content + 8, "\"actors.flights\""), "data_offsets"), ',') + 1,
                        NULL, 10);
        banks = n - layout->n_banks * layout->bank_bytes;

        async_open(again, "impact", -1);
        kept = silence();
        for (unsigned i = 0; i < 3000; i++) {
                g_autofree char *damaged = g_memdup2(content, n);

                for (int k = g_rand_int_range(rand, 1, 4); k > 0; k--)
                        damaged[flip_place(rand, i % 3, header, header + flights_end, banks, n)] ^=
                                        (char) (1 << g_rand_int_range(rand, 0, 8));
                flips_try(again, damaged, n, true, &n_accepted);
                flips_try(again, content, (gsize) g_rand_int_range(rand, 0, (gint32) n), false, &n_accepted);
        }
        unsilence(kept);
        g_test_message("%u of 3000 damaged files were accepted", n_accepted);

        (void) close(fd);
        bed_close(&async->bed);
        bed_close(&again->bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/overlap/impala", "impala", test_overlap);
        g_test_add_data_func("/overlap/impact", "impact", test_overlap);
        g_test_add_data_func("/overlap/a2c", "a2c", test_overlap);
        g_test_add_func("/overlap/damage", test_overlap_damage);
        g_test_add_func("/overlap/flips", test_overlap_flips);
        return g_test_run();
}
