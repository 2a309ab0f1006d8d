/*
 * contention.c - the figures of contention.h, link by link.
 */
#include "scheduler/live/contention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/live/footing.h"
#include "scheduler/live/live.h"
#include "topology/topo.h"

#define DEFAULT_WINDOW_MS  10000
#define DEFAULT_HISTORY_MS 1000
#define IMPOSSIBLE_FRAC    1.05
#define IMPOSSIBLE_MS      100
#define BITS_PER_BYTE_MS   8e3 /* 1 byte per ms in bits per second. */

const char *const contention_basis_names[] = { "measured", "computed", "summary",
					       NULL };
const char *const contention_sort_names[] = { "contention", "peak", "util", NULL };

/* The traffic of one job on the link being looked at. */
struct track {
	uint32_t job;
	float *bytes;     /* Owned.  [n]. */
	uint64_t *active; /* Owned.  A bit for each millisecond. */
	double sum;
};

struct look {
	const struct live *live;
	const struct contention_opts *opts;
	int64_t from_ms;
	size_t n, n_words; /* Milliseconds of the window; words of a bit set. */
	uint32_t *bins;    /* Scratch, [n]. */
	double *total;     /* [n]: bytes of all. */
	uint8_t *known;    /* [n]. */
	uint8_t *n_active; /* [n]: jobs, at most 255. */
	uint64_t *over;    /* A bit for each millisecond. */
	VEC(struct track) tracks;
	struct contention_link *link; /* Being filled. */
};

/* ---- Reading the series of a link --------------------------------------------------- */

static void
look_init(struct look *look)
{
	size_t n = look->n + 1;

	look->n_words = look->n / 64 + 1;
	look->bins = xcalloc(n, sizeof *look->bins);
	look->total = xcalloc(n, sizeof *look->total);
	look->known = xcalloc(n, sizeof *look->known);
	look->n_active = xcalloc(n, sizeof *look->n_active);
	look->over = xcalloc(look->n_words, sizeof *look->over);
}

static void
drop_track(struct look *look, size_t i)
{
	free(look->tracks.items[i].bytes);
	free(look->tracks.items[i].active);
	look->tracks.items[i] = look->tracks.items[--look->tracks.n];
}

static void
look_begin(struct look *look, struct contention_link *link)
{
	look->link = link;
	while (look->tracks.n)
		drop_track(look, look->tracks.n - 1);
	memset(look->total, 0, look->n * sizeof *look->total);
	memset(look->known, 1, look->n);
	memset(look->n_active, 0, look->n);
	memset(look->over, 0, look->n_words * sizeof *look->over);
}

static void
look_fini(struct look *look)
{
	look_begin(look, NULL);
	vec_free(&look->tracks);
	free(look->bins);
	free(look->total);
	free(look->known);
	free(look->n_active);
	free(look->over);
}

/* Adds share times the series to bytes[n]; gaps make their time unknown. */
static void
add_series(struct look *look, const struct footing_part *part, double *total,
	   float *bytes)
{
	live_bins(look->live, part->series, look->from_ms, look->n, look->bins);
	for (size_t t = 0; t < look->n; t++) {
		double value = part->share * look->bins[t];

		if (look->bins[t] == TELE_GAP) {
			look->known[t] = 0;
			continue;
		}
		if (total)
			total[t] += value;
		if (bytes)
			bytes[t] += (float)value;
	}
}

/* Of too many jobs the one with the least traffic goes. */
static void
drop_least(struct look *look)
{
	size_t least = 0;

	if (look->tracks.n <= CONTENTION_MAX_JOBS)
		return;
	for (size_t i = 1; i < look->tracks.n; i++)
		if (look->tracks.items[i].sum < look->tracks.items[least].sum)
			least = i;
	drop_track(look, least);
}

