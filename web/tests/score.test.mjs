// SPDX-License-Identifier: Apache-2.0
// The score of the page is that of 'antiphase compat': fixtures/compat.json has jobs,
// shifts and scores of golden runs.
import assert from "node:assert/strict";
import test from "node:test";
import { commonPeriod, demand, score } from "../src/model/circle.js";
import { fixture, random } from "./tools.mjs";

const near = (a, b, what) => assert.ok(Math.abs(a - b) < 5e-9, `${what}: ${a}, expected ${b}`);

test("scores equal those of antiphase compat", () => {
	const cases = fixture("compat.json");
	assert.ok(cases.length >= 6);
	for (const { name, answer, profiles } of cases) {
		const jobs = answer.jobs.map((job, i) => ({ ...profiles[i], factor: job.factor }));
		const capacity = answer.capacity_bps;
		near(score(jobs, capacity, answer.jobs.map((job) => job.shift_us)).score, answer.score, `${name}, shifted`);
		near(score(jobs, capacity, jobs.map(() => 0)).score, answer.score_unshifted, `${name}, unshifted`);
	}
});

// Looks at each microsecond.
function naive(jobs, capacity, shifts, period) {
	let excess = 0;
	for (let t = 0; t < period; t++) {
		let bps = 0;
		jobs.forEach((job, i) => {
			const at = (((t - shifts[i]) % job.period_us) + job.period_us) % job.period_us;
			for (const p of job.phases)
				for (const turn of [0, job.period_us])
					if (at + turn >= p.start_us && at + turn < p.start_us + p.duration_us) bps += p.rate_bps * job.factor;
		});
		excess += Math.max(0, bps - capacity);
	}
	return 1 - excess / period / capacity;
}

test("scores equal those of a look at each microsecond", () => {
	const draw = random(1);
	for (let n = 0; n < 200; n++) {
		const jobs = Array.from({ length: 1 + draw(3) }, () => {
			const period_us = [6, 8, 12, 24][draw(4)];
			return { period_us, factor: 1 + draw(3), phases: Array.from({ length: 1 + draw(2) }, () => ({ start_us: draw(period_us), duration_us: 1 + draw(period_us - 1), rate_bps: 1 + draw(9) })) };
		});
		const shifts = jobs.map(() => draw(50)), capacity = 5 + draw(9), period = commonPeriod(jobs);
		near(score(jobs, capacity, shifts).score, naive(jobs, capacity, shifts, period), JSON.stringify(jobs));
		const steps = demand(jobs, shifts, period);
		assert.equal(steps[0][0], 0);
		assert.equal(steps.at(-1)[1], period);
	}
});

test("periods without a useful common multiple have no score", () => {
	const job = (period_us) => ({ period_us, factor: 1, phases: [{ start_us: 0, duration_us: 1000, rate_bps: 1e9 }] });
	assert.equal(score([job(101003), job(103017)], 1e10, [0, 0]), null);
	assert.equal(score([job(100000), job(100000)], null, [0, 0]), null);
});
