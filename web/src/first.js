// SPDX-License-Identifier: Apache-2.0
// first.js - what the page of antiphase-scheduler asks for first, before the rest of the
// script has run: its state, and the events.
const isAlone = Boolean(document.getElementById("data") || document.getElementById("viewer"));

// {health: a promise of the answer, events}; null: a report, or 'antiphase web'.
export const first = isAlone ? null : { health: fetch("/api/v1/health", { cache: "no-cache" }), events: new EventSource("/api/v1/events") };
