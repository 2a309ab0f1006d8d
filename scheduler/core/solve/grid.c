/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/grid.h"

#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Limit of the sum of levels of all jobs in a slot, and of one job over all slots. */
#define MAX_LEVEL INT16_MAX
#define MAX_COST  UINT16_MAX

/* Loads of these may be unaligned. */
typedef int16_t lanes __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint16_t sums __attribute__((vector_size(16), aligned(2), may_alias));
typedef int32_t wide_sums __attribute__((vector_size(32)));
#define N_LANES 8

/* The largest scale at which no sum overflows, even if everything is rounded up. */
static double
scale_of(const struct step_function *const *steps, size_t n_jobs, size_t n_slots,
	 int64_t capacity)
{
	double peaks = 0, volume = 0;

	for (size_t j = 0; j < n_jobs; j++) {
		peaks += (double)step_function_peak(steps[j]);
		volume = fmax(volume, step_function_mean(steps[j]) * (double)n_slots);
	}
	return fmin((double)(MAX_LEVEL - n_jobs) / fmax(peaks, (double)capacity),
		    (double)(MAX_COST - n_slots) / volume);
}

/* Adds 'level' from 'from' to 'to', in slots, to the volume of each slot. */
static void
add_piece(double from, double to, double level, size_t n_slots, double *volume)
{
	for (size_t i = (size_t)from; i < n_slots && (double)i < to; i++)
		volume[i] +=
			level * (fmin(to, (double)(i + 1)) - fmax(from, (double)i));
}

static void
fill_job(struct grid_job *job, const struct step_function *step, size_t n_slots,
	 int64_t period_us, double scale)
{
	double volume[GRID_MAX_SLOTS] = { 0 };
	double per_us = (double)n_slots / (double)period_us;
	size_t n_periods = (size_t)(period_us / step->period_us);

	job->n_places = (uint16_t)(n_slots / (n_slots % n_periods ? 1 : n_periods));
	if (job->n_places % GRID_SPAN != 0)
		job->n_places = (uint16_t)n_slots;
	for (int64_t base_us = 0; base_us < period_us; base_us += step->period_us) {
		double before = scale * (double)step->level[step->n - 1];
		double from = (double)base_us * per_us;

		for (size_t i = 0; i <= step->n; i++) {
			int64_t end_us =
				i < step->n ? step->from_us[i] : step->period_us;
			double to = (double)(base_us + end_us) * per_us;

			if (before > 0)
				add_piece(from, to, before, n_slots, volume);
			from = to;
			before = i < step->n ? scale * (double)step->level[i] : 0;
		}
	}
	for (size_t i = 0; i < n_slots; i++) {
		int16_t level = (int16_t)(volume[i] + 0.5);

		job->demand[i] = job->demand[i + n_slots] = level;
		if (level == 0)
			continue;
		job->at[job->n_pulses] = (uint16_t)i;
		job->level[job->n_pulses++] = (uint16_t)level;
	}
}

void
grid_init(struct grid *grid, const struct step_function *const *steps, size_t n_jobs,
	  size_t n_slots, int64_t period_us, int64_t capacity)
{
	double scale = scale_of(steps, n_jobs, n_slots, capacity);

	BUG_ON(n_slots > GRID_MAX_SLOTS || (n_slots & (GRID_SPAN - 1)));
	memset(grid, 0, sizeof *grid);
	grid->n_slots = n_slots;
	grid->n_jobs = n_jobs;
	grid->jobs = xcalloc(n_jobs, sizeof *grid->jobs);
	grid->scale = scale;
	grid->capacity = (int16_t)(scale * (double)capacity);
#ifdef __x86_64__
	grid->has_avx2 = __builtin_cpu_supports("avx2");
#endif
	for (size_t j = 0; j < n_jobs; j++)
		fill_job(&grid->jobs[j], steps[j], n_slots, period_us, scale);
}

void
grid_fini(struct grid *grid)
{
	free(grid->jobs);
}

