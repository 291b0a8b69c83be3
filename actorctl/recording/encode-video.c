/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes MP4 with the program ffmpeg, which reads raw pictures from a pipe and prints its errors to standard
 * error. */
#include <errno.h>
#include <gio/gio.h>
#include <math.h>
#include <signal.h>

#include "actorctl/recording/recording.h"

typedef struct Video {
        GSubprocess *process;
        GOutputStream *pipe; /* to ffmpeg's standard input */
} Video;

static int video_begin(const char *path, const Canvas *canvas, double seconds, void **ret) {
        g_autofree char *size = g_strdup_printf("%ux%u", canvas->width, canvas->height);
        g_autofree char *rate = g_strdup_printf("1000000/%.0f", round(seconds * 1e6));
        /* otherwise a name that begins with "-" is an option, and one with a colon names a protocol */
        g_autofree char *file = g_strconcat("file:", path, NULL);
        const char *argv[] = { "ffmpeg", "-loglevel", "error", "-xerror", "-f", "rawvideo", "-pix_fmt",
                "rgb24", "-video_size", size, "-framerate", rate, "-i", "pipe:0", "-an", "-pix_fmt",
                "yuv420p", "-movflags", "+faststart", "-f", "mp4", "-y", file, NULL };
        g_autoptr(GError) error = NULL;
        Video *video;

        /* If ffmpeg ends early, the next write must fail with EPIPE. */
        (void) signal(SIGPIPE, SIG_IGN);
        video = g_new0(Video, 1);
        video->process = g_subprocess_newv(argv, G_SUBPROCESS_FLAGS_STDIN_PIPE, &error);
        if (!video->process) {
                complain("ffmpeg cannot be started: %s", error->message);
                g_free(video);
                return -ENOEXEC;
        }
        video->pipe = g_subprocess_get_stdin_pipe(video->process);
        *ret = video;
        return 0;
}

static int video_frame(void *encoder, const Canvas *canvas) {
        Video *video = encoder;

        return g_output_stream_write_all(video->pipe, canvas->pixels, canvas_bytes(canvas), NULL, NULL, NULL)
                               ? 0
                               : -EPIPE;
}

static int video_end(void *encoder) {
        Video *video = encoder;
        int r = 0;

        (void) g_output_stream_close(video->pipe, NULL, NULL);
        if (!g_subprocess_wait_check(video->process, NULL, NULL)) {
                complain("ffmpeg did not make a video; its messages are above");
                r = -EIO;
        }
        g_object_unref(video->process);
        g_free(video);
        return r;
}

const Encoder encoder_video = { video_begin, video_frame, video_end };
