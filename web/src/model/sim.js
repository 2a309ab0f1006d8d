// SPDX-License-Identifier: Apache-2.0
// sim.js - policies of antiphase.sim-compare/1 side by side.

// A row for each policy; marked if its difference to the first one is beyond chance.
export function compareRows(doc) {
	return doc.policies.map((p) => {
		const e = p.iteration_mean_us;
		const difference = e.difference ?? null;
		return { key: p.policy, policy: p.policy, iteration: e, iteration_us: e.mean, difference_us: difference,
			isMarked: difference !== null && Math.abs(difference) > (e.difference_ci95 ?? 0) && difference !== 0,
			p99: p.iteration_p99_us, p99_us: p.iteration_p99_us?.mean, slow: p.slowdown_mean, slowdown: p.slowdown_mean?.mean,
			good: p.goodput, goodput: p.goodput?.mean };
	});
}
