/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_series_json.h - the last two iterations of the slowest job on a link, by job and
 * millisecond, as antiphase.link_series/1 (docs/json.md)
 *
 * Pure.
 */
#ifndef SCHEDULER_LIVE_LINK_SERIES_JSON_H
#define SCHEDULER_LIVE_LINK_SERIES_JSON_H

struct contention;
struct contention_link;
struct jsonw;
struct live;

/*
 * Writes the keys of the document.  'found' is the scan that 'link' is of, with its parts.
 * Without raw series, or if the parts are gone, the series are empty.  At most 10 s and
 * 10,000 rates: beyond that, steps are longer.
 */
void link_series_json_put(const struct live *live, const struct contention *found,
			  const struct contention_link *link, struct jsonw *w);

#endif
