/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pictures of an episode's states into a file: what was drawn as shapes is painted, thinned to what eyes and formats can use, and
 * encoded. A file appears whole or not at all. */
#pragma once

#include "actorctl/actorctl.h"
#include "actorctl/canvas.h"

/* A way to keep pictures. frame: the canvas has the size of begin's; each is shown for `seconds`. Each returns 0 or a negative errno; end is
 * called once after a begin that returned 0, whatever came in between. */
typedef struct Encoder {
        int (*begin)(const char *path, const Canvas *canvas, double seconds, void **ret);
        int (*frame)(void *encoder, const Canvas *canvas);
        int (*end)(void *encoder);
} Encoder;

extern const Encoder encoder_gif, encoder_png, encoder_video;

typedef struct Recording Recording;

/* Whether one was asked for: --video, --gif or --frames. */
bool recording_wanted(const Options *options);

/* STATUS_OK; STATUS_USAGE after having said what cannot be. */
ExitStatus recording_new(const Options *options, Recording **ret);
Recording *recording_free(Recording *recording); /* not ended: nothing is left of it */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recording, recording_free)

/* The next state of an episode; that an episode has ended with the last one. Errors are kept for the end. */
void recording_state(Recording *recording, const ActordView *view, const ActordShape *shapes);
void recording_frame(Recording *recording, const ActordFrame *frame, const uint8_t *pixels);
void recording_episode_end(Recording *recording);

typedef struct RecordingFacts {
        const char *path;
        uint64_t n_pictures;
        uint32_t width, height;
        double pictures_per_second;
} RecordingFacts;

/* The file gets its name. STATUS_OK; else after having said why there is none. facts->path stays the recording's. */
ExitStatus recording_end(Recording *recording, RecordingFacts *ret);
/* A line about it on standard error. */
void recording_print(const RecordingFacts *facts);
