/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/gap.h"

#include <string.h>

#define LONGEST_NS INT64_C(3600000000000)
/* The first collectives belong to the program's start. */
#define N_START 2
/* Gaps needed to learn, and boundaries among them. */
#define N_LEAST      8
#define N_BOUNDARIES 4
/* A gap of the upper class is at least this many times one of the lower, */
#define JUMP 1.4
/* gaps shorter than this count as no longer than this, */
#define FLOOR_NS INT64_C(10000)
/* and together they are this share of all the time in gaps. */
#define SHARE 0.15
/* Share of equal distances between boundaries, in collectives. */
#define REGULAR 0.7
/* Gaps of one class: largest ratio of the ninth decile to the first. */
#define ALIKE 3.0
/* Iterations in a row with an unexpected number of collectives. */
#define N_ODD 8
/* The longest cycle of messages considered, and how well it must fit. */
#define MAX_CYCLE 64
#define FITS      0.95
/* A guess uses this many gaps. */
#define N_GUESS 16

static const struct gap_event *
event_at(const struct gap *gap, uint64_t number)
{
	return &gap->ring[number % GAP_EVENTS];
}

/* ---- Sorting, without allocation ------------------------------------------------- */

static void
sift(int64_t *ns, uint32_t root, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * root + 1;
		int64_t swap;

		if (child >= n)
			return;
		if (child + 1 < n && ns[child + 1] > ns[child])
			child++;
		if (ns[root] >= ns[child])
			return;
		swap = ns[root];
		ns[root] = ns[child];
		ns[child] = swap;
		root = child;
	}
}

static void
sort(int64_t *ns, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(ns, i, n);
	while (n > 1) {
		int64_t swap = ns[0];

		ns[0] = ns[--n];
		ns[n] = swap;
		sift(ns, 0, n);
	}
}

/* Whether sorted gaps are of one class. */
static bool
are_alike(const int64_t *ns, uint32_t n)
{
	return (double)ns[n - 1 - n / 10] <= ALIKE * (double)ns[n / 10];
}

/* ---- Two classes of gaps --------------------------------------------------------- */

/*
 * The number of collectives between gaps above 'threshold_ns', if nearly always the
 * same; else 0.
 */
static uint32_t
regular_distance(struct gap *gap, uint64_t from, int64_t threshold_ns)
{
	uint16_t *n_of = gap->n_of;
	uint64_t last = 0, best = 1;
	uint32_t n = 0;
	bool is_first = true;

	memset(n_of, 0, sizeof gap->n_of);
	for (uint64_t i = from; i < gap->n; i++) {
		if (event_at(gap, i)->gap_ns < threshold_ns)
			continue;
		if (!is_first) {
			uint64_t distance = i - last;

			n++;
			n_of[distance]++;
			if (n_of[distance] > n_of[best])
				best = distance;
		}
		last = i;
		is_first = false;
	}
	if (n + 1 < N_BOUNDARIES || n_of[best] < REGULAR * n)
		return 0;
	return (uint32_t)best;
}

/* Finds the highest threshold that splits the gaps. */
static bool
learn_classes(struct gap *gap, uint64_t from)
{
	const int64_t *ns = gap->sorted_ns;
	uint32_t n = (uint32_t)(gap->n - from);
	double total_ns = 0, upper_ns = 0;

	for (uint32_t i = 0; i < n; i++)
		total_ns += (double)ns[i];
	for (uint32_t k = n - 1; k > 0; k--) {
		double low_ns = (double)ns[k - 1], high_ns = (double)ns[k];
		int64_t threshold_ns;
		uint32_t distance;

		upper_ns += high_ns;
		if (ns[k] < GAP_MIN_NS)
			return false;
		if (low_ns < FLOOR_NS)
			low_ns = FLOOR_NS;
		if (n - k < N_BOUNDARIES || high_ns < JUMP * low_ns ||
		    upper_ns < SHARE * total_ns || !are_alike(ns + k, n - k))
			continue;
		/*
		 * Nearer to the lower class, because shorter computing makes shorter
		 * gaps.
		 */
		threshold_ns = (int64_t)(low_ns + (high_ns - low_ns) / 3);
		if (threshold_ns < GAP_MIN_NS)
			threshold_ns = GAP_MIN_NS;
		distance = regular_distance(gap, from, threshold_ns);
		if (!distance)
			continue;
		gap->threshold_ns = threshold_ns;
		gap->per_iteration = distance;
		gap->n_in_cycle = 0;
		return true;
	}
	return false;
}

/* ---- Messages that repeat -------------------------------------------------------- */

/* The length of the cycle of messages; 1: all alike; 0: no cycle. */
static uint32_t
find_cycle(const struct gap *gap, uint64_t from)
{
	uint64_t n = gap->n - from;

	for (uint32_t length = 1; length <= MAX_CYCLE && 3 * length <= n; length++) {
		uint64_t n_looked = n - length, n_same = 0;

		if (n_looked > 8 * length + N_GUESS)
			n_looked = 8 * length + N_GUESS;
		for (uint64_t i = gap->n - n_looked; i < gap->n; i++)
			n_same += event_at(gap, i)->what ==
				  event_at(gap, i - length)->what;
		if ((double)n_same >= FITS * (double)n_looked)
			return length;
	}
	return 0;
}

