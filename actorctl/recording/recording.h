/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes pictures of an episode's states into a file. The shapes that an environment draws become pixels.
 * Viewers and formats limit the number of pictures, so some are left out. The file appears whole or not at
 * all. */
#pragma once

#include "actorctl/actorctl.h"
#include "actorctl/recording/canvas.h"

/* An encoder. frame(): the canvas has the size that begin() was given, and is shown for `seconds`. Each
 * function returns 0 or a negative errno. end() is called once after a successful begin(), whatever happens
 * in between. */
typedef struct Encoder {
        int (*begin)(const char *path, const Canvas *canvas, double seconds, void **ret);
        int (*frame)(void *encoder, const Canvas *canvas);
        int (*end)(void *encoder);
} Encoder;

extern const Encoder encoder_gif, encoder_png, encoder_video;

typedef struct Recording Recording;

/* Whether the user asked for a recording: --video, --gif or --frames. */
bool recording_wanted(const Options *options);

/* Makes the recording that the options ask for. STATUS_OK; or STATUS_USAGE or STATUS_FAILED, with a
 * message. */
ExitStatus recording_new(const Options *options, Recording **ret);
Recording *recording_free(Recording *recording); /* without recording_end() no file remains */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recording, recording_free)

/* Adds the next state of an episode, or ends the episode with its last state. Errors are kept for
 * recording_end(). */
void recording_state(Recording *recording, const ActordView *view, const ActordShape *shapes);
void recording_frame(Recording *recording, const ActordFrame *frame, const uint8_t *pixels);
void recording_episode_end(Recording *recording);

typedef struct RecordingFacts {
        const char *path;
        uint64_t n_pictures;
        uint32_t width, height;
        double pictures_per_second;
} RecordingFacts;

/* Gives the file its name. STATUS_OK; or another status, with a message about why there is no file.
 * facts->path belongs to the recording. */
ExitStatus recording_end(Recording *recording, RecordingFacts *ret);
/* Prints a line about the recording to standard error. */
void recording_print(const RecordingFacts *facts);
