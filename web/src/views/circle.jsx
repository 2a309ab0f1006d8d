// SPDX-License-Identifier: Apache-2.0
// circle.jsx - the compatibility circle of a link, before and after, with a slider for
// each job's shift.  The score is that of 'antiphase compat' at these shifts.
import { useEffect, useState } from "preact/hooks";
import * as f from "../format.js";
import { jobColor } from "../color.js";
import { jobArcs, ring, sumArcs } from "../layout/arcs.js";
import { commonPeriod, demand, score } from "../model/circle.js";
import { dark } from "../state.js";
import { quote } from "../shell.js";
import { Command, Swatch, Table } from "./parts.jsx";

const SIZE = 300, INNER = 28, SUM = 22;

export function Circle({ jobs, shifts, period_us, capacity_bps, colors, title }) {
	const thickness = (SIZE / 2 - INNER - 3 * SUM) / Math.max(1, jobs.length);
	const scale = Math.max(...jobs.flatMap((job) => job.phases.map((p) => p.rate_bps * job.factor)), 1);
	const base = INNER + thickness * jobs.length + 4;
	const { within, over } = sumArcs(demand(jobs, shifts, period_us), period_us, capacity_bps, base, SUM);
	const ink = dark.value ? "#c9d1d9" : "#57606a", hot = dark.value ? "#ff9492" : "#b00020";
	return (
		<figure>
			<svg class="chart" viewBox={`${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`} width={SIZE} height={SIZE} role="img" aria-label={title}>
				<defs>
					<pattern id="over" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
						<rect width="4" height="4" fill={dark.value ? "#3d1516" : "#ffd8d8"} /><rect width="2" height="4" fill={hot} />
					</pattern>
				</defs>
				{jobs.map((job, i) => {
					const inner = INNER + thickness * i;
					return (
						<g key={job.job}>
							<path d={ring(0, period_us, period_us, inner, inner + 0.8)} fill={ink} />
							{jobArcs(job, shifts[i], period_us, inner, thickness - 2, scale).map((arc) => (
								<path d={arc.path} fill={jobColor(colors[i], dark.value)}>
									<title>{`${job.job}: ${f.rate(arc.bps)} from ${f.ms(arc.from_us)} to ${f.ms(arc.to_us)}`}</title>
								</path>
							))}
						</g>
					);
				})}
				{within.map((arc) => <path d={arc.path} fill={ink} />)}
				<path d={ring(0, period_us, period_us, base + SUM, base + SUM + 1)} fill={ink} />
				{over.map((arc) => (
					<path d={arc.path} fill="url(#over)">
						<title>{`${f.rate(arc.bps)} demanded from ${f.ms(arc.from_us)} to ${f.ms(arc.to_us)}`}</title>
					</path>
				))}
				<path d={`M0 ${-INNER}V${-SIZE / 2}`} stroke={ink} stroke-dasharray="2 3" />
			</svg>
			<figcaption>{title}</figcaption>
		</figure>
	);
}

export function Circles({ circle, colors }) {
	const jobs = circle.jobs.filter((job) => job.factor > 0 && job.phases.length);
	const given = jobs.map((job) => job.shift_us ?? 0);
	const [moved, setMoved] = useState({});
	useEffect(() => setMoved({}), [circle.link]);
	const period_us = commonPeriod(jobs);
	if (jobs.length < 2)
		return <p class="empty">Fewer than two jobs with a known period use this link, so there is nothing to interleave.</p>;
	if (period_us === null || !(circle.capacity_bps > 0))
		return <p class="empty">{period_us === null ? "The periods of these jobs have no useful common multiple, so no shift keeps their bursts apart."
			: "The capacity of this link is unknown."}</p>;
	const shifts = jobs.map((job, i) => moved[job.job] ?? given[i]);
	const zero = jobs.map(() => 0);
	const before = score(jobs, circle.capacity_bps, zero), after = score(jobs, circle.capacity_bps, shifts);
	const props = { jobs, period_us, capacity_bps: circle.capacity_bps, colors };
	const rows = jobs.map((job, i) => ({ key: job.job, job: job.job, period_us: job.period_us, factor: job.factor, shift_us: shifts[i], advised_us: job.shift_us }));
	return (
		<div class="circles">
			<div class="pair">
				<Circle {...props} shifts={zero} title={`All start together: score ${f.number(before.score, 4)}`} />
				<Circle {...props} shifts={shifts} title={`With these shifts: score ${f.number(after.score, 4)}`} />
			</div>
			<p>Once around is {f.ms(period_us)}; from the inside, a ring for each job, then the sum. The line is the capacity, {f.rate(circle.capacity_bps)}; hatched: demand above it. A ring has what the job sent: where jobs slow each other down, that is less at a time than they would send alone.</p>
			<div class="sliders">
				{jobs.map((job, i) => (
					<label>
						<Swatch index={colors[i]} /> Shift of {job.job}: <output>{f.ms(shifts[i])}</output>
						<input type="range" min="0" max={job.period_us - 1} step={Math.max(1, Math.round(job.period_us / 200))} value={shifts[i]}
							onInput={(e) => setMoved({ ...moved, [job.job]: Number(e.currentTarget.value) })} />
					</label>
				))}
				<button type="button" onClick={() => setMoved({})}>Advised shifts</button>
			</div>
			<p role="status" class="score" data-score={after.score}>
				Score {f.number(after.score, 4)}; mean demand above the capacity {f.rate(after.excess_bps)}.
			</p>
			<Table caption="Jobs of the circle" rows={rows} columns={[
				{ key: "job", name: "JOB" },
				{ key: "period_us", name: "PERIOD", isNumber: true, show: (row) => f.ms(row.period_us) },
				{ key: "factor", name: "FACTOR", isNumber: true },
				{ key: "shift_us", name: "SHIFT", isNumber: true, show: (row) => f.ms(row.shift_us) },
				{ key: "advised_us", name: "ADVISED", isNumber: true, show: (row) => f.ms(row.advised_us) }]} />
			<Command text={`antiphase compat --capacity-gbps ${circle.capacity_bps / 1e9} ${jobs.map((j) => quote(`${j.job}.json`)).join(" ")}`} />
		</div>
	);
}
