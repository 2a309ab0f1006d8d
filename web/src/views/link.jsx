// SPDX-License-Identifier: Apache-2.0
// link.jsx - one link: its figures, its series by job, its jobs, its circle.
import { useEffect, useState } from "preact/hooks";
import * as f from "../format.js";
import { OTHER } from "../color.js";
import { ask } from "../ask.js";
import { reverse } from "../model/links.js";
import { fromHistory, fromSamples, historyUs } from "../model/series.js";
import { at_us, isPlaying } from "../player.js";
import { docs, go, href, mode, place, placeOf } from "../state.js";
import { quote } from "../shell.js";
import { StackChart, stackSvg } from "./chart.jsx";
import { Circles } from "./circle.jsx";
import { Meeting } from "./meeting.jsx";
import { Command, Facts, JobName, LinkName, Panel, Swatch } from "./parts.jsx";
import { Shares } from "./shares.jsx";

const RANGES = new Map([["iteration", "two iterations"], ["600", "10 minutes"], ["3600", "1 hour"], ["86400", "1 day"]]);

// Asks for a document again whenever 'path' changes, and every 'every_ms' (0: never).
function useDocument(path, every_ms) {
	const [state, setState] = useState({});
	useEffect(() => {
		let isGone = false;
		const get = () => ask(path()).then((doc) => !isGone && setState({ doc }), (error) => !isGone && setState({ error: error.message }));
		if (!path) return setState({});
		get();
		const timer = every_ms ? setInterval(get, every_ms) : null;
		return () => {
			isGone = true;
			clearInterval(timer);
		};
	}, [path && path.key]);
	return path ? state : {};
}

function keyed(key, make) {
	make.key = key;
	return make;
}

function seriesRows(series) {
	return series.times_us.flatMap((at, i) => series.names.map((name, k) =>
		({ key: `${at} ${k}`, at_us: at, job: name ?? "(no job)", bps: series.rows[k][i] })));
}

function SeriesPanel({ link }) {
	const range = RANGES.has(place.value.range) ? place.value.range : "iteration";
	const isNow = range === "iteration" || mode.value !== "scheduler";
	const found = useDocument(isNow ? null : keyed(`${link.link} ${range}`, () => {
		const to = Date.now() * 1000;
		const step = range > 7200 ? 300e6 : range > 1800 ? 10e6 : 1e6;
		return `/api/v1/series?link=${encodeURIComponent(link.link)}&by=job&step_us=${step}&from_us=${to - range * 1e6}&to_us=${to}`;
	}), 10000);
	// By millisecond, where the server has that; else the means of the links' document.
	const isRecording = mode.value === "recording";
	const hasFine = isNow && mode.value !== "report" && link.known_us > 0 && !(isRecording && isPlaying.value);
	const finePath = () => `/api/v1/links/${encodeURIComponent(link.link)}/series${isRecording ? `?at_us=${at_us.peek()}` : ""}`;
	const fine = useDocument(hasFine ? keyed(`${link.link} fine ${isRecording ? at_us.value : ""}`, finePath) : null, isRecording ? 0 : 2000);
	const n_fine = fine.doc?.history_bps?.length;
	// Events have no means.
	const needsMeans = isNow && mode.value === "scheduler" && !n_fine && (!hasFine || fine.doc);
	const coarse = useDocument(needsMeans ? keyed(`${link.link} means`, () => `/api/v1/links/${encodeURIComponent(link.link)}`) : null, 2000);
	const means = coarse.doc?.links[0] ?? link;
	const series = isNow ? (n_fine ? fromHistory(fine.doc, n_fine * fine.doc.step_us) : fromHistory(means, historyUs(docs.value.jobs))) : found.doc ? fromSamples(found.doc.samples) : null;
	const colors = series?.names.map((name) => placeOf(name)) ?? [];
	const label = isNow ? `Rate of ${link.link} in the last two iterations of the slowest job` : `Rate of ${link.link}, last ${RANGES.get(range)}`;
	return (
		<Panel title="Rate by job" name={`series-${link.link}`} rows={series ? seriesRows(series) : []} json={found.doc ?? (n_fine ? fine.doc : means)}
			svg={() => stackSvg(series, colors, link.capacity_bps, label)} empty={found.error}
			columns={[{ key: "at_us", name: "TIME", isNumber: true, show: (row) => (isNow ? f.ms(row.at_us) : f.time(row.at_us)) },
				{ key: "job", name: "JOB" }, { key: "bps", name: "RATE", isNumber: true, show: (row) => f.rate(row.bps) }]}>
			{mode.value === "scheduler" && (
				<div class="controls">
					<label>Range{" "}
						<select value={range} onChange={(e) => go("link", { ...place.value, view: null, range: e.currentTarget.value })}>
							{[...RANGES].map(([key, text]) => <option value={key}>{text}</option>)}
						</select>
					</label>
				</div>
			)}
			{series && series.times_us.length ? <StackChart series={series} colors={colors} capacity_bps={link.capacity_bps} label={label} isClock={!isNow} />
				: <p class="empty plot">{found.error ?? (found.doc ? "No history of this time is stored." : "loading")}</p>}
			<p class="legend">
				{series?.names.map((name, i) => <span class="step"><Swatch index={name === null ? OTHER : colors[i]} />{name ?? "no job"}</span>)}
				<span>Dashed: capacity, {f.rate(link.capacity_bps)}.</span>
			</p>
		</Panel>
	);
}

