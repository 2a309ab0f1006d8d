// SPDX-License-Identifier: Apache-2.0
// sim_played.jsx - simulated runs through time, side by side at the player's time.
import { useMemo } from "preact/hooks";
import * as f from "../format.js";
import { jobColor } from "../color.js";
import { defaultLevel, makeScene } from "../layout/scene.js";
import { fromSeries } from "../model/heat.js";
import { entryAt, iterationRows, linkRows, linksAt, playedLinks, playedSpan, shareText, stepAt } from "../model/sim_series.js";
import { at_us, seek, span } from "../player.js";
import { dark, docs } from "../state.js";
import { Cells } from "./cells.jsx";
import { Legend } from "./legend.jsx";
import { Drawing } from "./map_svg.jsx";
import { Panel } from "./parts.jsx";
import { Marker } from "./shares.jsx";
import { SideBySide } from "./sim.jsx";

const MAX_LINKS = 16, MAX_JOBS = 12, MAX_EDGES = 600;
const WIDTH = 720, HEIGHT = 70, LEFT = 210;
const DASHES = [null, "7 4", "2 3", "9 3 2 3"];

const goTo = (us) => span.value?.isSim && seek(us);
const columnsOf = (list, what, show) => [{ key: "name", name: what }, ...list.map(({ name }, i) => ({ key: `v${i}`, name, isNumber: true, show: (row) => show(row, i) })),
	...(list.length > 1 ? [{ key: "change", name: list.length > 2 ? "LAST AGAINST THE FIRST" : "AGAINST THE FIRST" }] : [])];

// ---- All of the time -------------------------------------------------------------------

function LinksOverTime({ list, names }) {
	const { end_us, step_us } = playedSpan(list);
	const heats = useMemo(() => list.map(({ series }) => fromSeries(series, names.slice(0, MAX_LINKS), end_us)), [docs.value]);
	const drawn = useMemo(() => heats.map((heat, i) => (
		<figure><figcaption>{list[i].name}</figcaption><Cells heat={heat} label={`Links over time, ${list[i].name}`} say={f.ms} onCell={(_, at) => goTo(at)} /></figure>
	)), [heats, dark.value]);
	const rows = () => heats.flatMap((heat, i) => heat.names.flatMap((link, r) => heat.columns.map((at, k) => ({ key: `${i} ${r} ${k}`, run: list[i].name, link, at_us: at, use: heat.use[r][k], over: heat.over[r][k] }))));
	const left_out = Math.max(0, names.length - MAX_LINKS) + Math.max(...list.map(({ series }) => series.links_left_out));
	return (
		<Panel title="Simulated links over time" name="sim-time" rows={rows}
			columns={[{ key: "run", name: "RUN" }, { key: "link", name: "LINK" }, { key: "at_us", name: "TIME", isNumber: true, show: (row) => f.ms(row.at_us) },
				{ key: "use", name: "USE", isNumber: true, show: (row) => f.percent(row.use) }, { key: "over", name: "OVER", isNumber: true, show: (row) => f.percent(row.over) }]}>
			{drawn}
			<p class="note">Each cell is the mean share of the capacity in {f.ms(heats[0].step_us)}; a line below it: jobs want more than the capacity.{left_out > 0 && ` ${left_out} further links.`} A click goes to its time. Steps of {f.ms(step_us)} are played; a run with a shorter --duration has shorter ones.</p>
		</Panel>
	);
}

