// SPDX-License-Identifier: Apache-2.0
// sim.jsx - the result of 'antiphase sim run' or 'compare': policies side by side.
import * as f from "../format.js";
import { compareRows, jobsByPolicy, jobsByRun, overByRun, runName } from "../model/sim.js";
import { played } from "../model/sim_series.js";
import { docs } from "../state.js";
import { Command, Facts, Panel } from "./parts.jsx";
import { Played } from "./sim_played.jsx";
import { quote } from "../shell.js";

const estimate = (e, show) => (e ? `${show(e.mean)} +- ${show(e.ci95)}` : "-");

const Series = () => <p class="note">With --series --json, the page plays links and iterations through time.</p>;

function Compare({ doc }) {
	const rows = compareRows(doc);
	return (
		<>
			<section class="panel" aria-label="Simulation">
				<div class="head"><h2>Simulation: {doc.scenario}</h2></div>
				<p>{doc.policies.length} policies over {doc.seeds.length} seeds; +- is half of the 95 % confidence interval. Differences are to {doc.policies[0]?.policy}, seed by seed; marked: the interval does not contain 0.</p>
				<Command text={`antiphase sim compare ${quote(doc.scenario)} --policies ${quote(doc.policies.map((p) => p.policy).join(","))}`} />
				{!doc.policies.some((p) => p.series) && <Series />}
			</section>
			<Panel title="Mean iteration time by policy" name="policies" json={doc} rows={rows}
				columns={[{ key: "policy", name: "POLICY" }, { key: "iteration_us", name: "ITERATION", isNumber: true, show: (row) => estimate(row.iteration, f.ms) },
					{ key: "difference_us", name: "DIFFERENCE", isNumber: true, show: (row) => (row.difference_us === null ? "-" : f.ms(row.difference_us)) },
					{ key: "words", name: "AGAINST THE FIRST" }, { key: "p99_us", name: "P99", isNumber: true, show: (row) => estimate(row.p99, f.ms) },
					{ key: "slowdown", name: "SLOWDOWN", isNumber: true, show: (row) => estimate(row.slow, f.number) },
					{ key: "goodput", name: "GOODPUT", isNumber: true, show: (row) => estimate(row.good, f.number) }]}>
				<Bars rows={rows} />
			</Panel>
			<SideBySide title="Jobs by policy: mean iteration time" name="sim-jobs" json={doc.policies} what="JOB" rows={jobsByPolicy(doc)} names={doc.policies.map((p) => p.policy)} show={f.ms} />
		</>
	);
}

// Values of the same things in several documents; marked rows differ, as the last column says.
export const SideBySide = ({ title, name, json, what, rows, names, show }) => (
	<Panel title={title} name={name} json={json} rows={rows}
		columns={[{ key: "name", name: what }, ...names.map((text, i) => ({ key: `v${i}`, name: text, isNumber: true, show: (row) => show(row[`v${i}`]) })),
			...(names.length > 1 ? [{ key: "change", name: names.length > 2 ? "LAST AGAINST THE FIRST" : "AGAINST THE FIRST" }] : [])]} />
);

// Mean iteration by policy, with its interval.
function Bars({ rows }) {
	const top = Math.max(...rows.map((r) => r.iteration.mean + r.iteration.ci95), 1), width = 520;
	const x = (us) => Math.round((us / top) * width);
	return (
		<svg class="chart" viewBox={`0 0 ${width + 480} ${rows.length * 26}`} width={width + 480} height={rows.length * 26} role="img" aria-label="Mean iteration time by policy">
			{rows.map((row, i) => (
				<g key={row.key}>
					<text x="0" y={i * 26 + 16} font-size="12" fill="currentColor">{row.policy.slice(0, 20)}</text>
					<rect x="150" y={i * 26 + 4} width={x(row.iteration.mean)} height="16" fill="currentColor" opacity={row.isMarked ? 0.9 : 0.45} />
					<text x={160 + x(row.iteration.mean + row.iteration.ci95)} y={i * 26 + 16} font-size="12" fill="currentColor">{`${estimate(row.iteration, f.ms)}${row.words === "reference" ? "" : `; ${row.words}`}`}</text>
					<path d={`M${150 + x(row.iteration.mean - row.iteration.ci95)} ${i * 26 + 12}H${150 + x(row.iteration.mean + row.iteration.ci95)}`} stroke="currentColor" stroke-width="2" />
				</g>
			))}
		</svg>
	);
}

