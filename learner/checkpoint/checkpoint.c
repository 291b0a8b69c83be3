/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One file holds everything that a job keeps outside of its daemon. It is written under another name,
 * synced, read back and renamed, so that a file with the final name is always complete. The daemon decides
 * which checkpoint counts, and removes old ones.
 *
 * A new tensor needs a new format: raise CHECKPOINT_FORMAT_NEWEST (lib/checkpoint/checkpoint.h) and list the
 * tensor only if list->format is that number or higher. A checkpoint that lacks a listed tensor is refused,
 * so without this condition all older checkpoints would be useless. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/launch.h"
#include "learner/learner.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/fragment.h"
#include "lib/settings/print.h"

#define PARTIAL_NAME  ".checkpoint.partial"
#define RESERVE_SPARE 4096u /* for numbers in the metadata, whose digits grow until the job's end */

enum {
#define X(name, unit) _STATISTIC_##name,
        STATISTICS(X)
#undef X
                        N_STATISTICS,
};
static_assert(offsetof(Statistics, n_env_steps) == N_STATISTICS * sizeof(double),
                "the doubles of Statistics are an array");

typedef struct TensorList {
        TensorRow *rows;
        size_t n;
        unsigned format;
} TensorList;

static TensorRow *tensor_add(TensorList *list, const char *name, const char *dtype, void *data, uint64_t n) {
        TensorRow *row = &list->rows[list->n++];

        assert(list->n <= SAFETENSORS_ENTRIES_MAX);

        *row = (TensorRow){ .dtype = dtype, .n_dims = 1, .shape = { n }, .data = data };
        (void) snprintf(row->name, sizeof(row->name), "%s", name);
        return row;
}

/* Adds a tensor that belongs to the policy's network, such as a moment of Adam; the format decides its
 * name. */
static void policy_tensor_add(
                TensorList *list, const char *name, const char *dtype, void *data, uint64_t n) {
        char whole[TENSOR_NAME_MAX];

        checkpoint_tensor_name(list->format, NETWORK_POLICY, name, whole);
        tensor_add(list, whole, dtype, data, n);
}

static void list_numbers(TensorList *list, Learner *l) {
        EpisodeStatistics *episodes = l->episodes;
        Adam *net = l->runtime->nets[NET_POLICY];

        tensor_add(list, "round", "I64", &l->round, 1);
        tensor_add(list, "policy_version", "I64", &l->policy_version, 1);
        tensor_add(list, "n_env_steps", "I64", &episodes->n_env_steps, 1);
        tensor_add(list, "n_episodes", "I64", &episodes->n_episodes, 1);
        policy_tensor_add(list, "adam.step", "I64", &net->step, 1);
        tensor_add(list, "actors.ordinals", "I64", l->context.worker->ordinals, l->batch->n_actors_max);
        tensor_add(list, "slots.elapsed_steps", "I64", episodes->elapsed_steps, episodes->n_slots);
        tensor_add(list, "slots.running_return", "F64", episodes->running_return, episodes->n_slots);
        tensor_add(list, "slots.discounted_return", "F64", episodes->discounted_return, episodes->n_slots);
        tensor_add(list, "episodes.returns", "F64", episodes->returns, EPISODES_KEPT);
        tensor_add(list, "statistics", "F64", &l->statistics, N_STATISTICS);
        tensor_add(list, "algorithm.state", "F64", l->runtime->state, ALGORITHM_STATE_MAX);
        tensor_add(list, "observation.count", "F64", &l->observation->count, 1);
        tensor_add(list, "observation.mean", "F64", l->observation->mean, l->observation->n);
        tensor_add(list, "observation.m2", "F64", l->observation->m2, l->observation->n);
        tensor_add(list, "discounted.count", "F64", &l->discounted->count, 1);
        tensor_add(list, "discounted.mean", "F64", l->discounted->mean, 1);
        tensor_add(list, "discounted.m2", "F64", l->discounted->m2, 1);
}

/* For rounds that overlap, adds the list of the actors that act, and their policy versions. Unfinished
 * rollouts are not stored: their orders are sent again, with the same results. */
static void list_flights(TensorList *list, Learner *l) {
        Arrival *arrival = &l->context.worker->arrival;
        TensorRow *row;

        tensor_add(list, "arrival.free_nsec", "I64", &arrival->free_nsec, 1);
        tensor_add(list, "arrival.policy_bank", "I64", &arrival->policy_bank, 1);
        row = tensor_add(list, "actors.flights", "I64", arrival->flights, l->batch->n_actors_max);
        row->n_dims = 2;
        row->shape[1] = sizeof(Flight) / sizeof(uint64_t);
}

