// SPDX-License-Identifier: Apache-2.0
// paths.jsx - documents of 'antiphase path': computed, probed and inferred paths.
import * as f from "../format.js";
import { inferenceRows, inferenceTitle, probeRows, probeTitle, withTitles } from "../model/paths.js";
import { docs } from "../state.js";
import { JobName, LinkName, Names, Panel } from "./parts.jsx";

const Computed = ({ doc }) => (
	<Panel title={`Path from ${doc.source} to ${doc.destination}`} name="path" json={doc} empty="There is no path." rows={doc.links.map((l) => ({ key: l.link, ...l }))} isText
		columns={[{ key: "link", name: "LINK", show: (row) => <LinkName name={row.link} /> }, { key: "capacity_bps", name: "CAP", isNumber: true, show: (row) => f.rate(row.capacity_bps) },
			{ key: "share", name: "SHARE", isNumber: true, show: (row) => f.percent(row.share) }]} />
);

const Probed = ({ doc, title }) => (
	<Panel title={title} name="path-probe" json={doc} rows={probeRows(doc)}
		columns={[{ key: "port", name: "SOURCE PORT", isNumber: true }, { key: "switches", name: "SWITCHES", isLong: true }, { key: "basis", name: "BASIS", isLong: true }]} />
);

const Inferred = ({ doc, title }) => (
	<Panel title={title} name="path-inference" json={doc} rows={inferenceRows(doc)}
		empty={`Nothing is known of flows from ${doc.source} to ${doc.destination}: no switch reports counters, or no job's ring goes there.`}
		columns={[{ key: "job", name: "JOB", show: (row) => <JobName name={row.job} /> }, { key: "equal_paths", name: "PATHS", isNumber: true }, { key: "via", name: "VIA" },
			{ key: "basis", name: "BASIS", isLong: true }, { key: "links", name: "LINKS", isLong: true, show: (row) => (row.links.length ? <Names of={LinkName} names={row.links} /> : "-") }]} />
);

export function Paths() {
	const { path, probes = [], inferences = [] } = docs.value;
	return (
		<>
			{path && <Computed doc={path} />}
			{withTitles(inferences, inferenceTitle).map((found) => <Inferred key={found.title} {...found} />)}
			{withTitles(probes, probeTitle).map((found) => <Probed key={found.title} {...found} />)}
		</>
	);
}
