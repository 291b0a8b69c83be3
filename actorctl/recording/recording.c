/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns states into the pictures of a recording. A recording runs at the speed of the task's own time, but
 * shows no picture longer than a second. It keeps every k-th step, so that a second has at most
 * PER_SECOND_MAX pictures: viewers of GIFs cannot show more. The last state of an episode is always
 * shown. */
#include "actorctl/recording/recording.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/slot.h"

#define PER_SECOND_MAX     50.0
#define PER_SECOND_UNTIMED 30.0 /* for a task whose steps have no duration */
#define PICTURES_MAX       UINT64_C(20000)

struct Recording {
        const Encoder *encoder;
        char *path, *aside; /* aside: the file's temporary path; NULL: the file has its final path */
        bool folder;
        void *encoding;
        Canvas *canvas;
        double seconds; /* the duration of a picture */
        uint64_t every, n_steps, n_pictures;
        bool pending; /* no picture shows the newest state yet */
        bool full;
        int error;
        ActordView view;
        ActordShape *shapes;
        ActordFrame frame; /* a picture from the environment instead of shapes; width 0: there is none */
        uint8_t *pixels;
};

bool recording_wanted(const Options *options) {
        return options->video || options->gif || options->frames;
}

static ExitStatus check(const Options *options, const char *path) {
        struct stat st;

        if (!!options->video + !!options->gif + !!options->frames > 1) {
                complain("only one of --video, --gif and --frames can be used");
                return STATUS_USAGE;
        }
        if (!path[0]) {
                complain("the name of a recording must not be empty");
                return STATUS_USAGE;
        }
        if (options->video && !g_str_has_suffix(path, ".mp4")) {
                complain("--video=%s: the name must end in .mp4", path);
                return STATUS_USAGE;
        }
        if (options->video) {
                g_autofree char *ffmpeg = g_find_program_in_path("ffmpeg");

                if (!ffmpeg) {
                        complain("--video needs the program ffmpeg, which is not installed: install it, or "
                                 "record with --gif=FILE.gif or --frames=DIRECTORY");
                        return STATUS_FAILED;
                }
        }
        if (options->frames ? lstat(path, &st) >= 0 : stat(path, &st) >= 0 && S_ISDIR(st.st_mode)) {
                complain(options->frames ? "--frames=%s: this directory exists already; name a new one"
                                         : "%s is a directory; name a file",
                                path);
                return STATUS_USAGE;
        }
        return options->frames || may_replace(path) ? STATUS_OK : STATUS_USAGE;
}

ExitStatus recording_new(const Options *options, Recording **ret) {
        const char *gif = options->gif ?: options->frames, *path = options->video ?: gif;
        g_autoptr(Recording) recording = g_new0(Recording, 1);
        ExitStatus status;
        int fd;

        assert(path);

        status = check(options, path);
        if (status != STATUS_OK)
                return status;

        recording->path = g_strdup(path);
        while (options->frames && strlen(recording->path) > 1 && g_str_has_suffix(recording->path, "/"))
                recording->path[strlen(recording->path) - 1] = '\0';
        recording->encoder = options->video ? &encoder_video : &encoder_png;
        if (options->gif)
                recording->encoder = &encoder_gif;
        recording->folder = options->frames != NULL;
        recording->shapes = g_new(ActordShape, ACTORD_SHAPES_MAX);
        recording->aside = g_strconcat(recording->path, ".XXXXXX", NULL);
        if (recording->folder)
                fd = g_mkdtemp_full(recording->aside, 0777) ? 0 : -1;
        else
                fd = g_mkstemp_full(recording->aside, O_RDWR | O_CLOEXEC, 0666);
        if (fd < 0) {
                complain("%s cannot be made: %s", recording->path, g_strerror(errno));
                g_clear_pointer(&recording->aside, g_free);
                return STATUS_FAILED;
        }
        if (!recording->folder)
                (void) close(fd);
        *ret = g_steal_pointer(&recording);
        return STATUS_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
        return remove(path);
}