static void list_banks(TensorList *list, Learner *l) {
        const PolicyLayout *layout = &l->context.page->policy;
        TensorRow *row = tensor_add(list, "policy.banks", "U8", l->context.policy, layout->n_banks);

        row->n_dims = 2;
        row->shape[1] = layout->bank_bytes;
}

static void list_parameters(TensorList *list, Learner *l, Net net) {
        char name[NET_NAME_MAX];

        algorithm_net_name(l->context.settings->algorithm, net, name);
        list->n += checkpoint_network_rows(list->format, name, l->runtime->networks[net],
                        l->runtime->nets[net]->parameters, list->rows + list->n);
}

/* Format 1 had all parameters of a target network in one tensor. */
static void list_target(TensorList *list, Learner *l) {
        const Adam *target = l->runtime->nets[NET_TARGET];

        if (target && list->format >= 2)
                list_parameters(list, l, NET_TARGET);
        else if (target)
                tensor_add(list, "target.parameters", "F32", target->parameters, target->n);
}

static void list_moments(TensorList *list, Learner *l) {
        Adam *net = l->runtime->nets[NET_POLICY];

        policy_tensor_add(list, "adam.m", "F32", net->m, net->n);
        policy_tensor_add(list, "adam.v", "F32", net->v, net->n);
}

/* Adds a tensor of a network other than the policy. All learners have the same copy of such a network.
 * Targets have no optimiser. */
static void net_tensor_add(TensorList *list, const Learner *l, Net net, const char *name, const char *dtype,
                void *data, uint64_t n) {
        char of[NET_NAME_MAX], whole[TENSOR_NAME_MAX];

        algorithm_net_name(l->context.settings->algorithm, net, of);
        checkpoint_tensor_name(list->format, of, name, whole);
        tensor_add(list, whole, dtype, data, n);
}

static void list_beside_numbers(TensorList *list, Learner *l) {
        for (Net net = NET_OF(1); net < NETS_MAX; net += 2)
                if (l->runtime->nets[net])
                        net_tensor_add(list, l, net, "adam.step", "I64", &l->runtime->nets[net]->step, 1);
}

static void list_beside(TensorList *list, Learner *l) {
        for (Net net = NET_OF(1); net < NETS_MAX; net++) {
                Adam *adam = l->runtime->nets[net];

                if (!adam)
                        continue;
                list_parameters(list, l, net);
                if (net_is_target(net))
                        continue;
                net_tensor_add(list, l, net, "adam.m", "F32", adam->m, adam->n);
                net_tensor_add(list, l, net, "adam.v", "F32", adam->v, adam->n);
        }
}

/* The data that the algorithm keeps from round to round, sorted by the width of elements. */
static void list_store_numbers(TensorList *list, Learner *l) {
        Buffer *buffer = l->runtime->buffer;

        if (buffer) {
                tensor_add(list, "buffer.pushed", "I64", &buffer->n_pushed, 1);
                tensor_add(list, "buffer.actors", "I64", buffer->n_actors, buffer->n);
        }
        if (l->runtime->replay)
                tensor_add(list, "replay.stored", "I64", l->runtime->replay->n_stored,
                                l->runtime->replay->n_slots);
}

static void list_replay_observations(
                TensorList *list, const Replay *replay, const char *dtype, size_t element_bytes) {
        uint64_t n = replay->n_slots * replay->ring * (replay->observation_bytes / element_bytes);

        tensor_add(list, "replay.observations", dtype, replay->observations, n);
        tensor_add(list, "replay.successors", dtype, replay->successors, n);
}

