// SPDX-License-Identifier: Apache-2.0
// advice.jsx - what is advised, what was done, and what came of it.  The page changes
// nothing: it shows the command to type.
import * as f from "../format.js";
import { docs, isViewer } from "../state.js";
import { quote } from "../shell.js";
import { Command, Facts, JobName, LinkName, NEEDS_SCHEDULER, Panel } from "./parts.jsx";

const verdicts = { too_early: "too early to tell", not_followed: "the shift is not followed", no_before: "nothing to compare with",
	less: "less than advised", as_advised: "as advised", more: "more than advised" };

function evidenceText(e) {
	if (e.source === "none") return "none yet";
	const age = e.age_us === null ? "" : `, ${f.seconds(e.age_us)} old`;
	return `${e.iterations} iterations (${e.source})${age}; ${e.silent_hosts} of the fabric's hosts are silent`;
}

function gainText(advice) {
	return advice.gain_high > 0 ? `${f.range(advice.gain_low, advice.gain_high)} of the iteration time` : "-";
}

function outcomeText(outcome) {
	const shift = outcome?.shift;
	if (!shift) return null;
	const gain = shift.gain === null ? "" : `: ${f.percent(shift.gain, 1)} +- ${f.percent(shift.gain_error, 1)}`;
	return `${verdicts[shift.verdict] ?? shift.verdict}${gain} (predicted ${f.range(shift.gain_low, shift.gain_high)})`;
}

export function AdviceText({ advice }) {
	const facts = [["Reason", advice.reason], ["Evidence", evidenceText(advice.evidence)]];
	if (advice.pacing) facts.push(["Pacing", advice.pacing], ["Shift", advice.pacing === "free" ? "-" : `${f.ms(advice.shift_us)}, slack ${f.ms(advice.slack_us)}`],
		["Score of its worst link", `${f.number(advice.score_before)} to ${f.number(advice.score_after)}`],
		["Slowdown", `${f.number(advice.slowdown_before)} to ${f.number(advice.slowdown_after)}`]);
	facts.push(["Expected gain", gainText(advice)], ["Made", f.time(advice.at_us)], ["Valid until", f.time(advice.valid_until_us)]);
	const outcome = outcomeText(advice.outcome);
	if (outcome) facts.push(["Outcome", outcome]);
	return (
		<Panel isText title={`Advice for ${advice.job}`} name={`advice-${advice.job}`} json={advice} empty="No contended link."
			rows={(advice.links ?? []).map((l) => ({ key: l.link, ...l }))}
			columns={[{ key: "link", name: "LINK", show: (row) => <LinkName name={row.link} /> }, { key: "jobs", name: "JOBS", isNumber: true },
				{ key: "score_before", name: "SCORE", isNumber: true, show: (row) => f.number(row.score_before, 4) },
				{ key: "score_after", name: "AFTER", isNumber: true, show: (row) => f.number(row.score_after, 4) },
				{ key: "excess_before_bps", name: "EXCESS", isNumber: true, show: (row) => f.rate(row.excess_before_bps) },
				{ key: "excess_after_bps", name: "AFTER", isNumber: true, show: (row) => f.rate(row.excess_after_bps) }]}>
			<p class="say">{advice.text} {advice.remedy}</p>
			<Facts rows={facts} />
			{advice.places?.length > 0 && <p>Places, best first: {advice.places.map((p) => `${p.nodes} (loss ${f.percent(p.loss, 1)})`).join("; ")}</p>}
			{advice.move && <p>Move from {advice.move.from.join(", ")} to {advice.move.to.join(", ")}.</p>}
			<Command text={`antiphase explain ${quote(advice.job)}`} />
		</Panel>
	);
}

function State() {
	const { health, config } = docs.value;
	if (!health) return null;
	return (
		<section class="panel" aria-label="Mode">
			<div class="head"><h2>Mode</h2></div>
			<Facts rows={[["Mode", config?.mode ?? "-"], ["Kill switch", health.is_stopped ? "set: antiphase changes nothing" : "not set"],
				["Cluster's scheduler", health.host ?? "none"], ["Jobs with advice", `${health.advised_jobs} of ${health.jobs}`], ["Waiting jobs", f.text(health.waiting_jobs)]]} />
			<p>This page changes nothing. To change the mode to observe, advise or enforce:</p>
			<Command text="antiphase ctl scheduler mode advise" />
		</section>
	);
}