/* total += demand, or -= if 'sign' is -1 and not 0 */
static void
add_demand(int16_t *total, const int16_t *demand, size_t n, int16_t sign)
{
	for (size_t t = 0; t < n; t += N_LANES) {
		lanes change = (*(const lanes *)(demand + t) ^ sign) - sign;

		*(lanes *)(total + t) += change;
	}
}

/* room = max(0, capacity - total + demand), twice */
static void
fill_room(int16_t *room, const int16_t *total, const int16_t *demand, size_t n,
	  int16_t capacity)
{
	for (size_t t = 0; t < n; t += N_LANES) {
		lanes here = capacity - *(const lanes *)(total + t) +
			     *(const lanes *)(demand + t);

		here &= ~(here >> 15);
		*(lanes *)(room + t) = here;
		*(lanes *)(room + n + t) = here;
	}
}

/* max(0, level - room), lane by lane */
static sums
over_at(lanes level, const int16_t *room)
{
	lanes over = level - *(const lanes *)room;

	return (sums)(over & (over > 0));
}

/*
 * cost[s] = sum over the job's pulses of max(0, level - room[at + s]), four
 * vectors at a time: they stay in registers.
 */
static void
fill_line(const struct grid_job *job, const int16_t *room, uint16_t *cost)
{
	for (size_t s = 0; s < GRID_SPAN; s += 4 * N_LANES) {
		sums a = { 0 }, b = a, c = a, d = a;

		for (size_t i = 0; i < job->n_pulses; i++) {
			const int16_t *from = room + job->at[i] + s;
			const lanes level = (lanes){ 0 } + (int16_t)job->level[i];

			a += over_at(level, from);
			b += over_at(level, from + N_LANES);
			c += over_at(level, from + 2 * N_LANES);
			d += over_at(level, from + 3 * N_LANES);
		}
		*(sums *)(cost + s) = a;
		*(sums *)(cost + s + N_LANES) = b;
		*(sums *)(cost + s + 2 * N_LANES) = c;
		*(sums *)(cost + s + 3 * N_LANES) = d;
	}
}

static size_t
find_cheapest(const uint16_t *cost)
{
	size_t best = 0;

	for (size_t s = 1; s < GRID_SPAN; s++)
		if (cost[s] < cost[best])
			best = s;
	return best;
}

#ifdef __x86_64__
/* The same four with AVX2: a line stays in four registers. */

#define LOAD(at)     _mm256_loadu_si256((const __m256i_u *)(at))
#define STORE(at, x) _mm256_storeu_si256((__m256i_u *)(at), x)

__attribute__((target("avx2"))) static void
add_demand_avx2(int16_t *total, const int16_t *demand, size_t n, int16_t sign)
{
	const __m256i flip = _mm256_set1_epi16(sign);

	for (size_t t = 0; t < n; t += 16) {
		__m256i change = _mm256_sub_epi16(
			_mm256_xor_si256(LOAD(demand + t), flip), flip);

		STORE(total + t, _mm256_add_epi16(LOAD(total + t), change));
	}
}

__attribute__((target("avx2"))) static void
fill_room_avx2(int16_t *room, const int16_t *total, const int16_t *demand, size_t n,
	       int16_t capacity)
{
	const __m256i all = _mm256_set1_epi16(capacity);

	for (size_t t = 0; t < n; t += 16) {
		__m256i others = _mm256_sub_epi16(LOAD(total + t), LOAD(demand + t));
		__m256i here = _mm256_subs_epu16(all, others);

		STORE(room + t, here);
		STORE(room + n + t, here);
	}
}

__attribute__((target("avx2"))) static void
fill_line_avx2(const struct grid_job *job, const int16_t *room, uint16_t *cost)
{
	__m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;

	for (size_t i = 0; i < job->n_pulses; i++) {
		const int16_t *from = room + job->at[i];
		const __m256i level = _mm256_set1_epi16((int16_t)job->level[i]);

		a = _mm256_add_epi16(a, _mm256_subs_epu16(level, LOAD(from)));
		b = _mm256_add_epi16(b, _mm256_subs_epu16(level, LOAD(from + 16)));
		c = _mm256_add_epi16(c, _mm256_subs_epu16(level, LOAD(from + 32)));
		d = _mm256_add_epi16(d, _mm256_subs_epu16(level, LOAD(from + 48)));
	}
	STORE(cost, a);
	STORE(cost + 16, b);
	STORE(cost + 32, c);
	STORE(cost + 48, d);
}

