/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A picture in memory, and functions that paint shapes on it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"

typedef struct Canvas {
        uint32_t width, height; /* both are even, since video codecs require that */
        uint8_t *pixels;        /* red, green, blue; rows from the top down */
} Canvas;

static inline size_t canvas_bytes(const Canvas *canvas) {
        return (size_t) 3 * canvas->width * canvas->height;
}

/* A canvas with the view's proportions and about the same number of pixels for all views, unless the
 * proportions are extreme. */
Canvas *canvas_new(const ActordView *view);
/* A canvas for a frame. A small frame is enlarged by a whole factor, so that people can see it, but not
 * beyond the size that canvas_new() gives. */
Canvas *canvas_new_of(const ActordFrame *frame);
Canvas *canvas_free(Canvas *canvas);

/* Paints a frame of any size, enlarged as for canvas_new_of(), into the upper left corner, and cuts it if it
 * is larger. The rest becomes black. */
void canvas_copy(Canvas *canvas, const ActordFrame *frame, const uint8_t *pixels);

/* Paints the whole picture again. The view is centred, and as large as fits. Edges are smooth: a pixel's
 * share of the shape's colour depends on the distance of its middle from the shape's edge. shapes:
 * view->n_shapes of them. */
void canvas_paint(Canvas *canvas, const ActordView *view, const ActordShape *shapes);