// A document of 'antiphase advise'.
function Plan() {
	const { plan } = docs.value;
	if (!plan) return null;
	const rows = plan.jobs.map((job) => ({ key: job.job, ...job, hosts: job.hosts.join(","), shift_us: job.pacing === "free" ? null : job.shift_us, gain: gainText(job) }));
	return (
		<>
			<section class="panel" aria-label="Advice document">
				<div class="head"><h2>Advice of policy {plan.policy}</h2></div>
				<Facts rows={[["Goodput without it", f.number(plan.goodput_before)], ["With it", f.number(plan.goodput_after)], ["Simulated runs", f.text(plan.n_runs)], ["Seed", f.text(plan.seed)]]} />
				<Command text="antiphase explain FILE JOB" />
			</section>
			<Panel title="Jobs" name="plan-jobs" json={plan} rows={rows}
				columns={[{ key: "job", name: "JOB" }, { key: "hosts", name: "HOSTS" }, { key: "pacing", name: "PACING" },
					{ key: "shift_us", name: "SHIFT", isNumber: true, show: (row) => f.ms(row.shift_us) },
					{ key: "score_before", name: "SCORE", isNumber: true, show: (row) => f.number(row.score_before, 4) },
					{ key: "score_after", name: "AFTER", isNumber: true, show: (row) => f.number(row.score_after, 4) },
					{ key: "gain", name: "EXPECTED GAIN" }, { key: "reason", name: "REASON" }, { key: "text", name: "WHY", isLong: true }]} />
			<Panel title="Links that can be exceeded" name="plan-links" json={plan.links} empty="No link can be exceeded." rows={plan.links.map((l) => ({ key: l.link, ...l, jobs: l.jobs.join(", ") }))}
				columns={[{ key: "link", name: "LINK" }, { key: "capacity_bps", name: "CAP", isNumber: true, show: (row) => f.rate(row.capacity_bps) },
					{ key: "score_before", name: "SCORE", isNumber: true, show: (row) => f.number(row.score_before, 4) },
					{ key: "score_after", name: "AFTER", isNumber: true, show: (row) => f.number(row.score_after, 4) }, { key: "jobs", name: "JOBS" }]} />
		</>
	);
}

export function Advice() {
	const { advice, changes, plan } = docs.value;
	if (isViewer()) return <section class="panel" aria-label="Advice"><p class="empty">{NEEDS_SCHEDULER}</p></section>;
	const rows = (advice?.advice ?? []).map((a) => ({ key: a.job, job: a.job, reason: a.reason, shift_us: a.pacing === "free" ? null : a.shift_us ?? null, score_before: a.score_before ?? null,
		score_after: a.score_after ?? null, gain: gainText(a), outcome: outcomeText(a.outcome), text: a.text }));
	return (
		<>
			<State />
			<Plan />
			{(advice || !plan) && <Panel title="Advice" name="advice" rows={rows} json={advice} empty="No job is known yet."
				columns={[{ key: "job", name: "JOB", show: (row) => <JobName name={row.job} /> }, { key: "reason", name: "REASON" },
					{ key: "shift_us", name: "SHIFT", isNumber: true, show: (row) => f.ms(row.shift_us) },
					{ key: "score_before", name: "SCORE", isNumber: true, show: (row) => f.number(row.score_before, 4) },
					{ key: "score_after", name: "AFTER", isNumber: true, show: (row) => f.number(row.score_after, 4) },
					{ key: "gain", name: "EXPECTED GAIN" }, { key: "outcome", name: "OUTCOME" }, { key: "text", name: "WHY", isLong: true }]} />}
			{changes && (
				<Panel title="Actions" name="changes" json={changes} empty="antiphase has changed nothing."
					rows={changes.log.map((line) => ({ key: line.id, ...line }))}
					columns={[{ key: "at_us", name: "TIME", show: (row) => f.time(row.at_us) }, { key: "job", name: "JOB", show: (row) => <JobName name={row.job} /> },
						{ key: "action", name: "ACTION" }, { key: "state", name: "STATE" }, { key: "nodes", name: "NODES" }, { key: "text", name: "WHY", isLong: true }, { key: "error", name: "ERROR", isLong: true }]} />
			)}
		</>
	);
}