/* parts[0 .. n) are of one job on one link. */
static void
add_job(struct look *look, const struct footing_part *parts, size_t n, double *total)
{
	struct track track = { .job = parts[0].job };
	bool is_job = parts[0].job < TELE_OTHER;

	if (is_job) {
		track.bytes = xcalloc(look->n + 1, sizeof *track.bytes);
		track.active = xcalloc(look->n_words, sizeof *track.active);
	}
	for (size_t i = 0; i < n; i++)
		add_series(look, &parts[i], total, track.bytes);
	if (!is_job)
		return;
	for (size_t t = 0; t < look->n; t++)
		track.sum += track.bytes[t];
	vec_push(&look->tracks, track);
	drop_least(look);
}

/*
 * Reads parts[0 .. n), all of one link.  The total is what the frames say it is, or
 * the sum of all that they tell apart.
 */
static void
read_parts(struct look *look, const struct footing_part *parts, size_t n)
{
	bool has_total = false;

	for (size_t i = 0; i < n; i++)
		has_total |= parts[i].job == TELE_LINK;
	for (size_t first = 0, end; first < n; first = end) {
		bool is_total = parts[first].job == TELE_LINK;

		for (end = first + 1; end < n; end++)
			if (parts[end].job != parts[first].job)
				break;
		add_job(look, &parts[first], end - first,
			has_total == is_total ? look->total : NULL);
	}
}

/* ---- Figures --------------------------------------------------------------------- */

static void
measure_total(struct look *look)
{
	struct contention_link *link = look->link;
	size_t now_from = look->n > CONTENTION_NOW_MS ? look->n - CONTENTION_NOW_MS : 0;
	double sum = 0, now = 0, peak = 0;
	size_t n_now = 0;

	for (size_t t = 0; t < look->n; t++) {
		if (!look->known[t])
			continue;
		link->known_ms++;
		sum += look->total[t];
		peak = fmax(peak, look->total[t]);
		if (t >= now_from) {
			now += look->total[t];
			n_now++;
		}
	}
	if (!link->known_ms)
		return;
	link->peak_bps = peak * BITS_PER_BYTE_MS;
	link->mean_bps = sum / link->known_ms * BITS_PER_BYTE_MS;
	if (n_now)
		link->now_bps = now / (double)n_now * BITS_PER_BYTE_MS;
}

static bool
bit(const uint64_t *bits, size_t t)
{
	return bits[t / 64] >> (t % 64) & 1;
}

static void
set_bit(uint64_t *bits, size_t t)
{
	bits[t / 64] |= UINT64_C(1) << (t % 64);
}

/* Fills the tracks' bits and n_active; drops jobs that never were active. */
static void
find_active(struct look *look)
{
	const struct contention_link *link = look->link;
	double reference_bps =
		link->capacity_bps > 0 ? link->capacity_bps : link->peak_bps;
	double least = look->opts->active_frac * reference_bps / BITS_PER_BYTE_MS;

	for (size_t i = look->tracks.n; i-- > 0;) {
		struct track *track = &look->tracks.items[i];
		bool was_active = false;

		for (size_t t = 0; t < look->n; t++) {
			if (!look->known[t] || !(track->bytes[t] > 0) ||
			    track->bytes[t] < least)
				continue;
			set_bit(track->active, t);
			was_active = true;
			if (look->n_active[t] < UINT8_MAX)
				look->n_active[t]++;
		}
		if (!was_active)
			drop_track(look, i);
	}
}

/* Fills the bits of 'over', their number and since when. */
static void
find_over(struct look *look)
{
	struct contention_link *link = look->link;
	double least = look->opts->over_frac * link->capacity_bps / BITS_PER_BYTE_MS;
	int64_t first = -1, last = -1;

	link->since_ms = INT64_MIN;
	if (!(link->capacity_bps > 0))
		return;
	for (size_t t = 0; t < look->n; t++) {
		/* A bin is a whole number of bytes: half of one is no less. */
		if (!look->known[t] || look->n_active[t] < 2 ||
		    look->total[t] + 0.5 < least)
			continue;
		set_bit(look->over, t);
		link->over_ms++;
		if (first < 0 || (int64_t)t - last > CONTENTION_PAUSE_MS)
			first = (int64_t)t;
		last = (int64_t)t;
	}
	if (first < 0 || (int64_t)look->n - last > CONTENTION_PAUSE_MS)
		return;
	link->since_ms = look->from_ms + first;
	link->is_since_older =
		first < CONTENTION_PAUSE_MS && look->n >= CONTENTION_PAUSE_MS;
}