function Run({ doc }) {
	return (
		<>
			<section class="panel" aria-label="Simulation">
				<div class="head"><h2>Simulation: {doc.scenario}</h2></div>
				<Facts rows={[["Policy", doc.policy], ["Seed", doc.seed], ["Simulated", f.seconds(doc.simulated_us)], ["Mean iteration", f.ms(doc.summary.iteration_mean_us)],
					["99th percentile", f.ms(doc.summary.iteration_p99_us)], ["Slowdown", f.number(doc.summary.slowdown_mean)], ["Goodput", f.number(doc.summary.goodput)]]} />
				<Command text={`antiphase sim run ${quote(doc.scenario)} --policy ${quote(doc.policy)} --seed ${doc.seed}`} />
				{!doc.series && <Series />}
			</section>
			<Panel title="Jobs" name="sim-jobs" json={doc.jobs} rows={doc.jobs.map((job) => ({ key: job.job, ...job, hosts: job.hosts.join(",") }))}
				columns={[{ key: "job", name: "JOB" }, { key: "hosts", name: "HOSTS" }, { key: "iterations", name: "ITERATIONS", isNumber: true },
					{ key: "iteration_mean_us", name: "MEAN", isNumber: true, show: (row) => f.ms(row.iteration_mean_us) },
					{ key: "iteration_p99_us", name: "P99", isNumber: true, show: (row) => f.ms(row.iteration_p99_us) },
					{ key: "alone_us", name: "ALONE", isNumber: true, show: (row) => f.ms(row.alone_us) },
					{ key: "slowdown", name: "SLOWDOWN", isNumber: true, show: (row) => f.number(row.slowdown) },
					{ key: "shift_us", name: "SHIFT", isNumber: true, show: (row) => f.ms(row.shift_us) }, { key: "pacing", name: "PACING" }]} />
			<Panel title="Links" name="sim-links" json={doc.links} rows={doc.links.map((l) => ({ key: l.link, ...l, over_ratio: doc.simulated_us > 0 ? l.over_us / doc.simulated_us : null }))}
				columns={[{ key: "link", name: "LINK" }, { key: "capacity_bps", name: "CAP", isNumber: true, show: (row) => f.rate(row.capacity_bps) },
					{ key: "utilization", name: "USE", isNumber: true, show: (row) => f.percent(row.utilization) },
					{ key: "peak_bps", name: "PEAK", isNumber: true, show: (row) => f.rate(row.peak_bps) },
					{ key: "over_ratio", name: "OVER", isNumber: true, show: (row) => f.percent(row.over_ratio) }, { key: "jobs", name: "JOBS", isNumber: true }]} />
		</>
	);
}

// Runs of one scenario, or of several.
function Runs({ runs }) {
	const names = runs.map(runName);
	return (
		<>
			<SideBySide title="Runs side by side: mean iteration time of jobs" name="runs-jobs" json={runs.map((run) => run.jobs)} what="JOB" rows={jobsByRun(runs)} names={names} show={f.ms} />
			<SideBySide title="Runs side by side: share of the time in which a link is exceeded" name="runs-links" json={runs.map((run) => run.links)} what="LINK" rows={overByRun(runs)} names={names} show={(v) => f.percent(v)} />
		</>
	);
}

export function Simulation() {
	const { compare, runs = [] } = docs.value, list = played(docs.value);
	return <>{list.length > 0 && <Played list={list} />}{compare && <Compare doc={compare} />}{runs.length > 1 && <Runs runs={runs} />}{runs.map((run, i) => <Run key={i} doc={run} />)}</>;
}
