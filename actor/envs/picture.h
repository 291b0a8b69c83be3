/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shapes for draw(). Functions are inline, so that a module that is linked alone contains them. Colours use
 * only the steps 00, 33, 66, 99, cc and ff, which a GIF shows exactly. */
#pragma once

#include <string.h>

#include "include/actord/env.h"

#define COLOUR_PAPER  0xffffffu
#define COLOUR_INK    0x333333u
#define COLOUR_GREY   0x999999u
#define COLOUR_PALE   0xccccccu
#define COLOUR_WOOD   0xcc9966u
#define COLOUR_SHADE  0x996633u
#define COLOUR_BLUE   0x336699u
#define COLOUR_RED    0xcc3333u
#define COLOUR_GREEN  0x66cc66u
#define COLOUR_GRASS  0x339933u
#define COLOUR_SKY    0x99ccffu
#define COLOUR_YELLOW 0xffcc33u
#define COLOUR_FLAME  0xff6633u
#define COLOUR_PURPLE 0x9966ccu

typedef struct Picture {
        ActordView *view;
        ActordShape *shapes;
} Picture;

/* Shapes beyond ACTORD_SHAPES_MAX are not drawn. */
static inline void picture_polygon(
                Picture *p, const double (*points)[2], uint32_t n, double radius, uint32_t colour) {
        ActordShape *shape;

        if (p->view->n_shapes >= ACTORD_SHAPES_MAX || n < 1 || n > ACTORD_SHAPE_POINTS)
                return;
        shape = &p->shapes[p->view->n_shapes++];
        *shape = (ActordShape){ .colour = colour, .n_points = n, .radius = radius };
        memcpy(shape->points, points, n * sizeof(*points));
}

static inline void picture_disc(Picture *p, double x, double y, double radius, uint32_t colour) {
        picture_polygon(p, (const double[][2]){ { x, y } }, 1, radius, colour);
}

static inline void picture_line(
                Picture *p, double x0, double y0, double x1, double y1, double radius, uint32_t colour) {
        picture_polygon(p, (const double[][2]){ { x0, y0 }, { x1, y1 } }, 2, radius, colour);
}

static inline void picture_box(
                Picture *p, double left, double bottom, double right, double top, uint32_t colour) {
        picture_polygon(p,
                        (const double[][2]){
                                        { left, bottom }, { right, bottom }, { right, top }, { left, top } },
                        4, 0, colour);
}

static inline Picture picture_begin(ActordView *view, ActordShape *shapes, double left, double bottom,
                double right, double top, double step_seconds, uint32_t background) {
        *view = (ActordView){ .left = left,
                .bottom = bottom,
                .right = right,
                .top = top,
                .step_seconds = step_seconds,
                .background = background };
        return (Picture){ view, shapes };
}
