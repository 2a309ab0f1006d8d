// SPDX-License-Identifier: Apache-2.0
// heat.js - utilization of links over time: {names, columns (times), step_us, use}.
const MAX_COLUMNS = 120;

function fold(names, columns, step_us, value) {
	const width = Math.max(1, Math.ceil(columns.length / MAX_COLUMNS));
	const starts = columns.filter((_, k) => k % width === 0);
	const use = names.map((name) => starts.map((_, i) => {
		let sum = 0, n = 0;
		for (let k = i * width; k < Math.min(columns.length, (i + 1) * width); k++) {
			const v = value(name, k);
			if (v !== null && v !== undefined) {
				sum += v;
				n++;
			}
		}
		return n ? sum / n : null;
	}));
	return { names, columns: starts, step_us: step_us * width, use };
}

// From ticks: [{at_us, use: Map of shares by link}].
export function fromTicks(names, ticks) {
	const step = ticks.length > 1 ? (ticks.at(-1).at_us - ticks[0].at_us) / (ticks.length - 1) : 1e6;
	return fold(names, ticks.map((t) => t.at_us), step, (name, k) => ticks[k].use.get(name) ?? null);
}

// From the samples of antiphase.series/1 by link.
export function fromStore(links, samples, from_us, to_us) {
	const step = Math.max(1e6, ...[...samples.values()].flat().map((s) => s.step_us));
	const first = Math.floor(from_us / step), n = Math.max(1, Math.floor(to_us / step) - first);
	const rows = new Map();
	for (const link of links) {
		const row = new Array(n).fill(null);
		for (const s of samples.get(link.link) ?? []) {
			const k = Math.floor(s.at_us / step) - first;
			if (s.job === null && k >= 0 && k < n && link.capacity_bps > 0)
				row[k] = (row[k] ?? 0) + (8e6 * s.bytes) / step / link.capacity_bps;
		}
		rows.set(link.link, row);
	}
	const columns = Array.from({ length: n }, (_, k) => (first + k) * step);
	return fold(links.map((l) => l.link), columns, step, (name, k) => rows.get(name)[k]);
}

// From antiphase.link_history/2, the first 'n' links.
export function fromRecording(doc, n) {
	const links = doc.links.slice(0, n), steps = Math.max(0, ...links.map((l) => l.permille.length));
	const rows = new Map(links.map((l) => [l.link, l.permille]));
	const columns = Array.from({ length: steps }, (_, k) => doc.from_us + k * doc.step_us);
	return fold(links.map((l) => l.link), columns, doc.step_us, (name, k) => {
		const value = rows.get(name)[k];
		return value === null || value === undefined ? null : value / 1000;
	});
}

// From the series of a simulated run, to 'end_us': 'over' has shares of the time in which
// a link is exceeded.
export function fromSeries(series, names, end_us) {
	const rows = new Map(series.links.map((link) => [link.link, link]));
	const columns = Array.from({ length: Math.ceil(end_us / series.step_us) }, (_, k) => k * series.step_us);
	const folded = (key) => fold(names, columns, series.step_us, (name, k) => (rows.get(name)?.[key][k] ?? null) === null ? null : rows.get(name)[key][k] / 1000);
	return { ...folded("permille"), over: folded("over_permille").use };
}

// {begin_us, end_us, step_us} of antiphase.link_history/2; null if it has no steps.
export function historySpan(doc) {
	const steps = Math.max(0, ...(doc?.links ?? []).map((link) => link.permille.length));
	return steps > 1 ? { begin_us: doc.from_us, end_us: doc.from_us + steps * doc.step_us, step_us: doc.step_us } : null;
}

// The share of the capacity in the step at a time, by link; null: unknown.
export function sharesAt(doc, at_us) {
	const k = Math.floor((at_us - doc.from_us) / doc.step_us);
	return new Map(doc.links.map((link) => [link.link, link.permille[k] === null || link.permille[k] === undefined ? null : link.permille[k] / 1000]));
}
