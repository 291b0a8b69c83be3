/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/checkpoint-fixture.h"

#include <inttypes.h>
#include <sys/mman.h>

void place_open(Place *place) {
        place->directory = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
        place->fd = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(place->fd, >=, 0);
}

void place_close(Place *place) {
        g_autoptr(GDir) dir = g_dir_open(place->directory, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(dir)))
                (void) unlinkat(place->fd, name, 0);
        (void) g_rmdir(place->directory);
        (void) close(place->fd);
        g_free(place->directory);
}

static ActordEnvSpec some_spec(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);

        spec.horizon_steps = 9;
        return spec;
}

void open_bed(Bed *bed, const char *more, int state_fd, int checkpoint_fd) {
        g_autofree char *sections = g_strconcat(SECTIONS, more, NULL);
        ActordEnvSpec spec = some_spec();

        bed_settings("CartPole-v1", sections, &bed->settings);
        bed_open(bed, &spec, state_fd, checkpoint_fd);
}

Answer play(Bed *bed, uint64_t first, uint64_t end, uint32_t parity) {
        Answer learned = {};

        for (uint64_t round = first; round < end; round++) {
                uint32_t bank = (uint32_t) (round + parity) & 1;

                for (uint32_t a = 0; a < 2; a++) {
                        bed_fill(bed, a, bank, (uint32_t) round);
                        for (uint32_t e = 0; e < 3; e++)
                                memset(segment_snapshot_bytes(
                                                       bed->segments[a], &bed->page.segment, bank ^ 1, e),
                                                (int) (round * 6 + a * 3 + e), 64);
                        bed_take(bed, a, bank);
                }
                learned = bed_learn(bed, round, 2);
        }
        return learned;
}

int checkpoint(Bed *bed, const Place *place, uint64_t round, Answer *ret) {
        g_autofree char *name = g_strdup_printf("checkpoint-%" PRIu64 ".safetensors", round);
        int fd;

        for (uint32_t a = 0; a < 2; a++) {
                bed->worker.ordinals[a] = 100 + round + a;
                bed->worker.banks[a] = round & 1;
        }
        *ret = bed_order(bed, (Order){ .kind = ORDER_CHECKPOINT, .round = round });
        g_assert_cmpuint(ret->fault, ==, FAULT_NONE);
        fd = openat(place->fd, name, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        return fd;
}

Answer restore_from(const char *more, int fd) {
        Bed bed = {};
        Answer answer;
        int kept = silence();

        open_bed(&bed, more, -1, fd);
        answer = bed_order(&bed, (Order){ .kind = ORDER_RESTORE });
        bed_close(&bed);
        unsilence(kept);
        return answer;
}

int file_of(const char *content, gsize n) {
        int fd = memfd_create("checkpoint", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(write(fd, content, n), ==, n);
        return fd;
}

unsigned count_accepted(Bed *bed, char *content, gsize n) {
        int fd = file_of(content, n);
        unsigned accepted;

        bed->learner->context.checkpoint_fd = fd;
        accepted = bed_order(bed, (Order){ .kind = ORDER_RESTORE }).fault == FAULT_NONE;
        (void) close(fd);
        return accepted;
}
