// SPDX-License-Identifier: Apache-2.0
// circle.js - the score of jobs on one link, as 'antiphase compat' computes it:
// 1 - (mean of max(0, demand - capacity)) / capacity, over the common period.

// Steps of the exact sweep.  Beyond them the periods have no useful common multiple.
const MAX_STEPS = 400000;

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

// The common multiple of the periods in microseconds, or null if the sweep is too long.
export function commonPeriod(jobs) {
	let period = 1, steps = 0;
	for (const job of jobs) {
		period = (period / gcd(period, job.period_us)) * job.period_us;
		if (!Number.isSafeInteger(period)) return null;
	}
	for (const job of jobs)
		steps += (2 * job.phases.length * period) / job.period_us;
	return steps <= MAX_STEPS ? period : null;
}

// Adds a rate over [from, from + length) of the circle 'period' to the steps.
function addPhase(steps, period, from, length, bps) {
	const begin = ((from % period) + period) % period;
	const end = begin + length;
	const add = (at, value) => steps.set(at, (steps.get(at) || 0) + value);
	if (length >= period) return add(0, bps);
	add(begin, bps);
	if (end < period) return add(end, -bps);
	if (end > period) {
		add(0, bps);
		add(end - period, -bps);
	}
}

// The summed demand of jobs, each delayed by shifts[i], as [from_us, to_us, bps] of
// one common period, in order.
export function demand(jobs, shifts, period) {
	const changes = new Map([[0, 0]]);
	jobs.forEach((job, i) => {
		for (let k = 0; k < period / job.period_us; k++)
			for (const phase of job.phases)
				addPhase(changes, period, phase.start_us + shifts[i] + k * job.period_us,
					phase.duration_us, phase.rate_bps * job.factor);
	});
	const times = [...changes.keys()].sort((a, b) => a - b);
	let bps = 0;
	return times.map((from, i) => {
		bps += changes.get(from);
		return [from, i + 1 < times.length ? times[i + 1] : period, Math.abs(bps) < 1 ? 0 : bps];
	});
}

// {score, excess_bps} at these shifts; null if the capacity or the common period is
// unknown.
export function score(jobs, capacity_bps, shifts) {
	const period = commonPeriod(jobs);
	if (period === null || !(capacity_bps > 0)) return null;
	let excess = 0;
	for (const [from, to, bps] of demand(jobs, shifts, period))
		excess += Math.max(0, bps - capacity_bps) * (to - from);
	const excess_bps = excess / period;
	return { score: 1 - excess_bps / capacity_bps, excess_bps };
}