const share = (part, all) => (all > 0 && part !== null ? part / all : null);

function JobsPanel({ link }) {
	const rows = link.jobs.map((job) => ({ key: job.job, job: job.job, now_bps: job.now_bps, mean_bps: job.mean_bps, peak_bps: job.peak_bps,
		alone_bps: job.alone_bps, overlap_bps: job.overlap_bps, active_ratio: share(job.active_us, link.known_us), overlap_ratio: share(job.overlap_us, link.known_us) }));
	const rate = (key, name) => ({ key, name, isNumber: true, show: (row) => f.rate(row[key]) });
	return (
		<Panel title="Jobs on this link" name={`jobs-${link.link}`} rows={rows} json={link.jobs} empty="No job sends on this link."
			columns={[{ key: "job", name: "JOB", show: (row) => <><Swatch index={placeOf(row.job)} /> <JobName name={row.job} /></> },
				rate("now_bps", "NOW"), rate("mean_bps", "MEAN"), rate("peak_bps", "PEAK"), rate("alone_bps", "ALONE"), rate("overlap_bps", "SHARED"),
				{ key: "active_ratio", name: "ACTIVE", isNumber: true, show: (row) => f.percent(row.active_ratio, 1) },
				{ key: "overlap_ratio", name: "WITH OTHERS", isNumber: true, show: (row) => f.percent(row.overlap_ratio, 1) }]} />
	);
}

function CirclePanel({ link }) {
	const isRecording = mode.value === "recording";
	const path = () => `/api/v1/links/${encodeURIComponent(link.link)}/circle${isRecording ? `?at_us=${at_us.peek()}` : ""}`;
	const moment = isRecording ? (isPlaying.value ? "plays" : at_us.value) : "";
	const found = useDocument(mode.value === "report" ? null : keyed(`${link.link} ${moment}`, path), isRecording && !isPlaying.value ? 0 : 5000);
	if (mode.value === "report") return null;
	const circle = found.doc;
	return (
		<section class="panel" aria-label="Compatibility circle">
			<div class="head"><h2>Compatibility circle</h2></div>
			{circle ? <Circles circle={circle} colors={circle.jobs.map((job) => placeOf(job.job))} /> : <p class="empty">{found.error ?? "loading"}</p>}
		</section>
	);
}

export function Link() {
	const { links, status } = docs.value;
	const name = place.value.link;
	const link = links.get(name);
	if (!link)
		return (
			<section class="panel" aria-label="Link">
				<div class="head"><h2>Link <span class="name">{name ?? ""}</span></h2></div>
				<p class="empty">{name ? "This link carries no traffic, or it is not known. " : "Choose a link. "}<a href={href("fabric")}>All links</a></p>
			</section>
		);
	return (
		<>
			<section class="panel" aria-label={`Link ${name}`}>
				<div class="head"><h2>Link <span class="name">{name}</span></h2></div>
				<Facts rows={[["Capacity", f.rate(link.capacity_bps)], ["Now", f.rate(link.now_bps)], ["Mean", f.rate(link.mean_bps)], ["Peak", f.rate(link.peak_bps)],
					["Full with two or more jobs", f.percent(link.over_ratio, 1)],
					["Contended since", link.since_us === null ? "-" : f.minutes(status.at_us - link.since_us)],
					["Basis", link.basis + (link.is_up ? "" : ", down")], ["Retransmits", f.text(link.total_retransmits)], ["ECN marks", f.text(link.total_ce)],
					["Other direction", links.has(reverse(name)) ? <LinkName name={reverse(name)} /> : "-"],
					["On the map", <a href={href("fabric", { link: name })}>show</a>]]} />
				{mode.value === "report" && docs.value.history && <p class="note">Figures of the recording's end, {f.time(status.at_us)}; the player moves the mark below.</p>}
				<Command text={`antiphase link ${quote(name)}`} />
			</section>
			<Shares link={name} />
			<SeriesPanel link={link} />
			<JobsPanel link={link} />
			<Meeting link={name} onMap />
			{link.jobs.length > 1 && <CirclePanel link={link} />}
		</>
	);
}
