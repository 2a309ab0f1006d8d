// SPDX-License-Identifier: Apache-2.0
// names.js - many names in order.
import { compareNames } from "../format.js";

// Comparing numbers in names takes too long for more, each up to a kilobyte.
const MAX_NATURAL = 5000;

// Sorts in place, and returns it.
export const sortedNames = (names) => (names.length > MAX_NATURAL ? names.sort() : names.sort(compareNames));