Recording *recording_free(Recording *recording) {
        if (!recording)
                return NULL;

        if (recording->encoding)
                (void) recording->encoder->end(recording->encoding);
        if (recording->aside)
                (void) nftw(recording->aside, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        (void) canvas_free(recording->canvas);
        g_free(recording->pixels);
        g_free(recording->shapes);
        g_free(recording->aside);
        g_free(recording->path);
        g_free(recording);
        return NULL;
}

/* The first picture decides the size and rate of all pictures. */
static void begin(Recording *r, double step_seconds, Canvas *canvas) {
        r->every = 1;
        r->seconds = 1 / PER_SECOND_UNTIMED;
        if (step_seconds > 0) {
                r->every = (uint64_t) fmax(1, ceil(fmin(1 / PER_SECOND_MAX / step_seconds, 1e9) - 1e-9));
                r->seconds = fmin((double) r->every * step_seconds, 1);
        }
        r->canvas = canvas;
        r->error = r->encoder->begin(r->aside, r->canvas, r->seconds, &r->encoding);
}

static void show(Recording *r) {
        r->pending = false;
        if (r->error < 0 || r->full)
                return;
        if (r->n_pictures >= PICTURES_MAX) {
                r->full = true;
                return;
        }
        if (r->frame.width > 0)
                canvas_copy(r->canvas, &r->frame, r->pixels);
        else
                canvas_paint(r->canvas, &r->view, r->shapes);
        r->error = r->encoder->frame(r->encoding, r->canvas);
        r->n_pictures++;
}

static void next(Recording *r) {
        r->pending = true;
        if (r->n_steps++ % r->every == 0)
                show(r);
}

void recording_state(Recording *r, const ActordView *view, const ActordShape *shapes) {
        if (!r->canvas)
                begin(r, view->step_seconds, canvas_new(view));
        r->view = *view;
        memcpy(r->shapes, shapes, view->n_shapes * sizeof(*shapes));
        next(r);
}

void recording_frame(Recording *r, const ActordFrame *frame, const uint8_t *pixels) {
        size_t n = frame_bytes(frame);

        if (!r->canvas)
                begin(r, frame->step_seconds, canvas_new_of(frame));
        r->frame = *frame;
        r->pixels = g_realloc(r->pixels, n);
        memcpy(r->pixels, pixels, n);
        next(r);
}

void recording_episode_end(Recording *r) {
        if (r->pending)
                show(r);
        r->n_steps = 0;
}

ExitStatus recording_end(Recording *r, RecordingFacts *ret) {
        int error = 0;

        if (r->pending)
                show(r);
        if (r->encoding)
                error = r->encoder->end(r->encoding);
        r->encoding = NULL;
        error = r->error < 0 ? r->error : error;
        if (error >= 0 && r->n_pictures == 0)
                error = -ENODATA;
        if (error >= 0 && rename(r->aside, r->path) < 0)
                error = -errno;
        if (error < 0) {
                complain("%s cannot be written: %s", r->path, g_strerror(-error));
                return STATUS_FAILED;
        }
        g_clear_pointer(&r->aside, g_free);
        if (r->full)
                complain("%s ends after %" G_GUINT64_FORMAT " pictures, the most that a recording may "
                         "have",
                                r->path, r->n_pictures);
        *ret = (RecordingFacts){
                .path = r->path,
                .n_pictures = r->n_pictures,
                .width = r->canvas->width,
                .height = r->canvas->height,
                .pictures_per_second = 1 / r->seconds,
        };
        return STATUS_OK;
}

void recording_print(const RecordingFacts *facts) {
        fprintf(stderr, "%s: %" G_GUINT64_FORMAT " pictures of %ux%u, %.4g a second\n", facts->path,
                        facts->n_pictures, facts->width, facts->height, facts->pictures_per_second);
}