/* A bit for each place in order, set where 'a' or 'b' equals 'value'. */
__attribute__((target("avx2"))) static uint32_t
find_equal_avx2(__m256i a, __m256i b, __m256i value)
{
	__m256i hit = _mm256_packs_epi16(_mm256_cmpeq_epi16(a, value),
					 _mm256_cmpeq_epi16(b, value));

	return (uint32_t)_mm256_movemask_epi8(
		_mm256_permute4x64_epi64(hit, 0xd8)); /* 0 2 1 3 */
}

__attribute__((target("avx2"))) static size_t
find_cheapest_avx2(const uint16_t *cost)
{
	__m256i a = LOAD(cost), b = LOAD(cost + 16);
	__m256i c = LOAD(cost + 32), d = LOAD(cost + 48);
	__m256i min = _mm256_min_epu16(_mm256_min_epu16(a, b), _mm256_min_epu16(c, d));
	__m128i low = _mm_minpos_epu16(_mm_min_epu16(_mm256_castsi256_si128(min),
						     _mm256_extracti128_si256(min, 1)));
	uint64_t where;

	min = _mm256_broadcastw_epi16(low);
	where = find_equal_avx2(a, b, min) | (uint64_t)find_equal_avx2(c, d, min) << 32;
	return (size_t)__builtin_ctzll(where);
}
#endif

/* The demand of job j in each slot, at its present delay. */
static const int16_t *
demand_of(const struct grid *grid, size_t j)
{
	return grid->jobs[j].demand + grid->n_slots - grid->jobs[j].slot;
}

void
grid_put(struct grid *grid, size_t j, bool is_off)
{
	const int16_t sign = is_off ? -1 : 0;

#ifdef __x86_64__
	if (grid->has_avx2) {
		add_demand_avx2(grid->total, demand_of(grid, j), grid->n_slots, sign);
		return;
	}
#endif
	add_demand(grid->total, demand_of(grid, j), grid->n_slots, sign);
}

void
grid_move(struct grid *grid, size_t j, size_t slot)
{
	grid_put(grid, j, true);
	grid->jobs[j].slot = (uint16_t)slot;
	grid_put(grid, j, false);
}

void
grid_lift(struct grid *grid, size_t j)
{
	const size_t n = grid->n_slots;

	grid->work += n / 8;
#ifdef __x86_64__
	if (grid->has_avx2)
		fill_room_avx2(grid->room, grid->total, demand_of(grid, j), n,
			       grid->capacity);
	else
#endif
		fill_room(grid->room, grid->total, demand_of(grid, j), n,
			  grid->capacity);
	memcpy(grid->room + 2 * n, grid->room, GRID_SPAN * sizeof grid->room[0]);
}

void
grid_line(struct grid *grid, size_t j, size_t first_slot)
{
	const struct grid_job *job = &grid->jobs[j];

	grid->work += job->n_pulses + 16u;
#ifdef __x86_64__
	if (grid->has_avx2) {
		fill_line_avx2(job, grid->room + first_slot, grid->cost);
		return;
	}
#endif
	fill_line(job, grid->room + first_slot, grid->cost);
}

size_t
grid_cheapest(const struct grid *grid)
{
#ifdef __x86_64__
	if (grid->has_avx2)
		return find_cheapest_avx2(grid->cost);
#endif
	return find_cheapest(grid->cost);
}

int32_t
grid_excess(const struct grid *grid)
{
	wide_sums sums_of_lanes = { 0 };
	int32_t sum = 0;

	for (size_t t = 0; t < grid->n_slots; t += N_LANES) {
		lanes over = *(const lanes *)(grid->total + t) - grid->capacity;

		over &= ~(over >> 15);
		sums_of_lanes += __builtin_convertvector(over, wide_sums);
	}
	for (size_t i = 0; i < N_LANES; i++)
		sum += sums_of_lanes[i];
	return sum;
}
