// SPDX-License-Identifier: Apache-2.0
// jobs.jsx - all jobs, and one of them.
import { computed } from "@preact/signals";
import * as f from "../format.js";
import { docs, href, isViewer, mode, place, placeOf } from "../state.js";
import { quote } from "../shell.js";
import { AdviceText } from "./advice.jsx";
import { Iterations } from "./iterations.jsx";
import { Command, Facts, JobName, LinkName, Names, NEEDS_SCHEDULER, Panel, Swatch } from "./parts.jsx";

const advices = computed(() => new Map((docs.value.advice?.advice ?? []).map((a) => [a.job, a])));
const adviceOf = (name) => advices.value.get(name);

export function Jobs() {
	const hasAdvice = Boolean(docs.value.advice);
	const rows = (docs.value.jobs?.jobs ?? []).map((job) => ({ key: job.job, job: job.job, hosts: job.hosts.length, period_us: job.period_us, jitter_us: job.jitter_us,
		duty_ratio: job.duty_ratio, bytes_per_iteration: job.bytes_per_iteration, confidence: job.confidence,
		slowdown: adviceOf(job.job)?.slowdown_before ?? null, advice: adviceOf(job.job)?.reason ?? null }));
	const lost = docs.value.fragmentation?.lost;
	return (
		<>
			<Panel title="Jobs" name="jobs" rows={rows} json={docs.value.jobs} empty="No job has traffic."
				columns={[{ key: "job", name: "JOB", show: (row) => <><Swatch index={placeOf(row.job)} /> <JobName name={row.job} /></> },
					{ key: "hosts", name: "HOSTS", isNumber: true }, { key: "period_us", name: "PERIOD", isNumber: true, show: (row) => f.ms(row.period_us) },
					{ key: "jitter_us", name: "JITTER", isNumber: true, show: (row) => f.ms(row.jitter_us) },
					{ key: "duty_ratio", name: "DUTY", isNumber: true, show: (row) => f.percent(row.duty_ratio) },
					{ key: "bytes_per_iteration", name: "SENT", isNumber: true, show: (row) => f.megabytes(row.bytes_per_iteration) },
					{ key: "confidence", name: "CONFIDENCE", isNumber: true, show: (row) => f.number(row.confidence) },
					...(hasAdvice ? [{ key: "slowdown", name: "SLOWDOWN", isNumber: true, show: (row) => f.number(row.slowdown) }, { key: "advice", name: "ADVICE" }] : [])]} />
			{isViewer() && <p class="note">{NEEDS_SCHEDULER}</p>}
			{lost !== null && lost !== undefined && <Fragmentation />}
		</>
	);
}

function Fragmentation() {
	const doc = docs.value.fragmentation;
	return (
		<Panel title="Fragmentation: jobs scattered over racks" name="fragmentation" json={doc} rows={doc.jobs.map((job) => ({ key: job.job, ...job }))}
			columns={[{ key: "job", name: "JOB", show: (row) => <JobName name={row.job} /> }, { key: "n_racks", name: "RACKS", isNumber: true },
				{ key: "n_racks_needed", name: "NEEDED", isNumber: true }, { key: "slowdown", name: "SLOWDOWN", isNumber: true, show: (row) => f.number(row.slowdown) },
				{ key: "slowdown_packed", name: "PACKED", isNumber: true, show: (row) => f.number(row.slowdown_packed) },
				{ key: "lost", name: "LOST", isNumber: true, show: (row) => f.percent(row.lost, 1) }]} />
	);
}

// The periods of the last estimates, oldest first.
function Trend({ job }) {
	const n = job.trend_us.length, width = 480, height = 90, left = 70;
	const top = Math.max(...job.trend_us) * 1.1 || 1;
	const points = job.trend_us.map((us, i) => `${Math.round((i * width) / Math.max(1, n - 1))},${Math.round(height * (1 - us / top))}`);
	return (
		<svg class="chart" viewBox={`${-left} -8 ${width + left + 8} ${height + 16}`} width={width + left} height={height + 16} role="img" aria-label={`Iteration time of ${job.job}`}>
			<path d={`M0 0V${height}H${width}`} fill="none" stroke="currentColor" stroke-width="0.5" />
			<text x="-6" y="8" text-anchor="end" font-size="11" fill="currentColor">{f.ms(top)}</text>
			<text x="-6" y={height} text-anchor="end" font-size="11" fill="currentColor">0</text>
			<polyline points={points.join(" ")} fill="none" stroke="currentColor" stroke-width="2" />
			{n === 1 && <circle cx="0" cy={points[0].split(",")[1]} r="3" fill="currentColor" />}
		</svg>
	);
}

export function Job() {
	const name = place.value.job;
	const job = docs.value.jobs?.jobs.find((j) => j.job === name);
	const advice = adviceOf(name);
	if (!job && !advice)
		return (
			<section class="panel" aria-label="Job"><div class="head"><h2>Job {name ?? ""}</h2></div>
				<p class="empty">This job has no traffic. <a href={href("jobs")}>All jobs</a></p></section>
		);
	const trend = job?.trend_us.length > 0 && (
		<Panel title="Iteration time, last estimates" name={`trend-${name}`} rows={job.trend_us.map((us, i) => ({ key: i, estimate: i + 1, period_us: us }))}
			columns={[{ key: "estimate", name: "ESTIMATE", isNumber: true }, { key: "period_us", name: "PERIOD", isNumber: true, show: (row) => f.ms(row.period_us) }]}>
			<Trend job={job} />
		</Panel>
	);
	return (
		<>
			<section class="panel" aria-label={`Job ${name}`}>
				<div class="head"><h2>Job {name}</h2></div>
				{job && <Facts rows={[["Period", f.ms(job.period_us)], ["Jitter", f.ms(job.jitter_us)], ["Duty", f.percent(job.duty_ratio)],
					["Sent per iteration", f.megabytes(job.bytes_per_iteration)], ["Iterations seen", f.text(job.iterations)], ["Confidence", f.number(job.confidence)],
					...(isViewer() ? [] : [["Slowdown against isolated", f.number(advice?.slowdown_before)]]),
					["Period changed", job.has_changed ? `${f.time(job.changed_at_us)}, from ${f.ms(job.period_before_us)}` : "-"],
					["Hosts", job.hosts.join(", ")], ["On the map", <a href={href("fabric", { job: name })}>show its links</a>]]} />}
				{job?.why && <p>No {job.period_us ? "newer " : ""}estimate: {job.why}</p>}
				<Command text={isViewer() ? `antiphase job ${quote(name)}` : `antiphase explain ${quote(name)}`} />
			</section>
			{mode.value === "scheduler" ? <Iterations name={name}>{trend}</Iterations> : trend}
			{advice && <AdviceText advice={advice} />}
			{job?.links.length > 0 && (
				<section class="panel" aria-label="Links of this job"><div class="head"><h2>Links</h2></div><p><Names of={LinkName} names={job.links} /></p></section>
			)}
		</>
	);
}
