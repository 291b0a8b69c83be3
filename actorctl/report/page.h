/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page as HTML or as Markdown. Every text that is given passes through an escape of the format: names and
 * descriptions are their owners'. */
#pragma once

#include <glib.h>

#include "actorctl/experiment/plot.h"

typedef enum PageFormat { PAGE_HTML, PAGE_MD } PageFormat;

typedef struct Page Page;

Page *page_new(PageFormat format, const char *title);
/* level 1 is a job's, 2 a part of it. */
void page_heading(Page *page, unsigned level, const char *text);
void page_paragraph(Page *page, const char *text);
/* A list, begun by the first item and ended by anything else. */
void page_item(Page *page, const char *text);
/* Cells of `columns` a row, the first row is the heading; numbers stand right from column 1 on. HTML shows
 * share[row] (NULL: none; 0 to 1) as a bar in the last cell. */
void page_table(Page *page, const GPtrArray *cells, guint columns, const double *share);
/* Markdown has no pictures in it: the plot is left out. */
void page_plot(Page *page, const Plot *plot);
/* A long text that readers may open. */
void page_fold(Page *page, const char *summary, const char *text);
/* The whole page, g_free(). */
char *page_finish(Page *page);
Page *page_free(Page *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Page, page_free)