/* The means of [c, c + 1) columns of the history, of total or one job. */
static void
fill_history(const struct look *look, const float *bytes, float *ret_bps)
{
	int64_t span = look->opts->history_ms;
	int64_t begin = (int64_t)look->n - span;

	for (int64_t c = 0; c < CONTENTION_COLUMNS; c++) {
		int64_t from = begin + c * span / CONTENTION_COLUMNS;
		int64_t to = begin + (c + 1) * span / CONTENTION_COLUMNS;
		double sum = 0;
		size_t n = 0;

		for (int64_t t = from < 0 ? 0 : from; t < to; t++) {
			if (!look->known[t])
				continue;
			sum += bytes ? (double)bytes[t] : look->total[t];
			n++;
		}
		ret_bps[c] = n ? (float)(sum / (double)n * BITS_PER_BYTE_MS) : -1;
	}
}

/* The figures of one job. */
static void
measure_job(const struct look *look, const struct track *track,
	    struct contention_job *job)
{
	size_t now_from = look->n > CONTENTION_NOW_MS ? look->n - CONTENTION_NOW_MS : 0;
	double sum = 0, alone = 0, overlap = 0, over = 0, now = 0, peak = 0;
	size_t n_now = 0;

	job->job = track->job;
	for (size_t t = 0; t < look->n; t++) {
		double bytes = track->bytes[t];

		if (!look->known[t])
			continue;
		sum += bytes;
		peak = fmax(peak, bytes);
		now += t >= now_from ? bytes : 0;
		n_now += t >= now_from;
		if (!bit(track->active, t))
			continue;
		job->active_ms++;
		job->overlap_ms += look->n_active[t] > 1;
		*(look->n_active[t] > 1 ? &overlap : &alone) += bytes;
		job->over_ms += bit(look->over, t);
		over += bit(look->over, t) ? bytes : 0;
	}
	job->peak_bps = peak * BITS_PER_BYTE_MS;
	job->mean_bps = sum / look->link->known_ms * BITS_PER_BYTE_MS;
	job->now_bps = n_now ? now / (double)n_now * BITS_PER_BYTE_MS : -1;
	if (job->active_ms > job->overlap_ms)
		job->alone_bps =
			alone / (job->active_ms - job->overlap_ms) * BITS_PER_BYTE_MS;
	if (job->overlap_ms)
		job->overlap_bps = overlap / job->overlap_ms * BITS_PER_BYTE_MS;
	if (job->over_ms)
		job->over_bps = over / job->over_ms * BITS_PER_BYTE_MS;
	fill_history(look, track->bytes, job->history_bps);
}

static int
compare_tracks(const void *a, const void *b, void *live)
{
	const struct track *x = a, *y = b;

	return strcmp(live_job_name(live, x->job), live_job_name(live, y->job));
}

static int
compare_pairs(const void *a, const void *b, void *live)
{
	const struct contention_pair *x = a, *y = b;
	int order;

	if (x->over_ms != y->over_ms)
		return x->over_ms > y->over_ms ? -1 : 1;
	if (x->overlap_ms != y->overlap_ms)
		return x->overlap_ms > y->overlap_ms ? -1 : 1;
	order = strcmp(live_job_name(live, x->a), live_job_name(live, y->a));
	return order ? order
		     : strcmp(live_job_name(live, x->b), live_job_name(live, y->b));
}