static void list_store_columns(TensorList *list, Learner *l) {
        const Runtime *rt = l->runtime;
        const Buffer *buffer = rt->buffer;
        const Replay *replay = rt->replay;
        uint64_t n;

        list_target(list, l);
        if (replay) {
                n = replay->n_slots * replay->ring;
                if (!replay->images)
                        list_replay_observations(list, replay, "F32", sizeof(float));
                tensor_add(list, "replay.rewards", "F32", replay->rewards, n);
                if (replay->actions)
                        tensor_add(list, "replay.actions", "F32", replay->actions, n * replay->n_action);
                else
                        tensor_add(list, "replay.choices", "I32", replay->choices, n * replay->n_choices);
        }
        if (!buffer)
                return;
        n = buffer->n * l->batch->n_rows;
        tensor_add(list, "buffer.finals", "I32", buffer->n_finals,
                        (uint64_t) buffer->n * l->batch->n_blocks);
        if (!l->batch->images)
                tensor_add(list, "buffer.observations", "F32", buffer->columns.observations,
                                buffer->n * batch_block_numbers(l->batch, l->batch->n_blocks));
        tensor_add(list, "buffer.rewards", "F32", buffer->columns.scaled, n);
        tensor_add(list, "buffer.log_probabilities", "F32", buffer->columns.behaviour_log_probability, n);
        if (buffer->columns.actions)
                tensor_add(list, "buffer.actions", "F32", buffer->columns.actions, n * l->batch->n_action);
        else
                tensor_add(list, "buffer.choices", "I32", buffer->columns.choices, n * l->batch->n_choices);
}

static void list_store_bytes(TensorList *list, Learner *l) {
        const Buffer *buffer = l->runtime->buffer;

        if (buffer)
                tensor_add(list, "buffer.ends", "U8", buffer->columns.ends, buffer->n * l->batch->n_rows);
        if (buffer && l->batch->images)
                tensor_add(list, "buffer.observations", "U8", buffer->columns.pixels,
                                buffer->n * batch_block_numbers(l->batch, l->batch->n_blocks));
        if (l->runtime->replay && l->runtime->replay->images)
                list_replay_observations(list, l->runtime->replay, "U8", sizeof(uint8_t));
        if (l->runtime->replay)
                tensor_add(list, "replay.ends", "U8", l->runtime->replay->ends,
                                l->runtime->replay->n_slots * l->runtime->replay->ring);
}

static void list_snapshots(TensorList *list, Learner *l, const uint32_t *banks) {
        const SegmentLayout *layout = &l->context.page->segment;

        for (uint32_t a = 0; a < l->batch->n_actors_max; a++) {
                uint8_t *segment = l->context.segments[a];
                TensorRow *row;
                char name[64];

                (void) snprintf(name, sizeof(name), "slots.snapshots.%" PRIu32, a);
                row = tensor_add(list, name, "U8", segment + layout->snapshots_at[banks ? banks[a] & 1 : 0],
                                layout->envs / layout->agents);
                row->n_dims = 2;
                row->shape[1] = layout->snapshot_stride;
        }
}

/* Wide elements come first, so that each tensor is aligned in the file. */
size_t learner_tensors(Learner *l, unsigned format, const uint32_t *banks, TensorRow *ret) {
        bool overlap = distribution_overlaps(distribution_of(l->context.settings));
        TensorList list = { .rows = ret, .format = format };

        list_numbers(&list, l);
        if (overlap)
                list_flights(&list, l);
        list_store_numbers(&list, l);
        list_beside_numbers(&list, l);
        /* The first learner reads the policy for all; the others have it through shared memory. */
        if (l->context.learner == 0) {
                list_parameters(&list, l, NET_POLICY);
                list_moments(&list, l);
        }
        list_beside(&list, l);
        list_store_columns(&list, l);
        list_snapshots(&list, l, banks);
        list_store_bytes(&list, l);
        if (overlap)
                list_banks(&list, l);
        assert(list.n < SAFETENSORS_ENTRIES_MAX);
        return list.n;
}

size_t learner_parameters(Learner *l, TensorRow *ret) {
        TensorList list = { .rows = ret, .format = PARAMETERS_FORMAT_NEWEST };

        list_parameters(&list, l, NET_POLICY);
        return list.n;
}

/* Metadata */

typedef struct Description {
        MetadataRow rows[SAFETENSORS_METADATA_MAX];
        size_t n, n_texts;
        char texts[_SETTING_MAX + OPTIONS_MAX + 8][SETTING_TEXT_MAX];
        char keys[_SETTING_MAX + OPTIONS_MAX][64];
} Description;

static char *describe_text(Description *d, const char *key) {
        char *text = d->texts[d->n_texts++];

        d->rows[d->n++] = (MetadataRow){ key, text };
        return text;
}

static void describe_settings(Description *d, const JobSettings *settings) {
        for (int i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);

                (void) snprintf(d->keys[i], sizeof(d->keys[i]), "%s.%s", row->section, row->key);
                (void) setting_print(settings, i, describe_text(d, d->keys[i]));
        }
        for (uint32_t i = 0; i < settings->n_options && i < OPTIONS_MAX; i++) {
                char *key = d->keys[_SETTING_MAX + i];

                (void) snprintf(key, sizeof(d->keys[0]), "Environment.%.32s", settings->options[i].key);
                (void) snprintf(describe_text(d, key), SETTING_TEXT_MAX, "%.224s",
                                settings->options[i].value);
        }
}

