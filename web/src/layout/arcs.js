// SPDX-License-Identifier: Apache-2.0
// arcs.js - the compatibility circle: angle = time, thickness = rate.
import { arc } from "d3-shape";

const draw = arc();
const TURN = 2 * Math.PI;

// Cuts [from, to) of a circle of 'period' into pieces that do not cross its end.
function pieces(period, from, length) {
	const begin = ((from % period) + period) % period;
	const end = begin + Math.min(length, period);
	return end <= period ? [[begin, end]] : [[begin, period], [0, end - period]];
}

// The arcs of one job's ring: [{path, from_us, to_us, bps}].  'scale' is the rate at
// which the ring has its full thickness.
export function jobArcs(job, shift_us, period_us, inner, thickness, scale_bps) {
	const arcs = [];
	for (let k = 0; k < period_us / job.period_us; k++)
		for (const phase of job.phases) {
			const bps = phase.rate_bps * job.factor;
			const start = phase.start_us + shift_us + k * job.period_us;
			for (const [from, to] of pieces(period_us, start, phase.duration_us))
				arcs.push({ from_us: from, to_us: to, bps,
					path: ring(from, to, period_us, inner,
						inner + thickness * Math.min(1, bps / scale_bps)) });
		}
	return arcs;
}

// The path of a ring's part between two times.
export function ring(from, to, period, inner, outer) {
	return draw({ innerRadius: inner, outerRadius: outer,
		startAngle: (TURN * from) / period, endAngle: (TURN * to) / period });
}

// The outer ring: the summed demand up to the capacity, and the part above it.
export function sumArcs(steps, period_us, capacity_bps, inner, thickness) {
	const within = [], over = [];
	for (const [from, to, bps] of steps) {
		if (bps <= 0 || to <= from) continue;
		const edge = inner + thickness * Math.min(1, bps / capacity_bps);
		within.push({ from_us: from, to_us: to, bps, path: ring(from, to, period_us, inner, edge) });
		if (bps > capacity_bps * (1 + 1e-9))
			over.push({ from_us: from, to_us: to, bps,
				path: ring(from, to, period_us, edge,
					inner + thickness * Math.min(3, bps / capacity_bps)) });
	}
	return { within, over };
}