static void
measure_jobs(struct look *look)
{
	struct contention_link *link = look->link;
	VEC(struct contention_pair) pairs = VEC_EMPTY;

	if (look->tracks.n)
		qsort_r(look->tracks.items, look->tracks.n, sizeof *look->tracks.items,
			compare_tracks, (void *)look->live);
	link->n_jobs = look->tracks.n;
	link->jobs = xcalloc(link->n_jobs + 1, sizeof *link->jobs);
	for (size_t i = 0; i < link->n_jobs; i++)
		measure_job(look, &look->tracks.items[i], &link->jobs[i]);
	for (size_t i = 0; i < link->n_jobs; i++) {
		for (size_t k = i + 1; k < link->n_jobs; k++) {
			const struct track *a = &look->tracks.items[i];
			const struct track *b = &look->tracks.items[k];
			struct contention_pair pair = { .a = a->job, .b = b->job };

			for (size_t w = 0; w < look->n_words; w++) {
				uint64_t both = a->active[w] & b->active[w];

				pair.overlap_ms += (uint32_t)__builtin_popcountll(both);
				pair.over_ms += (uint32_t)__builtin_popcountll(
					both & look->over[w]);
			}
			if (pair.overlap_ms)
				vec_push(&pairs, pair);
		}
	}
	if (pairs.n)
		qsort_r(pairs.items, pairs.n, sizeof *pairs.items, compare_pairs,
			(void *)look->live);
	link->pairs = pairs.items;
	link->n_pairs = pairs.n;
}

/* Whether a computed load is more than the link can carry, over 100 ms. */
static bool
is_impossible(const struct look *look)
{
	const struct contention_link *link = look->link;
	double most =
		IMPOSSIBLE_FRAC * link->capacity_bps / BITS_PER_BYTE_MS * IMPOSSIBLE_MS;
	double sum = 0;

	if (link->basis != CONTENTION_COMPUTED || !link->known_ms)
		return false;
	for (size_t t = 0; t < look->n; t++) {
		sum += look->known[t] ? look->total[t] : 0;
		if (t % IMPOSSIBLE_MS != IMPOSSIBLE_MS - 1)
			continue;
		if (sum > most)
			return true;
		sum = 0;
	}
	return false;
}

/* Adds to the job what one series, of maybe several, tells; they come by job. */
static void
add_summary(struct contention_link *link, uint32_t number, double now_bps,
	    double peak_bps)
{
	struct contention_job *job;

	if (link->n_jobs == 0 || link->jobs[link->n_jobs - 1].job != number) {
		if (link->n_jobs == CONTENTION_MAX_JOBS)
			return;
		link->jobs[link->n_jobs++] = (struct contention_job){
			.job = number,
			.mean_bps = -1,
		};
	}
	job = &link->jobs[link->n_jobs - 1];
	job->now_bps += now_bps;
	job->peak_bps = fmax(job->peak_bps, peak_bps);
}

/* What summaries alone tell. */
static void
measure_summary(struct look *look, const struct footing_part *parts, size_t n)
{
	struct contention_link *link = look->link;
	bool has_total = false;
	bool is_whole = true; /* Else the sum would be of a part only. */
	double sum_now = 0, sum_peak = 0;

	link->basis = CONTENTION_SUMMARY;
	link->since_ms = INT64_MIN;
	link->jobs = xcalloc(n + 1, sizeof *link->jobs);
	for (size_t i = 0; i < n; i++) {
		const struct live_series *s = live_series(look->live, parts[i].series);
		uint32_t host = live_interface(look->live, s->interface)->host;
		uint64_t bytes = live_window_bytes(look->live, parts[i].series);
		double now_bps, peak_bps;

		if (!s->has_summary || !live_has_summary(look->live, host)) {
			is_whole = false;
			continue;
		}
		now_bps = parts[i].share * (double)bytes * 8e9 /
			  (double)live_host(look->live, host)->summary_window_ns;
		peak_bps =
			bytes ? parts[i].share * s->peak_bytes * BITS_PER_BYTE_MS : 0;
		if (parts[i].job == TELE_LINK) {
			has_total = true;
			link->now_bps = now_bps;
			link->peak_bps = peak_bps;
			continue;
		}
		sum_now += now_bps;
		sum_peak = fmax(sum_peak, peak_bps);
		if (parts[i].job != TELE_OTHER && bytes)
			add_summary(link, parts[i].job, now_bps, peak_bps);
	}
	if (is_whole && !has_total) {
		link->now_bps = sum_now;
		link->peak_bps = sum_peak;
	}
	link->mean_bps = link->now_bps;
	for (size_t c = 0; c < CONTENTION_COLUMNS; c++)
		link->history_bps[c] = -1;
}