static void describe_digests(Description *d, const Learner *l, const uint8_t state_sha256[32]) {
        uint8_t sha256[32];

        learner_hash_policy(l, sha256);
        sha256_print(sha256, describe_text(d, METADATA_POLICY_SHA256));
        sha256_print(state_sha256, describe_text(d, METADATA_STATE_SHA256));
}

static void describe(Description *d, const Learner *l, const uint8_t state_sha256[32]) {
        (void) snprintf(describe_text(d, METADATA_FORMAT), SETTING_TEXT_MAX, CHECKPOINT_FORMAT "%u",
                        CHECKPOINT_FORMAT_NEWEST);
        (void) snprintf(describe_text(d, METADATA_ARITHMETIC), SETTING_TEXT_MAX, "%u", ARITHMETIC);
        d->rows[d->n++] = (MetadataRow){ METADATA_VERSION, ACTORD_VERSION };
        if (*l->arithmetic_before)
                d->rows[d->n++] = (MetadataRow){ METADATA_ARITHMETIC_BEFORE, l->arithmetic_before };
        d->rows[d->n++] = (MetadataRow){ METADATA_ENVIRONMENT, l->context.page->spec.name };
        (void) snprintf(describe_text(d, METADATA_ROUND), SETTING_TEXT_MAX, "%" PRIu64, l->round);
        (void) snprintf(describe_text(d, METADATA_POLICY), SETTING_TEXT_MAX, "%" PRIu64, l->policy_version);
        describe_digests(d, l, state_sha256);
        describe_settings(d, l->context.settings);
}

/* Reads the file again, and compares its digest with that of the bytes that were written. The content comes
 * from the disk if the kernel drops its cached copy, as it is asked to. */
static int read_back(int fd, const uint8_t expected[32]) {
        char reason[SAFETENSORS_REASON_MAX];
        _cleanup_(checkpoint_close) Checkpoint c = {};
        uint8_t sha256[32];
        int r;

        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        r = safetensors_open(fd, &c.file, reason) ?: safetensors_verify(c.file, sha256);
        if (r == -EBADMSG)
                return -EIO;
        if (r < 0)
                return r;
        return memcmp(sha256, expected, sizeof(sha256)) == 0 ? 0 : -EIO;
}

typedef struct Content {
        TensorRow *tensors; /* [SAFETENSORS_ENTRIES_MAX] */
        size_t n;
        Description *description;
} Content;

static void content_done(Content *content) {
        free(content->tensors);
        free(content->description);
}

/* banks NULL: only the size matters, and the state's digest is not computed. */
static int content_make(Learner *l, const uint32_t *banks, Content *ret) {
        uint8_t sha256[32] = {};

        *ret = (Content){ .tensors = calloc(SAFETENSORS_ENTRIES_MAX, sizeof(TensorRow)),
                .description = calloc(1, sizeof(Description)) };
        if (!ret->tensors || !ret->description)
                return -ENOMEM;
        ret->n = learner_tensors(l, CHECKPOINT_FORMAT_NEWEST, banks, ret->tensors);
        if (banks)
                learner_hash_state(ret->tensors, ret->n, sha256);
        describe(ret->description, l, sha256);
        return 0;
}

static int file_write(int fd, const Content *content, uint8_t ret_sha256[32]) {
        off_t end;
        int r;

        r = safetensors_write(fd, content->tensors, content->n, content->description->rows,
                        content->description->n, ret_sha256);
        if (r < 0)
                return r;
        end = lseek(fd, 0, SEEK_CUR);
        if (end < 0 || ftruncate(fd, end) < 0 || fsync(fd) < 0)
                return -errno;
        return read_back(fd, ret_sha256);
}

static int write_and_rename(Learner *l, int fd, const char *aside, const Content *content, const char *name,
                uint8_t ret_sha256[32]) {
        int r = file_write(fd, content, ret_sha256);

        if (r < 0)
                return r;
        return renameat(l->context.state_fd, aside, l->context.state_fd, name) < 0 ? -errno : 0;
}

/* A learner that was killed may have left a partial file. The file may belong to another user id, since a
 * job has other ids under another daemon. So it is replaced, and never overwritten. */
