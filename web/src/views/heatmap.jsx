// SPDX-License-Identifier: Apache-2.0
// heatmap.jsx - link x time: which links were hot when.  Live from the ticks; longer
// ranges from the store; of a recording from its history, with the player's time.
import { useEffect, useMemo, useState } from "preact/hooks";
import * as f from "../format.js";
import { fromRecording, fromStore, fromTicks } from "../model/heat.js";
import { ask } from "../ask.js";
import { byContention } from "../model/links.js";
import { seek, span } from "../player.js";
import { dark, docs, go, mode, past, place } from "../state.js";
import { Cells } from "./cells.jsx";
import { Panel } from "./parts.jsx";

const MAX_LINKS = 40;
const RANGES = new Map([["live", "since the page was opened"], ["600", "10 minutes"], ["3600", "1 hour"], ["86400", "1 day"]]);

async function load(links, range_s) {
	const to = Date.now() * 1000, from = to - range_s * 1e6;
	const step = range_s > 7200 ? 300e6 : range_s > 900 ? 10e6 : 1e6;
	const found = new Map();
	for (const link of links) {
		const doc = await ask(`/api/v1/series?link=${encodeURIComponent(link.link)}&step_us=${step}&from_us=${from}&to_us=${to}`);
		found.set(link.link, doc.samples);
	}
	return fromStore(links, found, from, to);
}

export function Heatmap() {
	const range = RANGES.has(place.value.range) ? place.value.range : "live";
	const links = byContention(docs.value.links.values()).slice(0, MAX_LINKS);
	const [stored, setStored] = useState({});
	const names = links.map((l) => l.link);
	useEffect(() => {
		if (range === "live" || !links.length || mode.value !== "scheduler") return undefined;
		let isGone = false;
		load(links, Number(range)).then((heat) => !isGone && setStored({ heat, range }), (e) => !isGone && setStored({ error: e.message, range }));
		return () => { isGone = true; };
	}, [range, links.length > 0]);
	const { history } = docs.value;
	const isStored = Boolean(history) || mode.value === "recording";
	const changes = isStored ? null : docs.value.links, ticks = isStored ? null : past.value;
	const heat = useMemo(() => (history ? fromRecording(history, MAX_LINKS) : isStored ? null : range === "live" ? fromTicks(names, ticks) : stored.range === range ? stored.heat : null),
		[range, stored, ticks, changes, history]);
	const cells = useMemo(() => heat && heat.columns.length > 0 && <Cells heat={heat} label="Utilization of links over time" say={f.time} onCell={open} onName={(name) => go("link", { link: name })} />, [heat, dark.value]);
	const rows = () => (heat ? heat.names.flatMap((name, i) => heat.columns.map((at, k) => ({ key: `${i} ${k}`, link: name, at_us: at, use: heat.use[i][k] }))) : []);
	return (
		<Panel title="Links over time" name="heatmap" rows={rows}
			columns={[{ key: "link", name: "LINK" }, { key: "at_us", name: "TIME", show: (row) => f.time(row.at_us) }, { key: "use", name: "USE", isNumber: true, show: (row) => f.percent(row.use) }]}>
			{mode.value === "scheduler" && (
				<div class="controls">
					<label>Range{" "}
						<select value={range} onChange={(e) => go("heatmap", { ...place.value, view: null, range: e.currentTarget.value })}>
							{[...RANGES].map(([key, text]) => <option value={key}>{text}</option>)}
						</select>
					</label>
				</div>
			)}
			{cells || <p class="empty">{(range !== "live" && stored.error) || (isStored ? "loading" : "No figures yet: one comes every second.")}</p>}
			<p class="note">The {heat?.names.length ?? 0} most contended links; each cell is the mean share of the capacity in {heat ? f.seconds(heat.step_us) : "-"}. A click opens the link{isStored ? " at that time" : ""}.</p>
		</Panel>
	);
}

function open(name, at) {
	if (span.value) seek(at);
	go("link", { link: name, range: place.value.range > 0 ? place.value.range : null });
}