static void
measure_raw(struct look *look)
{
	struct contention_link *link = look->link;
	double of_jobs = 0;

	find_active(look);
	find_over(look);
	measure_jobs(look);
	for (size_t i = 0; i < link->n_jobs; i++)
		of_jobs += link->jobs[i].mean_bps;
	link->other_bps = fmax(link->mean_bps - of_jobs, 0);
	fill_history(look, NULL, link->history_bps);
}

/* ---- All links ------------------------------------------------------------------- */

static void
name_plain(const struct live *live, uint32_t id, struct contention_link *link)
{
	const struct live_interface *it = live_interface(live, id / 2);
	const char *host = live_host(live, it->host)->name;

	link->name = id % 2 ? xasprintf(">%s:%s", host, it->name)
			    : xasprintf("%s:%s>", host, it->name);
	link->link = TOPO_NONE;
	link->from_tier = id % 2;
	link->to_tier = 1 - id % 2;
	link->capacity_bps = it->capacity_bps;
	link->is_up = it->is_up;
}

static void
name_link(const struct topo *topo, uint32_t id, struct contention_link *link)
{
	const struct topo_link *told = topo_link(topo, id);
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(topo, id, &name);
	link->name = strbuf_steal(&name);
	link->link = id;
	link->from_tier = topo_node(topo, told->from)->tier;
	link->to_tier = topo_node(topo, told->to)->tier;
	link->capacity_bps = told->capacity_bps;
	link->is_up = true;
}

/* Whether raw frames came from all who tell of a link: else no time of it is known. */
static bool
is_told_raw(const struct live *live, const struct footing_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t interface = live_series(live, parts[i].series)->interface;
		uint32_t host = live_interface(live, interface)->host;

		if (live_host(live, host)->raw_ns == LIVE_NEVER)
			return false;
	}
	return true;
}

/* What only summaries tell. */
static void
take_counts(const struct live *live, const struct live_series *s,
	    struct contention_link *link)
{
	uint32_t id = live_interface(live, s->interface)->host;
	const struct live_host *host = live_host(live, id);

	if (!live_has_summary(live, id) || !s->has_summary ||
	    s->summary_ns != host->summary_ns || (host->flags & TELE_IMPORTED))
		return;
	link->has_counts = true;
	link->total_ce = s->total_ce;
	link->total_retransmits = s->total_retransmits;
	link->queue_bytes = s->queue_bytes;
}

/* One link of which parts[0 .. n) are known. */
static void
find_link(struct look *look, const struct footing_part *parts, size_t n,
	  struct contention_link *link)
{
	*link = (struct contention_link){ .basis = CONTENTION_COMPUTED,
					  .now_bps = -1,
					  .peak_bps = -1,
					  .mean_bps = -1 };
	if (look->opts->topo)
		name_link(look->opts->topo, parts[0].link, link);
	else
		name_plain(look->live, parts[0].link, link);
	for (size_t i = 0; i < n; i++) {
		const struct live_series *s = live_series(look->live, parts[i].series);

		if (!parts[i].is_measured)
			continue;
		link->basis = CONTENTION_MEASURED;
		if (parts[i].job != TELE_LINK)
			continue;
		link->is_up = live_interface(look->live, s->interface)->is_up;
		take_counts(look->live, s, link);
	}
	look->link = link;
	if (look->n && is_told_raw(look->live, parts, n)) {
		look_begin(look, link);
		read_parts(look, parts, n);
		measure_total(look);
	}
	if (link->known_ms)
		measure_raw(look);
	else
		measure_summary(look, parts, n);
}

static void
set_window(struct look *look, struct contention_opts *opts)
{
	uint32_t span = live_span_ms(look->live);
	int64_t to_ms = live_complete_ms(look->live);

	if (!opts->window_ms)
		opts->window_ms = DEFAULT_WINDOW_MS;
	if (!opts->history_ms)
		opts->history_ms = DEFAULT_HISTORY_MS;
	if (!(opts->over_frac > 0))
		opts->over_frac = CONTENTION_OVER_FRAC;
	if (!(opts->active_frac > 0))
		opts->active_frac = CONTENTION_ACTIVE_FRAC;
	look->n = to_ms == LIVE_NEVER      ? 0
		  : span < opts->window_ms ? span
					   : opts->window_ms;
	look->from_ms = to_ms == LIVE_NEVER ? 0 : to_ms - (int64_t)look->n;
}