static int write_new(Learner *l, const Content *content, const char *name, uint8_t ret_sha256[32]) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        (void) unlinkat(l->context.state_fd, PARTIAL_NAME, 0);
        fd = openat(l->context.state_fd, PARTIAL_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0644);
        if (fd < 0)
                return -errno;
        r = write_and_rename(l, fd, PARTIAL_NAME, content, name, ret_sha256);
        if (r < 0)
                (void) unlinkat(l->context.state_fd, PARTIAL_NAME, 0);
        return r;
}

/* Writes the checkpoint over the reserved blocks, and renames the file. If this fails, the blocks stay
 * reserved for the next attempt. */
static int write_over_reserve(Learner *l, const Content *content, const char *name, uint8_t ret_sha256[32]) {
        _cleanup_close_ int fd =
                        openat(l->context.state_fd, CHECKPOINT_RESERVE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return write_and_rename(l, fd, CHECKPOINT_RESERVE, content, name, ret_sha256);
}

/* A file that an earlier learner of the job reserved under another user id cannot be opened, and is
 * replaced. */
static int open_reserve(Learner *l) {
        const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(l->context.state_fd, CHECKPOINT_RESERVE, flags, 0644);

        if (fd >= 0 || (errno != EACCES && errno != ELOOP))
                return fd;
        (void) unlinkat(l->context.state_fd, CHECKPOINT_RESERVE, 0);
        return openat(l->context.state_fd, CHECKPOINT_RESERVE, flags, 0644);
}

/* The last checkpoint of a job must not fail for lack of space, since the job may run unattended. So its
 * blocks are allocated when the job begins, and again when checkpoints grow. Only the last checkpoint is
 * written over these blocks, in place, and only if there is no other space. Until then the file's size is 0.
 * If the file system cannot allocate in advance, nothing is reserved; if it copies on write, the blocks may
 * not help. There the job waits for space at its end. It also waits if there was no space to reserve. */
static void place_reserve(Learner *l, const Content *content) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t bytes;

        if (safetensors_size(content->tensors, content->n, content->description->rows,
                            content->description->n, &bytes) < 0)
                return;
        bytes += RESERVE_SPARE;
        if (bytes <= l->reserved_bytes)
                return;
        fd = open_reserve(l);
        if (fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) bytes) >= 0) {
                l->reserved_bytes = bytes;
                return;
        }
        if (errno == ENOSPC || errno == EDQUOT)
                (void) fprintf(stderr,
                                "actord-learner: no space can be reserved for the job's last checkpoint: "
                                "%s\n",
                                strerror(errno));
        if (l->reserved_bytes == 0)
                (void) unlinkat(l->context.state_fd, CHECKPOINT_RESERVE, 0);
}

void learner_reserve_checkpoint(Learner *l) {
        _cleanup_(content_done) Content content = {};

        assert(l);

        if (l->context.learner == 0 && content_make(l, NULL, &content) >= 0)
                place_reserve(l, &content);
}

static bool is_of_space(int r) {
        return r == -ENOSPC || r == -EDQUOT;
}

static int write_somewhere(Learner *l, const Order *order, const char *name, uint8_t ret_sha256[32]) {
        _cleanup_(content_done) Content content = {};
        int r;

        r = content_make(l, l->context.worker->banks, &content);
        if (r < 0)
                return r;
        r = write_new(l, &content, name, ret_sha256);
        if (is_of_space(r) && order->last)
                r = write_over_reserve(l, &content, name, ret_sha256) == 0 ? 0 : r;
        if (r < 0)
                return r;
        if (order->last)
                (void) unlinkat(l->context.state_fd, CHECKPOINT_RESERVE, 0);
        else
                place_reserve(l, &content);
        return 0;
}

int learner_write_checkpoint(Learner *l, const Order *order, uint8_t ret_sha256[32]) {
        char name[64];
        int r;

        assert(l);
        assert(order);

        l->round = order->round;
        (void) snprintf(name, sizeof(name), CHECKPOINT_NAME, order->round);

        r = write_somewhere(l, order, name, ret_sha256);
        /* The directory is synced, too: otherwise the daemon could commit a checkpoint whose name is then
         * lost. */
        if (r == 0 && fsync(l->context.state_fd) < 0)
                r = -errno;
        /* Each reason is printed once: the last checkpoint is tried every second until it is written. */
        if (r < 0 && r != l->checkpoint_error)
                (void) fprintf(stderr,
                                "actord-learner: could not write %s into the job's state directory: %s\n",
                                name, strerror(-r));
        l->checkpoint_error = r;
        return r;
}
