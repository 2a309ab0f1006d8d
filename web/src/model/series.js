// SPDX-License-Identifier: Apache-2.0
// series.js - series of a link by job: from its history, and from antiphase.series/1.

// {times_us, names, rows}: rows[i] are the rates of names[i].  The last name is null, for
// traffic of no job.  'length_us' is the time that the history covers.
export function fromHistory(link, length_us) {
	const n = link.history_bps.length;
	const step = length_us / n;
	const times_us = link.history_bps.map((_, i) => i * step);
	const names = link.jobs.map((job) => job.job);
	const rows = link.jobs.map((job) => job.history_bps);
	const other = link.history_bps.map((bps, i) => bps === null ? null
		: Math.max(0, bps - rows.reduce((sum, row) => sum + (row[i] ?? 0), 0)));
	// A residue of the rounding is not traffic.
	const rest = other.map((bps, i) => (bps !== null && bps < 1e-6 * link.history_bps[i] + 1 ? 0 : bps));
	return { times_us, names: [...names, null], rows: [...rows, rest] };
}

// The same of stored samples: {at_us, step_us, job, bytes}.
export function fromSamples(samples) {
	const times = [...new Set(samples.filter((s) => s.job === null).map((s) => s.at_us))].sort((a, b) => a - b);
	const at = new Map(times.map((t, i) => [t, i]));
	const names = [...new Set(samples.map((s) => s.job).filter((j) => j !== null))].sort();
	const total = times.map(() => null);
	const rows = names.map(() => times.map(() => 0));
	for (const s of samples) {
		const i = at.get(s.at_us), bps = (8e6 * s.bytes) / s.step_us;
		if (i === undefined) continue;
		if (s.job === null) total[i] = bps;
		else rows[names.indexOf(s.job)][i] = bps;
	}
	const rest = total.map((bps, i) => bps === null ? null
		: Math.max(0, bps - rows.reduce((sum, row) => sum + row[i], 0)));
	return { times_us: times, names: [...names, null], rows: [...rows, rest] };
}

// Rows added up from below, for a stacked drawing; null where the value is unknown.
export function stack(rows) {
	const sums = [];
	rows.forEach((row, k) => {
		sums.push(row.map((v, i) => (v === null ? null : v + (k ? sums[k - 1][i] ?? 0 : 0))));
	});
	return sums;
}

// The time that histories cover: two iterations of the slowest job, or a second.
const MAX_HISTORY_US = 60e6;
export function historyUs(jobs) {
	const slowest = Math.max(0, ...(jobs?.jobs ?? []).map((job) => job.period_us ?? 0));
	return slowest ? Math.min(2 * slowest, MAX_HISTORY_US) : 1e6;
}