void
contention_find(const struct live *live, const struct contention_opts *opts,
		struct contention *ret_contention)
{
	struct contention_opts full = *opts;
	struct look look = { .live = live, .opts = &full, .tracks = VEC_EMPTY };
	struct footing footing;
	VEC(struct contention_link) links = VEC_EMPTY;
	uint32_t n_impossible = 0;

	set_window(&look, &full);
	look_init(&look);
	footing_find(live, opts->topo, opts->routes, &footing);
	for (size_t first = 0, end; first < footing.parts.n; first = end) {
		const struct footing_part *parts = footing.parts.items;
		struct contention_link link;

		for (end = first + 1; end < footing.parts.n; end++)
			if (parts[end].link != parts[first].link)
				break;
		find_link(&look, &parts[first], end - first, &link);
		n_impossible += look.n > 0 && is_impossible(&look);
		vec_push(&links, link);
	}
	*ret_contention = (struct contention){
		.from_ms = look.from_ms,
		.to_ms = look.from_ms + (int64_t)look.n,
		.has_raw = look.n > 0,
		.history_ms = full.history_ms,
		.links = links.items,
		.n_links = links.n,
		.n_unattached = footing.n_unattached,
		.n_unplaced = footing.n_unplaced,
		.n_impossible = n_impossible,
	};
	footing_fini(&footing);
	look_fini(&look);
}

void
contention_fini(struct contention *contention)
{
	for (size_t i = 0; i < contention->n_links; i++) {
		free(contention->links[i].name);
		free(contention->links[i].jobs);
		free(contention->links[i].pairs);
	}
	free(contention->links);
	*contention = (struct contention){ 0 };
}

/* ---- Order --------------------------------------------------------------------- */

double
contention_over_frac(const struct contention_link *link)
{
	if (!link->known_ms || !(link->capacity_bps > 0))
		return -1;
	return (double)link->over_ms / link->known_ms;
}

double
contention_peak_frac(const struct contention_link *link)
{
	return link->capacity_bps > 0 && link->peak_bps >= 0
		       ? link->peak_bps / link->capacity_bps
		       : -1;
}

double
contention_now_frac(const struct contention_link *link)
{
	return link->capacity_bps > 0 && link->now_bps >= 0
		       ? link->now_bps / link->capacity_bps
		       : -1;
}

static double
worst_overlap(const struct contention_link *link)
{
	return link->n_pairs && link->known_ms
		       ? (double)link->pairs[0].overlap_ms / link->known_ms
		       : 0;
}

static int
falling(double x, double y)
{
	return (x < y) - (x > y);
}

static int
by_name(const struct contention_link *x, const struct contention_link *y)
{
	int order = strverscmp(x->name, y->name);

	return order ? order : strcmp(x->name, y->name);
}

static int
by_peak(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_peak_frac(x), contention_peak_frac(y));

	return order ? order : by_name(x, y);
}

static int
by_util(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_now_frac(x), contention_now_frac(y));

	return order ? order : by_name(x, y);
}

static int
by_contention(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_over_frac(x), contention_over_frac(y));

	if (!order)
		order = falling(worst_overlap(x), worst_overlap(y));
	return order ? order : by_peak(a, b);
}

void
contention_sort(struct contention *contention, enum contention_sort sort)
{
	int (*const orders[])(const void *, const void *) = {
		[CONTENTION_BY_CONTENTION] = by_contention,
		[CONTENTION_BY_PEAK] = by_peak,
		[CONTENTION_BY_UTIL] = by_util,
	};

	if (contention->n_links)
		qsort(contention->links, contention->n_links, sizeof *contention->links,
		      orders[sort]);
}

const struct contention_job *
contention_find_job(const struct contention_link *link, uint32_t job)
{
	for (size_t i = 0; i < link->n_jobs; i++)
		if (link->jobs[i].job == job)
			return &link->jobs[i];
	return NULL;
}
