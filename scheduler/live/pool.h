/*
 * pool.h - which series of a job are estimated from, and their bins: what 'series' and
 * 'gaps' of online.h say.  For online.c alone.
 */
#ifndef SCHEDULER_LIVE_POOL_H
#define SCHEDULER_LIVE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;
struct pool;
struct series_set;

/*
 * Of series[n] of a job, up to what is complete now and at most 'max_ms' back.  'live' is
 * borrowed; series keep their numbers in it as long as the pool is there.
 */
struct pool *pool_new(const struct live *live, const uint32_t *series, size_t n,
		      uint32_t max_ms);
void pool_free(struct pool *pool); /* Accepts NULL. */

/* Looks at some more series; true if there are more.  What follows needs them all. */
bool pool_step(struct pool *pool);

const struct live *pool_live(const struct pool *pool);
int64_t pool_to_ms(const struct pool *pool);   /* Where it ends. */
size_t pool_n_of_job(const struct pool *pool); /* Series; the job's, pooled or not. */
bool pool_is_empty(const struct pool *pool);   /* None has traffic. */
uint32_t pool_traffic_ms(const struct pool *pool); /* Since the first of its traffic. */
uint32_t pool_idle_ms(const struct pool *pool);    /* Since the last of it. */

/*
 * The last 'window_ms' of the pooled series, and which share of it was not known; the
 * number of series.  Release with series_fini(), 0 or not.
 */
size_t pool_make_set(struct pool *pool, uint32_t window_ms, struct series_set *ret_set,
		     double *ret_gap_frac);

#endif
