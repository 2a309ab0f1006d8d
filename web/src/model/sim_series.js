// SPDX-License-Identifier: Apache-2.0
// sim_series.js - runs by time: the series of antiphase.sim_run/2 and of the policies of
// antiphase.sim_compare/2, side by side at one time.
import * as f from "../format.js";
import { runName, sideBySide } from "./sim.js";

const NOTABLE = 0.1; // Of the capacity: differences from here on are marked.

// [{name, series}] of all that can be played.
export function played({ compare, runs = [] }) {
	const policies = (compare?.policies ?? []).map((p) => ({ name: p.policy, series: p.series }));
	return [...policies, ...runs.map((run) => ({ name: runName(run), series: run.series }))].filter(({ series }) => series?.links.length);
}

// {begin_us, end_us, step_us}; null: there is nothing to play.
export function playedSpan(list) {
	if (!list.length) return null;
	return { begin_us: 0, end_us: Math.ceil(Math.max(...list.map(({ series }) => series.end_us))), step_us: Math.max(...list.map(({ series }) => series.step_us)) };
}

// The number of the step at a time; -1: the run has ended.
export function stepAt(series, us) {
	const n = series.links[0].permille.length;
	return us > Math.ceil(series.end_us) ? -1 : Math.min(n - 1, Math.floor(us / series.step_us));
}

// Names of the links, those that are exceeded longest in any run first, then by traffic.
export function playedLinks(list) {
	const found = new Map();
	for (const { series } of list)
		for (const link of series.links) {
			const sum = (key) => link[key].reduce((a, b) => a + b, 0) * series.step_us;
			const old = found.get(link.link) ?? [0, 0];
			found.set(link.link, [Math.max(old[0], sum("over_permille")), Math.max(old[1], sum("permille"))]);
		}
	return [...found].sort((a, b) => b[1][0] - a[1][0] || b[1][1] - a[1][1]).map(([name]) => name);
}

// {shares, over}: at a time the share of the capacity by link, and the links that are
// exceeded.
export function linksAt(series, us) {
	const k = stepAt(series, us);
	return { shares: new Map(series.links.map((l) => [l.link, l.permille[k] === undefined ? null : l.permille[k] / 1000])),
		over: new Set(series.links.filter((l) => l.over_permille[k] > 0).map((l) => l.link)) };
}

function pointsText(value, base) {
	const points = f.fixed(Math.abs(100 * (value - base)), 0);
	return points === "0" ? "same" : `${points} points ${value < base ? "less" : "more"}`;
}

// A row for each link: {key, name, v0, o0, v1, ...}: shares of the capacity, and of the
// step in which it is exceeded; marked where the last run differs from the first.
export function linkRows(list, names, us) {
	const rows = new Map(names.map((name) => [name, { key: name, name }]));
	list.forEach(({ series }, i) => {
		const k = stepAt(series, us);
		for (const link of series.links) {
			const row = rows.get(link.link);
			if (!row || k < 0) continue;
			row[`v${i}`] = link.permille[k] / 1000;
			row[`o${i}`] = link.over_permille[k] / 1000;
		}
	});
	return [...rows.values()].map((row) => {
		const n = list.length - 1, base = row.v0, last = row[`v${n}`];
		if (base === undefined || last === undefined) return { ...row, change: "-" };
		return { ...row, change: pointsText(last, base), isMarked: Math.abs(last - base) >= NOTABLE || (row.o0 > 0) !== (row[`o${n}`] > 0) };
	});
}

export const shareText = (share, over) => `${f.percent(share)}${over > 0 ? `, exceeded ${f.percent(over)}` : ""}`;

// The entry of a job at a time; -1: none has begun.
export function entryAt(job, us) {
	let k = -1;
	while (k + 1 < job.start_us.length && job.start_us[k + 1] <= us) k++;
	return k;
}

// A row for each job, with the iteration time of each run, as jobsByRun() has them.
export const iterationRows = (list, us) => sideBySide(list.map(({ series }) => series.jobs.map((job) => ({ ...job, now_us: us > Math.ceil(series.end_us) ? null : job.mean_us[entryAt(job, us)] }))), "job", (job) => job.now_us);
