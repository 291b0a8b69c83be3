/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a graph. Fragments (parts of a job's training loop) have fixed places on a grid. The grid has a
 * column for each host that the distribution uses, and a row for each fragment, in the order of the table.
 * So a fragment is at the same height in every picture. Edges with the same two ends become one line with
 * all their names. */
#include "actorctl/view/graph-draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "lib/fragment.h"

enum {
        BOX_WIDTH = 110,
        BOX_HEIGHT = 34,
        ROW_HEIGHT = 84,
        HOST_WIDTH = 264,
        HOST_GAP = 250,
        MARGIN = 24,
        HEAD = 84
};

static const Channel *edge_channel(const Graph *graph, uint32_t e) {
        for (uint32_t c = 0; c < graph->n_channels; c++)
                if (graph->channels[c].edge == e)
                        return &graph->channels[c];
        return NULL;
}

static char *host_title(const Graph *graph, uint32_t host) {
        uint32_t n = graph->n_replicas[host];

        return n == 1 ? g_strdup(host_to_string(host)) : g_strdup_printf("%s × %u", host_to_string(host), n);
}

/* An edge's label, such as "rewards, ends". It has the names of all edges from the same fragment to the same
 * other one. NULL: an earlier edge's label includes this one. g_free() */
static char *edges_label(const Graph *graph, uint32_t first) {
        const Edge *edge = &graph->edges[first];
        GString *label = g_string_new(NULL);

        for (uint32_t e = 0; e < graph->n_edges; e++) {
                const Edge *other = &graph->edges[e];

                if (other->from != edge->from || other->to != edge->to)
                        continue;
                if (e < first)
                        return g_string_free(label, TRUE);
                g_string_append_printf(label, "%s%s", label->len > 0 ? ", " : "", other->tensor);
        }
        return g_string_free(label, FALSE);
}

void graph_print_dot(const Graph *graph, const char *title) {
        printf("digraph \"%s\" {\n  rankdir=TB; node [shape=box, fontname=sans]; "
               "edge [fontname=sans, fontsize=9];\n",
                        title);
        for (uint32_t host = 0; host < _HOST_MAX; host++) {
                g_autofree char *name = host_title(graph, host);
                bool open = false;

                for (uint32_t f = 0; f < _FRAGMENT_MAX; f++) {
                        if (graph->host[f] != host)
                                continue;
                        if (!open)
                                printf("  subgraph cluster_%u {\n    label=\"%s\";\n", host, name);
                        open = true;
                        printf("    %s;\n", fragment_to_string(f));
                }
                if (open)
                        printf("  }\n");
        }
        for (uint32_t e = 0; e < graph->n_edges; e++) {
                g_autofree char *label = edges_label(graph, e);
                const Channel *channel = edge_channel(graph, e);

                if (label)
                        printf("  %s -> %s [label=\"%s%s%s\"%s];\n",
                                        fragment_to_string(graph->edges[e].from),
                                        fragment_to_string(graph->edges[e].to), label, channel ? "\\n" : "",
                                        channel ? channel_to_string(channel->kind) : "",
                                        channel ? ", color=\"#b03030\", penwidth=2" : "");
        }
        printf("}\n");
}

typedef struct Place {
        double x, y; /* the middle of the box */
} Place;

/* Assigns a column to each host that is used, from left to right, and a place to each fragment. Returns how
 * many columns there are. */
static uint32_t place_fragments(const Graph *graph, uint32_t column[_HOST_MAX], Place ret[_FRAGMENT_MAX]) {
        uint32_t n = 0;

        for (uint32_t host = 0; host < _HOST_MAX; host++) {
                column[host] = UINT32_MAX;
                for (uint32_t f = 0; f < _FRAGMENT_MAX; f++)
                        if (graph->host[f] == host)
                                column[host] = n;
                n += column[host] != UINT32_MAX;
        }
        for (uint32_t f = 0; f < _FRAGMENT_MAX; f++)
                ret[f] = (Place){
                        MARGIN + column[graph->host[f]] * (double) (HOST_WIDTH + HOST_GAP) +
                                        HOST_WIDTH / 2.0,
                        HEAD + 60.0 + f * (double) ROW_HEIGHT,
                };
        return n;
}

static void print_host(const Graph *graph, uint32_t host, uint32_t column) {
        double x = MARGIN + column * (double) (HOST_WIDTH + HOST_GAP);
        g_autofree char *name = host_title(graph, host);

        printf("<rect x=\"%g\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#f4f6f8\" "
               "stroke=\"#8090a0\"/>\n"
               "<text x=\"%g\" y=\"%d\" font-weight=\"bold\" text-anchor=\"middle\">%s</text>\n",
                        x, HEAD, HOST_WIDTH, 40 + (int) _FRAGMENT_MAX * ROW_HEIGHT, x + HOST_WIDTH / 2.0,
                        HEAD + 22, name);
}

static double side_of(double from, double to) {
        return to > from ? 1 : -1;
}

/* The points of a curve. Between two hosts, it leaves and enters at the sides. Within a host, a curve to the
 * next fragment goes straight down. All other curves go around the boxes: upwards on the left, downwards on
 * the right. */
static void edge_curve(Place a, Place b, Place ret[4]) {
        if (a.x != b.x) {
                double side = side_of(a.x, b.x), reach = HOST_GAP / 2.0, up = a.y < b.y ? 3 : -3;

                ret[0] = (Place){ a.x + side * BOX_WIDTH / 2, a.y + up };
                ret[3] = (Place){ b.x - side * BOX_WIDTH / 2, b.y - 3 * up };
                ret[1] = (Place){ ret[0].x + side * reach, ret[0].y };
                ret[2] = (Place){ ret[3].x - side * reach, ret[3].y };
        } else if (b.y > a.y && b.y - a.y <= ROW_HEIGHT) {
                ret[0] = ret[1] = (Place){ a.x, a.y + BOX_HEIGHT / 2.0 };
                ret[2] = ret[3] = (Place){ b.x, b.y - BOX_HEIGHT / 2.0 };
        } else {
                double side = side_of(a.y, b.y), reach = 34 + 12 * fabs(b.y - a.y) / ROW_HEIGHT;

                ret[0] = (Place){ a.x + side * BOX_WIDTH / 2, a.y };
                ret[3] = (Place){ b.x + side * BOX_WIDTH / 2, b.y };
                ret[1] = (Place){ ret[0].x + side * reach, a.y };
                ret[2] = (Place){ ret[3].x + side * reach, b.y };
        }
}

static void print_edge(const Graph *graph, uint32_t e, const char *label, const Place *places) {
        const Edge *edge = &graph->edges[e];
        const Channel *channel = edge_channel(graph, e);
        double t = 0.5, u = 1 - t, x, y;
        Place p[4];

        edge_curve(places[edge->from], places[edge->to], p);
        /* The label is not in the middle, so that the names of two crossing edges do not overlap. */
        if (p[0].x != p[3].x)
                t = 0.42, u = 1 - t;
        x = u * u * u * p[0].x + 3 * u * u * t * p[1].x + 3 * u * t * t * p[2].x + t * t * t * p[3].x;
        y = u * u * u * p[0].y + 3 * u * u * t * p[1].y + 3 * u * t * t * p[2].y + t * t * t * p[3].y;

        printf("<path d=\"M%g %g C%g %g %g %g %g %g\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s "
               "marker-end=\"url(#tip)\"/>\n",
                        p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y,
                        channel ? "#b03030" : "#505860", channel ? "1.8" : "1.1",
                        edge->held ? " stroke-dasharray=\"5 3\"" : "");
        printf("<text x=\"%g\" y=\"%g\" class=\"e\">%s</text>\n", x, y - (channel ? 8 : 3), label);
        if (channel)
                printf("<text x=\"%g\" y=\"%g\" class=\"c\">%s, each %s</text>\n", x, y + 3,
                                channel_to_string(channel->kind), rate_to_string(edge->rate));
}

void graph_print_svg(const Graph *graph, const char *title) {
        uint32_t column[_HOST_MAX], n_columns;
        Place places[_FRAGMENT_MAX];
        int width, height = HEAD + 40 + (int) _FRAGMENT_MAX * ROW_HEIGHT + MARGIN;

        n_columns = place_fragments(graph, column, places);
        width = 2 * MARGIN + (int) n_columns * HOST_WIDTH + (int) (n_columns - 1) * HOST_GAP;
        width = width < 560 ? 560 : width;

        printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" "
               "font-size=\"13\">\n"
               "<style>.e,.c{font-size:10px;text-anchor:middle;paint-order:stroke;stroke:#fff;"
               "stroke-width:3px}.c{fill:#b03030}</style>\n"
               "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
               "markerHeight=\"7\" orient=\"auto\" markerUnits=\"userSpaceOnUse\">"
               "<path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
               "<text x=\"%d\" y=\"34\" font-size=\"17\" font-weight=\"bold\">%s</text>\n"
               "<text x=\"%d\" y=\"56\">an update waits for %s%s%s; dashed: the value exists before its "
               "producer runs</text>\n",
                        width, height, MARGIN, title, MARGIN, barrier_to_string(graph->round_barrier),
                        graph->inference_barrier != BARRIER_NONE ? ", serving a step for " : "",
                        graph->inference_barrier != BARRIER_NONE
                                        ? barrier_to_string(graph->inference_barrier)
                                        : "");
        for (uint32_t host = 0; host < _HOST_MAX; host++)
                if (column[host] != UINT32_MAX)
                        print_host(graph, host, column[host]);
        for (uint32_t f = 0; f < _FRAGMENT_MAX; f++)
                printf("<rect x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#fff\" "
                       "stroke=\"#405060\"/>\n"
                       "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
                                places[f].x - BOX_WIDTH / 2.0, places[f].y - BOX_HEIGHT / 2.0, BOX_WIDTH,
                                BOX_HEIGHT, places[f].x, places[f].y + 4, fragment_to_string(f));
        for (uint32_t e = 0; e < graph->n_edges; e++) {
                g_autofree char *label = edges_label(graph, e);

                if (label)
                        print_edge(graph, e, label, places);
        }
        printf("</svg>\n");
}
