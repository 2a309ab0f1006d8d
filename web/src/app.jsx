// SPDX-License-Identifier: Apache-2.0
// app.jsx - the frame of the page: views, search, keys, the freshness lamp.
import { useEffect, useRef, useState } from "preact/hooks";
import { find } from "./model/find.js";
import { span } from "./player.js";
import { docs, href, lamp, mode, place } from "./state.js";
import { Advice } from "./views/advice.jsx";
import { Fabric } from "./views/fabric.jsx";
import { Health } from "./views/health.jsx";
import { Heatmap } from "./views/heatmap.jsx";
import { Job, Jobs } from "./views/jobs.jsx";
import { Link } from "./views/link.jsx";
import { Player, playerKey } from "./views/player.jsx";
import { Simulation } from "./views/sim.jsx";

const VIEWS = { fabric: ["Fabric", Fabric], heatmap: ["Over time", Heatmap], link: ["Link", Link], jobs: ["Jobs", Jobs], job: ["Job", Job],
	advice: ["Advice", Advice], health: ["Health", Health], sim: ["Simulation", Simulation] };

// The views that have something to show.
function tabs() {
	const d = docs.value;
	if (mode.value === "scheduler") return ["fabric", "heatmap", "jobs", "advice", "health"];
	if (mode.value !== "report") return ["fabric", "heatmap", "jobs", "health"];
	const found = [];
	if (d.compare || d.runs) found.push("sim");
	if (d.fabric || d.links.size || d.path || d.probes || d.inferences) found.push("fabric");
	if (d.history) found.push("heatmap");
	if (d.jobs) found.push("jobs");
	if (d.plan || d.advice) found.push("advice");
	if (d.health || d.status) found.push("health");
	return found;
}

function Search({ box }) {
	const [text, setText] = useState("");
	const found = text ? find(text, docs.value) : [];
	const clear = () => setText("");
	return (
		<form role="search" class="search" onSubmit={(e) => {
			e.preventDefault();
			if (found.length) location.hash = href(...found[0].to);
			clear();
			box.current.blur();
		}}>
			<input ref={box} type="search" aria-label="Find a link, a job or a host" placeholder="find ( / )" value={text}
				onInput={(e) => setText(e.currentTarget.value)} onKeyDown={(e) => e.key === "Escape" && (clear(), e.currentTarget.blur())} />
			{text && (
				<ul class="found" aria-label="Found">
					{found.map((item) => <li><a href={href(...item.to)} onClick={clear}>{item.kind} {item.name}</a></li>)}
					{!found.length && <li>nothing of that name</li>}
				</ul>
			)}
		</form>
	);
}

const KEYS = [["/", "find a link, a job or a host"], ["j, k", "next and previous row"], ["Enter", "open it"], ["1-5", "views"], ["Space", "play or pause a recording"], [", .", "a second back or on in a recording"], ["?", "this list"], ["Escape", "close"]];

function Help({ onClose }) {
	const box = useRef(null);
	useEffect(() => box.current.showModal(), []);
	return (
		<dialog ref={box} onClose={onClose} aria-label="Keys">
			<h2>Keys</h2>
			<dl class="keys">{KEYS.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
			<p>The address in the browser's bar holds the view: it can be pasted into a ticket.</p>
			<button type="button" onClick={() => box.current.close()}>Close</button>
		</dialog>
	);
}

function step(by) {
	const rows = [...document.querySelectorAll("main [data-row]")];
	if (!rows.length) return;
	const at = rows.indexOf(document.activeElement);
	rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))].focus();
}

export function App() {
	const [isHelp, setHelp] = useState(false);
	const box = useRef(null);
	const shown = tabs();
	const view = VIEWS[place.value.view] ? place.value.view : shown[0] ?? "fabric";
	const [title, View] = VIEWS[view];
	useEffect(() => {
		const press = (event) => {
			const { tagName, type } = event.target;
			if (event.ctrlKey || event.metaKey || event.altKey || (/^(INPUT|SELECT|TEXTAREA)$/.test(tagName) && type !== "range") || (event.key === " " && tagName === "BUTTON")) return;
			if (playerKey(event.key)) event.preventDefault();
			else if (event.key === "/") box.current.focus();
			else if (event.key === "j") step(1);
			else if (event.key === "k") step(-1);
			else if (event.key === "?") setHelp(true);
			else if (tabs()[event.key - 1]) location.hash = href(tabs()[event.key - 1]);
			else return;
			event.preventDefault();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	useEffect(() => {
		document.title = `${place.value.link ?? place.value.job ?? title} - antiphase`;
	}, [place.value, title]);
	return (
		<>
			<header>
				<h1>antiphase</h1>
				<nav aria-label="Views">
					{shown.map((key) => <a href={href(key)} aria-current={key === view ? "page" : null}>{VIEWS[key][0]}</a>)}
				</nav>
				<Search box={box} />
				<p class={`lamp ${lamp.value.isGood ? "good" : "bad"}`} role="status">
					<span aria-hidden="true">{lamp.value.isGood ? "●" : "▲"}</span> {lamp.value.isGood ? "" : "Stale: "}{lamp.value.text}
				</p>
				<button type="button" onClick={() => setHelp(true)} aria-label="Keys">?</button>
			</header>
			{span.value && <Player />}
			<main><View /></main>
			{isHelp && <Help onClose={() => setHelp(false)} />}
		</>
	);
}
