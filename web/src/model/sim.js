// SPDX-License-Identifier: Apache-2.0
// sim.js - policies of antiphase.sim_compare/2, and runs of antiphase.sim_run/2, side by
// side.  Differences are in words, too.
import * as f from "../format.js";

// "12.3 % shorter", or "same" if both print alike.
export function changeText(us, base_us) {
	if (!(us >= 0) || !(base_us >= 0) || us === null || base_us === null) return "-";
	if (base_us === 0) return us > 0 ? "longer" : "same";
	const share = us / base_us - 1, text = f.percent(Math.abs(share), 1);
	return text === f.percent(0, 1) ? "same" : `${text} ${share < 0 ? "shorter" : "longer"}`;
}

function differenceText(e, isMarked) {
	if (e.difference === null || e.difference === undefined) return "-";
	return isMarked ? `${changeText(e.mean, e.mean - e.difference)}: ${e.difference < 0 ? "faster" : "slower"} by ${f.ms(Math.abs(e.difference))}` : "no difference beyond chance";
}

// A row for each policy; marked if its difference to the first one is beyond chance.
export function compareRows(doc) {
	return doc.policies.map((p, i) => {
		const e = p.iteration_mean_us;
		const difference = e.difference ?? null;
		const isMarked = difference !== null && Math.abs(difference) > (e.difference_ci95 ?? 0) && difference !== 0;
		return { key: p.policy, policy: p.policy, iteration: e, iteration_us: e.mean, difference_us: difference,
			isMarked, words: i ? differenceText(e, isMarked) : "reference",
			p99: p.iteration_p99_us, p99_us: p.iteration_p99_us?.mean, slow: p.slowdown_mean, slowdown: p.slowdown_mean?.mean,
			good: p.goodput, goodput: p.goodput?.mean };
	});
}

// Rows of things with the same name in several documents: {key, name, v0, v1, ..., change}.
// 'change' is that of the last value against the first; isMarked: there is one.
export function sideBySide(lists, name, value) {
	const rows = new Map();
	lists.forEach((list, i) => {
		for (const item of list) {
			const row = rows.get(item[name]) ?? { key: item[name], name: item[name] };
			row[`v${i}`] = value(item) ?? null;
			rows.set(item[name], row);
		}
	});
	return [...rows.values()].map((row) => {
		const change = changeText(row[`v${lists.length - 1}`], row.v0);
		return { ...row, change, isMarked: change !== "same" && change !== "-" };
	});
}

// Jobs of a comparison: a row each, with the mean iteration time by policy.
export const jobsByPolicy = (doc) => sideBySide(doc.policies.map((p) => p.jobs), "job", (job) => job.iteration_mean_us?.mean);

// Jobs and links of several runs.
export const jobsByRun = (runs) => sideBySide(runs.map((run) => run.jobs), "job", (job) => job.iteration_mean_us);
export const overByRun = (runs) => sideBySide(runs.map((run) => run.links.map((l) => ({ ...l, over: run.simulated_us > 0 ? l.over_us / run.simulated_us : null }))), "link", (l) => l.over);
export const runName = (run) => `${run.policy}, seed ${run.seed}`;
