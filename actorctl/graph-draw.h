/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A fragment graph as a picture, to standard output. */
#pragma once

#include "include/fragment.h"

/* For Graphviz: each process a cluster. */
void graph_print_dot(const Graph *graph, const char *title);
/* Drawn here: each process a box, fragments in the order in which a round passes them. */
void graph_print_svg(const Graph *graph, const char *title);
