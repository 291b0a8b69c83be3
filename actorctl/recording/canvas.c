/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paints shapes. Each shape is the set of points within a radius of a point, a line or a polygon, so one
 * function of signed distances draws all of them. */
#include "actorctl/recording/canvas.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PIXELS     240000.0 /* 600 x 400 */
#define SIDE_MIN   64
#define SIDE_MAX   1600
#define FAR_PIXELS 1e6 /* coordinates are clipped to -FAR_PIXELS .. FAR_PIXELS before a shape is drawn */

static uint32_t side(double length) {
        return 2 * (uint32_t) (CLAMP(length, SIDE_MIN, SIDE_MAX) / 2 + 0.5);
}

Canvas *canvas_new(const ActordView *view) {
        double aspect = (view->right - view->left) / (view->top - view->bottom);
        Canvas *canvas = g_new0(Canvas, 1);

        canvas->width = side(sqrt(PIXELS * aspect));
        canvas->height = side(sqrt(PIXELS / aspect));
        canvas->pixels = g_malloc(canvas_bytes(canvas));
        return canvas;
}

static uint32_t enlarged(const ActordFrame *frame) {
        double most = SIDE_MAX / (double) MAX(frame->width, frame->height);

        return (uint32_t) fmax(1, floor(fmin(sqrt(PIXELS / frame->width / frame->height), most)));
}

Canvas *canvas_new_of(const ActordFrame *frame) {
        Canvas *canvas = g_new0(Canvas, 1);

        canvas->width = (frame->width * enlarged(frame) + 1) & ~1u;
        canvas->height = (frame->height * enlarged(frame) + 1) & ~1u;
        canvas->pixels = g_malloc(canvas_bytes(canvas));
        return canvas;
}

Canvas *canvas_free(Canvas *canvas) {
        if (!canvas)
                return NULL;

        g_free(canvas->pixels);
        g_free(canvas);
        return NULL;
}

/* Squared distance from the segment a-b. */
static double segment_distance2(const double a[2], const double b[2], double x, double y) {
        double dx = b[0] - a[0], dy = b[1] - a[1], px = x - a[0], py = y - a[1];
        double length2 = dx * dx + dy * dy;
        double t = length2 > 0 ? CLAMP((px * dx + py * dy) / length2, 0, 1) : 0;

        px -= t * dx;
        py -= t * dy;
        return px * px + py * py;
}

/* The distance from the polygon's outline, which is negative inside. A point is inside if a ray to the right
 * crosses an odd number of edges. */
static double signed_distance(const double (*p)[2], uint32_t n, double x, double y) {
        double least = INFINITY;
        bool inside = false;

        for (uint32_t i = 0, k = n - 1; i < n; k = i++) {
                least = fmin(least, segment_distance2(p[k], p[i], x, y));
                if (n > 2 && (p[i][1] > y) != (p[k][1] > y) &&
                                x < p[i][0] + (p[k][0] - p[i][0]) * (y - p[i][1]) / (p[k][1] - p[i][1]))
                        inside = !inside;
        }
        return inside ? -sqrt(least) : sqrt(least);
}

static void blend(uint8_t *pixel, uint32_t colour, double share) {
        for (int i = 0; i < 3; i++) {
                double to = colour >> (16 - 8 * i) & 0xff;

                pixel[i] = (uint8_t) (pixel[i] + (to - pixel[i]) * share + 0.5);
        }
}

/* points, radius: in pixels. */
static void paint(Canvas *canvas, const double (*points)[2], uint32_t n, double radius, uint32_t colour) {
        double low[2] = { FAR_PIXELS, FAR_PIXELS }, high[2] = { -FAR_PIXELS, -FAR_PIXELS };
        const double most[2] = { canvas->width, canvas->height };

        for (uint32_t i = 0; i < n; i++)
                for (int k = 0; k < 2; k++) {
                        low[k] = fmin(low[k], points[i][k]);
                        high[k] = fmax(high[k], points[i][k]);
                }
        for (int k = 0; k < 2; k++) {
                low[k] = CLAMP(floor(low[k] - radius - 1), 0, most[k]);
                high[k] = CLAMP(ceil(high[k] + radius + 1), 0, most[k]);
        }
        for (uint32_t y = (uint32_t) low[1]; y < (uint32_t) high[1]; y++)
                for (uint32_t x = (uint32_t) low[0]; x < (uint32_t) high[0]; x++) {
                        double away = signed_distance(points, n, x + 0.5, y + 0.5) - radius;

                        if (away < 0.5)
                                blend(canvas->pixels + 3 * ((size_t) y * canvas->width + x), colour,
                                                fmin(0.5 - away, 1));
                }
}

void canvas_copy(Canvas *canvas, const ActordFrame *frame, const uint8_t *pixels) {
        uint32_t times = enlarged(frame);

        memset(canvas->pixels, 0, canvas_bytes(canvas));
        for (uint32_t y = 0; y < MIN(canvas->height, frame->height * times); y++)
                for (uint32_t x = 0; x < MIN(canvas->width, frame->width * times); x++)
                        memcpy(canvas->pixels + 3 * ((size_t) y * canvas->width + x),
                                        pixels + 3 * ((size_t) (y / times) * frame->width + x / times), 3);
}

void canvas_paint(Canvas *canvas, const ActordView *view, const ActordShape *shapes) {
        double scale = fmin(canvas->width / (view->right - view->left),
                        canvas->height / (view->top - view->bottom));
        double x = (view->left + view->right) / 2, y = (view->bottom + view->top) / 2;

        for (size_t i = 0; i < (size_t) canvas->width * canvas->height; i++)
                for (int k = 0; k < 3; k++)
                        canvas->pixels[3 * i + k] = (uint8_t) (view->background >> (16 - 8 * k));

        for (uint32_t i = 0; i < view->n_shapes; i++) {
                const ActordShape *shape = &shapes[i];
                double points[ACTORD_SHAPE_POINTS][2];

                for (uint32_t k = 0; k < shape->n_points; k++) {
                        points[k][0] = canvas->width / 2.0 + scale * (shape->points[k][0] - x);
                        points[k][1] = canvas->height / 2.0 - scale * (shape->points[k][1] - y);
                        for (int c = 0; c < 2; c++)
                                points[k][c] = CLAMP(points[k][c], -FAR_PIXELS, FAR_PIXELS);
                }
                paint(canvas, (const double(*)[2]) points, shape->n_points,
                                fmin(scale * shape->radius, FAR_PIXELS), shape->colour);
        }
}
