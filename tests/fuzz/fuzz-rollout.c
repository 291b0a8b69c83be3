/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Patches a valid rollout with any bytes, since an actor may have written anything into its segment. The
 * learner refuses the rollout with a fault that names a row, or takes it and learns from it. The input is a
 * list of patches: a place of four bytes, a length of one byte, and so many bytes. */
#include "tests/unit/learner-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATCHES_MAX = 64, PLACE_BYTES = 4, HORIZON = 6 };

static const char *const sections[] = {
        "[Scaling]\nActors=1\n[Actor]\nEnvsPerActor=2\nRolloutSteps=20\n"
        "[Learner]\nHiddenLayers=4\nEpochs=1\nMinibatchSize=40\nNormalizeObservations=yes\n"
        "NormalizeRewards=yes\n",
        "[Scaling]\nActors=1\n[Actor]\nEnvsPerActor=2\nRolloutSteps=20\n"
        "[Learner]\nHiddenLayers=4\nEpochs=1\nMinibatchSize=40\nNormalizeObservations=no\n"
        "NormalizeRewards=no\n",
};

static void bed_make(unsigned kind, Bed *bed) {
        ActordEnvSpec spec = bed_spec_box(3, kind == 1 ? 0 : 2, kind == 1 ? 3 : 0);

        if (kind == 1)
                spec.observation = (ActordSpace){ .kind = ACTORD_BOX,
                        .element = ACTORD_U8,
                        .n_dims = 1,
                        .shape = { 3 },
                        .low = 0,
                        .high = 255 };
        spec.reward_low = -1;
        spec.reward_high = 1;
        spec.horizon_steps = HORIZON;
        bed_settings("CartPole-v1", sections[kind], &bed->settings);
        bed_open(bed, &spec, -1, -1);
        (void) bed_restore(bed);
}

static void patch(const uint8_t *data, size_t size, uint8_t *segment, uint64_t bytes) {
        for (unsigned i = 0; i < PATCHES_MAX && size > PLACE_BYTES; i++) {
                uint32_t at;
                size_t n;

                memcpy(&at, data, sizeof(at));
                n = MIN(MIN((size_t) data[PLACE_BYTES], size - PLACE_BYTES - 1), bytes - at % bytes);
                memcpy(segment + at % bytes, data + PLACE_BYTES + 1, n);
                data += PLACE_BYTES + 1 + n;
                size -= PLACE_BYTES + 1 + n;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Bed beds[G_N_ELEMENTS(sections)];
        unsigned kind = size > 0 ? data[0] & 1 : 0;
        Bed *bed = &beds[kind];
        const SegmentLayout *l;
        Answer answer;
        int kept;

        if (!bed->learner)
                bed_make(kind, bed);
        l = &bed->page.segment;
        memset(bed->segments[0], 0, l->segment_bytes);
        bed_fill(bed, 0, 0, 3);
        if (size > 1)
                patch(data + 1, size - 1, bed->segments[0], l->segment_bytes);
        kept = silence();
        answer = bed_order(bed, (Order){ .kind = ORDER_TAKE, .actor = 0, .snapshot_bank = 0 });
        unsilence(kept);
        g_assert(answer.fault < _FAULT_MAX);
        if (answer.fault != FAULT_NONE) {
                g_assert(answer.detail >= 0 &&
                                (uint64_t) answer.detail < (uint64_t) (l->steps + 1) * l->envs);
                return 0;
        }
        /* Numbers that passed the checks of TAKE may still be so large that the gradient overflows. Then
         * LEARN must answer FAULT_NUMERIC. */
        kept = silence();
        answer = bed_order(bed, (Order){ .kind = ORDER_LEARN, .round = 1, .n_actors = 1 });
        unsilence(kept);
        g_assert(answer.fault == FAULT_NONE || answer.fault == FAULT_NUMERIC);
        /* Closes the learner, so that the next input begins with a new one. */
        bed_close(bed);
        return 0;
}