/* The place in the cycle with the longest mean gap before it. */
static bool
learn_cycle(struct gap *gap, uint64_t from, uint32_t length)
{
	int64_t sum_ns[MAX_CYCLE] = { 0 }, n_of[MAX_CYCLE] = { 0 };
	uint32_t best = 0;

	for (uint64_t i = from; i < gap->n; i++) {
		sum_ns[i % length] += event_at(gap, i)->gap_ns;
		n_of[i % length]++;
	}
	for (uint32_t k = 1; k < length; k++)
		if (sum_ns[k] * n_of[best] > sum_ns[best] * n_of[k])
			best = k;
	if (sum_ns[best] < GAP_MIN_NS * n_of[best])
		return false;
	/* Hysteresis: keeps the place despite noise. */
	if (gap->n_in_cycle == length &&
	    (double)(sum_ns[best] * n_of[gap->cycle_at]) <
		    JUMP * (double)(sum_ns[gap->cycle_at] * n_of[best]))
		best = (uint32_t)gap->cycle_at;
	gap->n_in_cycle = length;
	gap->cycle_at = best;
	for (uint64_t i = gap->n - length; i < gap->n; i++)
		if (i % length == best)
			gap->cycle_what = event_at(gap, i)->what;
	gap->threshold_ns = sum_ns[best] / n_of[best];
	gap->per_iteration = length;
	return true;
}

/* ---- Learning and detection ------------------------------------------------------ */

static bool
learn_from(struct gap *gap, uint64_t from)
{
	uint32_t n = (uint32_t)(gap->n - from), length;
	int64_t *ns = gap->sorted_ns, low_ns;

	for (uint32_t i = 0; i < n; i++)
		ns[i] = event_at(gap, from + i)->gap_ns;
	sort(ns, n);
	if (learn_classes(gap, from))
		return true;
	length = find_cycle(gap, from);
	if (length > 1)
		return learn_cycle(gap, from, length);
	low_ns = ns[n / 10];
	if (low_ns < GAP_MIN_NS || !are_alike(ns, n))
		return false;
	gap->threshold_ns = low_ns / 2 > GAP_MIN_NS ? low_ns / 2 : GAP_MIN_NS;
	gap->n_in_cycle = 0;
	gap->per_iteration = 1;
	return true;
}

/* Guesses the threshold: half of the longest recent gap. */
static void
guess(struct gap *gap)
{
	uint64_t n = gap->n - gap->first < N_GUESS ? gap->n - gap->first : N_GUESS;
	int64_t longest_ns = 0;

	for (uint64_t i = gap->n - n; i < gap->n; i++)
		if (event_at(gap, i)->gap_ns > longest_ns)
			longest_ns = event_at(gap, i)->gap_ns;
	gap->threshold_ns =
		longest_ns / 2 > GAP_GUESS_NS ? longest_ns / 2 : GAP_GUESS_NS;
	gap->n_in_cycle = 0;
	gap->per_iteration = 1;
}

static void
learn(struct gap *gap)
{
	uint64_t n = gap->n - gap->first;

	if (n > GAP_EVENTS)
		n = GAP_EVENTS;
	gap->is_learned = n >= N_LEAST && learn_from(gap, gap->n - n);
	gap->n_odd = 0;
	if (!gap->is_learned)
		guess(gap);
	gap->learn_at = gap->n + 4 + n / 2;
}

void
gap_init(struct gap *gap, int64_t fixed_ns)
{
	*gap = (struct gap){
		.first = N_START,
		.learn_at = N_LEAST + N_START,
		.threshold_ns = fixed_ns > 0 ? fixed_ns : GAP_GUESS_NS,
		.is_fixed = fixed_ns > 0,
		.is_learned = fixed_ns > 0,
		.per_iteration = 1,
	};
}

int64_t
gap_threshold_ns(const struct gap *gap)
{
	return gap->threshold_ns;
}

static void
forget(struct gap *gap)
{
	gap->first = gap->n;
	gap->is_learned = false;
	gap->learn_at = gap->n + N_LEAST;
	guess(gap);
}

static bool
is_boundary(struct gap *gap, const struct gap_event *event)
{
	if (!gap->n_in_cycle)
		return event->gap_ns >= gap->threshold_ns;
	if ((gap->n - 1) % gap->n_in_cycle != gap->cycle_at)
		return false;
	if (event->what == gap->cycle_what)
		return true;
	forget(gap); /* The messages now come in another order. */
	return false;
}

/* An iteration begins; after repeated begins at unexpected places, starts over. */
static bool
begins(struct gap *gap)
{
	bool is_odd = gap->n - gap->boundary != gap->per_iteration;

	gap->boundary = gap->n;
	gap->n_odd = is_odd ? gap->n_odd + 1 : 0;
	if (gap->is_learned && gap->n_odd >= N_ODD)
		forget(gap);
	return true;
}

bool
gap_next(struct gap *gap, int64_t gap_ns, uint32_t what)
{
	struct gap_event *event = &gap->ring[gap->n % GAP_EVENTS];

	/* The exact length of longer gaps does not matter. */
	if (gap_ns < 0 || gap_ns > LONGEST_NS)
		gap_ns = gap_ns < 0 ? 0 : LONGEST_NS;
	*event = (struct gap_event){ gap_ns, what };
	gap->n++;
	if (gap->is_fixed)
		return gap_ns >= gap->threshold_ns;
	if (gap->n <= N_START)
		return false;
	if (gap->n >= gap->learn_at)
		learn(gap);
	else if (!gap->is_learned)
		guess(gap);
	if (is_boundary(gap, event))
		return begins(gap);
	/* Too long without a boundary: the job has changed. */
	if (gap->is_learned && gap->n - gap->boundary > N_GUESS &&
	    gap->n - gap->boundary > 4u * gap->per_iteration)
		forget(gap);
	return false;
}
