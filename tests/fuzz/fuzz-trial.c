/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds any bytes to the reader of a trial's output, since the trial's process runs a stranger's plugin. The
 * reader must refuse a row, or the row can be counted, printed and painted. The first byte chooses the
 * request; the rest comes through the pipe. If the byte after it is 0xff, the rows begin with a whole SPEC,
 * which random bytes would seldom contain. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actorctl/recording/canvas.h"
#include "actorctl/trial.h"
#include "lib/slot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIXELS_TRIED = 64, SHAPES_TRIED = 4, SPEC_NEXT = 0xff };

typedef struct Seen {
        const TrialRequest *request;
        TrialSpec spec;
        double sum;
        unsigned n_painted;
} Seen;

static void take_numbers(Seen *seen, const TrialRow *row) {
        uint64_t n = space_numbers(&row->spec->spec.observation) + trial_state_numbers(row->spec);

        if (row->kind == TRIAL_STEP) {
                n -= seen->request->each_state ? 0 : trial_state_numbers(row->spec);
                n += space_numbers(&row->spec->spec.action);
        }
        for (uint64_t i = 0; i < n; i++)
                seen->sum += row->numbers[i];
}

static void take_shapes(Seen *seen, const TrialRow *row) {
        Canvas *canvas;

        if (seen->n_painted++ > 0 || row->n_shapes > SHAPES_TRIED)
                return;
        canvas = canvas_new(row->head);
        canvas_paint(canvas, row->head, row->shapes);
        (void) canvas_free(canvas);
}

static void take_frame(Seen *seen, const TrialRow *row) {
        const ActordFrame *frame = row->head;
        Canvas *canvas;

        for (size_t i = 0; i < frame_bytes(frame); i++)
                seen->sum += row->pixels[i];
        if (seen->n_painted++ > 0 || frame->width > PIXELS_TRIED || frame->height > PIXELS_TRIED)
                return;
        canvas = canvas_new_of(frame);
        canvas_copy(canvas, frame, row->pixels);
        (void) canvas_free(canvas);
}

static void take(const TrialRow *row, void *userdata) {
        Seen *seen = userdata;

        g_assert(row->kind < _TRIAL_RECORD_MAX);
        switch (row->kind) {
        case TRIAL_SPEC:
                memcpy(&seen->spec, row->head, sizeof(seen->spec));
                g_assert_cmpint(spec_check(&seen->spec.spec, NULL), ==, 0);
                g_assert_nonnull(memchr(seen->spec.spec.name, 0, sizeof(seen->spec.spec.name)));
                break;
        case TRIAL_RESET:
        case TRIAL_STEP: take_numbers(seen, row); break;
        case TRIAL_POINT: g_assert(((const TrialPoint *) row->head)->point < _TRIAL_POINT_MAX); break;
        case TRIAL_RATE: seen->sum += ((const TrialRate *) row->head)->steps_per_second; break;
        case TRIAL_PICTURE: take_shapes(seen, row); break;
        case TRIAL_FRAME: take_frame(seen, row); break;
        case TRIAL_EPISODE: seen->sum += ((const TrialEpisode *) row->head)->episode_return; break;
        case _TRIAL_RECORD_MAX: break;
        }
}

static void append_spec(GByteArray *stream) {
        const TrialRecord record = { TRIAL_SPEC, sizeof(TrialSpec) };
        TrialSpec said = { .n_parts = 1, .parts = { { .name = "state", .n_numbers = 2 } } };

        said.spec = (ActordEnvSpec){ .name = "Trial-v0",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 2 }, -INFINITY, INFINITY },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = NAN,
                .instance_bytes = 64,
                .snapshot_bytes = 64 };
        g_byte_array_append(stream, (const guint8 *) &record, sizeof(record));
        g_byte_array_append(stream, (const guint8 *) &said, sizeof(said));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autoptr(GByteArray) stream = g_byte_array_new();
        const TrialRequest request = { .kind = size > 0 ? data[0] % _TRIAL_KIND_MAX : 0,
                .each_state = size > 0 && data[0] & 0x80,
                .n_episodes = 3 };
        Seen seen = { .request = &request };
        int fd, r;

        if (size > 1 && data[1] == SPEC_NEXT)
                append_spec(stream);
        if (size > 2)
                g_byte_array_append(stream, data + 2, (guint) (size - 2));
        fd = memfd_create("rows", MFD_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert(write(fd, stream->data, stream->len) == (ssize_t) stream->len &&
                        lseek(fd, 0, SEEK_SET) == 0);
        r = trial_rows_read(fd, &request, take, &seen);
        g_assert(r == 0 || r == -EBADMSG);
        (void) close(fd);
        return 0;
}