function IterationsOverTime({ list }) {
	const { end_us } = playedSpan(list);
	const names = [...new Set(list.flatMap(({ series }) => series.jobs.map((job) => job.job)))];
	const all = names.map((name) => list.map(({ series }) => series.jobs.find((job) => job.job === name)));
	const x = (us) => Math.round((10 * WIDTH * us) / end_us) / 10 + LEFT;
	const charts = useMemo(() => all.slice(0, MAX_JOBS).map((jobs, j) => {
		const top = 1.1 * Math.max(...jobs.flatMap((job) => job?.mean_us ?? [])), y = (us) => Math.round(10 * HEIGHT * (1 - us / top)) / 10;
		return (
			<svg class="chart" key={names[j]} viewBox={`0 0 ${LEFT + WIDTH} ${HEIGHT + 8}`} width={LEFT + WIDTH} height={HEIGHT + 8} role="img" aria-label={`Iteration times of ${names[j]}; 'as table' shows the figures`}
				onClick={(e) => { const r = e.currentTarget.getBoundingClientRect(); goTo(end_us * Math.max(0, ((e.clientX - r.left) / r.width * (LEFT + WIDTH) - LEFT) / WIDTH)); }}>
				<text x={LEFT - 6} y={HEIGHT} text-anchor="end" font-size="11" fill="currentColor">{names[j].slice(0, 30)}</text>
				<text x={LEFT - 6} y="10" text-anchor="end" font-size="11" fill="currentColor">{f.ms(top)}</text>
				<path d={`M${LEFT} 0V${HEIGHT}H${LEFT + WIDTH}`} fill="none" stroke="currentColor" stroke-width="0.5" />
				{jobs.map((job, i) => job && (
					<path key={i} fill="none" stroke={jobColor(i, dark.value)} stroke-width="2" stroke-dasharray={DASHES[i % DASHES.length]}
						d={job.mean_us.map((us, k) => `${k ? "L" : "M"}${x(job.start_us[k])} ${y(us)}H${x(job.start_us[k + 1] ?? Math.min(end_us, job.start_us[k] + us * job.per_entry))}`).join("")}>
						<title>{`${names[j]}, ${list[i].name}`}</title>
					</path>
				))}
				<Marker from_us={0} to_us={end_us} left={LEFT} width={WIDTH} height={HEIGHT} />
			</svg>
		);
	}), [docs.value, dark.value]);
	const rows = () => all.flatMap((jobs, j) => jobs.flatMap((job, i) => (job?.mean_us ?? []).map((us, k) => ({ key: `${j} ${i} ${k}`, job: names[j], run: list[i].name, at_us: job.start_us[k], mean_us: us, per_entry: job.per_entry }))));
	if (!names.length) return null;
	return (
		<Panel title="Iteration times over time" name="sim-iterations" rows={rows}
			columns={[{ key: "job", name: "JOB" }, { key: "run", name: "RUN" }, { key: "at_us", name: "BEGAN", isNumber: true, show: (row) => f.ms(row.at_us) },
				{ key: "mean_us", name: "ITERATION", isNumber: true, show: (row) => f.ms(row.mean_us) }, { key: "per_entry", name: "ITERATIONS", isNumber: true }]}>
			<div class="map">{charts}</div>
			<p class="legend">{list.map(({ name }, i) => (
				<span class="step"><svg width="34" height="8" aria-hidden="true"><path d="M0 4H34" stroke={jobColor(i, dark.value)} stroke-width="2" stroke-dasharray={DASHES[i % DASHES.length]} /></svg>{name}</span>
			))}{names.length > MAX_JOBS && <span>{names.length - MAX_JOBS} further jobs are in the table.</span>}</p>
		</Panel>
	);
}

// ---- One time ----------------------------------------------------------------------------

function Maps({ list, us }) {
	const { fabric } = docs.value;
	const scene = useMemo(() => fabric && makeScene(fabric, defaultLevel(fabric)), [fabric]);
	if (!scene || scene.edges.length > MAX_EDGES) return null;
	return (
		<>
			<div class="pair">
				{list.map(({ name, series }) => (
					<figure key={name}>
						<figcaption>{name}</figcaption>
						<Drawing scene={scene} shown={{ links: new Map(), by: "now", mine: null, ...linksAt(series, us) }} lines={[]} onToggle={() => {}} onOpen={() => {}} />
					</figure>
				))}
			</div>
			<Legend strokes="cross strokes: jobs want more than the capacity" />
		</>
	);
}

function Moment({ list, names }) {
	const us = at_us.value, steps = list.map(({ series }) => stepAt(series, us)).join();
	const entries = list.flatMap(({ series }) => series.jobs.map((job) => entryAt(job, us))).join();
	const links = useMemo(() => linkRows(list, names, us), [docs.value, steps]);
	const maps = useMemo(() => <Maps list={list} us={us} />, [docs.value, steps, dark.value]);
	const jobs = useMemo(() => iterationRows(list, us), [docs.value, entries, steps]);
	const ended = list.filter(({ series }) => stepAt(series, us) < 0).map(({ name }) => name);
	return (
		<>
			<section class="panel" aria-label="At this time">
				<div class="head"><h2>At {f.ms(us)} of the simulation</h2></div>
				{maps}
				<p class="note">{ended.length > 0 && `${ended.join(", ")}: ended. `}{list.length > 1 && "Marked rows: the last run differs from the first by 10 points or more, or only one of them exceeds the link."}</p>
			</section>
			<Panel title="Links at this time" name="sim-links-now" rows={links} columns={columnsOf(list, "LINK", (row, i) => shareText(row[`v${i}`], row[`o${i}`]))} />
			<SideBySide title="Iterations at this time" name="sim-jobs-now" json={jobs} what="JOB" rows={jobs} names={list.map(({ name }) => name)} show={f.ms} />
		</>
	);
}

export function Played({ list }) {
	const names = useMemo(() => playedLinks(list), [docs.value]);
	return (
		<>
			{span.value?.isSim ? <Moment list={list} names={names} /> : <p class="note">The player is that of the recording; a report of the simulation alone plays it, too.</p>}
			<LinksOverTime list={list} names={names} />
			<IterationsOverTime list={list} />
		</>
	);
}
