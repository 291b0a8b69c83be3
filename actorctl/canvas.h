/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A picture in memory, and the painting of shapes on it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"

typedef struct Canvas {
        uint32_t width, height; /* both even, which video codecs ask for */
        uint8_t *pixels;        /* red, green, blue; rows from the top */
} Canvas;

static inline size_t canvas_bytes(const Canvas *canvas) {
        return (size_t) 3 * canvas->width * canvas->height;
}

/* Of the view's shape, and of about the same number of pixels whatever that is. */
Canvas *canvas_new(const ActordView *view);
/* For a frame: small ones a whole number of times larger, so that they can be seen, and never larger than a view's. */
Canvas *canvas_new_of(const ActordFrame *frame);
Canvas *canvas_free(Canvas *canvas);

/* Of the same size or another: in the upper left corner, and cut where it is larger. */
void canvas_copy(Canvas *canvas, const ActordFrame *frame, const uint8_t *pixels);

/* Everything anew: the view's middle in the picture's, as large as fits. Edges are smooth: a pixel takes the share of colour that the
 * distance of its middle from the shape's edge says. view->n_shapes of them. */
void canvas_paint(Canvas *canvas, const ActordView *view, const ActordShape *shapes);
