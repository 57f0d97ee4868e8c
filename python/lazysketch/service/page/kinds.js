// What is said of a stream of one statistic, by its kind: words, figures, courses.

import { countText, intervalText, valueIntervalText, valueText, visibleText } from "./text.js";

const named = (facts) => `“${visibleText(facts.counts)}”`;
const sure = (confidence) => `${Number((confidence * 100).toPrecision(4))} % sure`;

/** Return the last of a course. */
const latest = (course) => (course.length ? course[course.length - 1] : null);

const wide = (total) => total.high - total.low >= total.estimate;

/** Return the name of a quantile. */
export function quantileName(share) {
  return share === 0.5 ? "Median" : `${Number((share * 100).toPrecision(6))} % below`;
}

const DISTINCT = {
  subtitle: (facts) => `How many different ${named(facts)} there were so far.`,
  figures({ facts, total, confidence }) {
    const reach = total ? `${intervalText(total)}, ${sure(confidence)}${wide(total) ? "; few items, so the noise is large" : ""}` : "nothing is published yet";
    return [[`Different ${named(facts)}`, countText(total?.estimate ?? 0), reach]];
  },
  since: "since the stream began; each counts once",
  courses: ({ facts, course }) => [{ item: `Different ${named(facts)}`, slot: 0, course }],
  written: {},
  holds: "the interval holds the true number",
  relation: { "zero-out": "zero-out: an item or none", substitution: "substitution: an item or any other item" },
  links: [["distinct", "The number and its course as JSON"]],
  spoken: ({ facts, total }) => `About ${countText(total?.estimate)} different ${named(facts)}.`,
  card: ({ facts, total }) => ({ note: `Different ${named(facts)} so far`, figure: countText(total?.estimate ?? 0), interval: total && total.low !== total.high ? intervalText(total) : "" }),
};

const VALUES = {
  subtitle: (facts) => `How ${named(facts)} was distributed so far.`,
  figures({ total, quantiles, confidence }) {
    const figures = quantiles.map(({ share, course }) => {
      const found = latest(course);
      return [quantileName(share), valueText(found?.estimate), found ? `${valueIntervalText(found)}, ${sure(confidence)}` : "nothing is published yet"];
    });
    return [...figures, ["Values", countText(total?.estimate ?? 0), total ? `${intervalText(total)}, ${sure(confidence)}` : "none yet"]];
  },
  since: "since the stream began",
  courses: ({ quantiles }) => quantiles.map(({ share, course }, slot) => ({ item: quantileName(share), slot, course })),
  written: { text: valueText, interval: valueIntervalText, axis: valueText, ofValues: true },
  holds: "each interval holds the true value",
  relation: null,
  links: [
    ["quantiles", "Quantiles and their course as JSON"],
    ["histogram", "The histogram as JSON"],
  ],
  spoken: ({ facts, quantiles }) => `Median of ${named(facts)} about ${valueText(latest(quantiles[0].course)?.estimate)}.`,
  card({ facts, quantiles }) {
    const found = latest(quantiles[0].course);
    return { note: `Median of ${named(facts)} so far`, figure: valueText(found?.estimate), interval: found ? valueIntervalText(found) : "" };
  },
};

const RANGES = {
  subtitle: (facts) => `Counts of ranges of ${named(facts)} so far.`,
  figures({ total, confidence, max_weight }) {
    return [[max_weight > 1 ? "Weights of all keys" : "Keys", countText(total?.estimate ?? 0), total ? `${intervalText(total)}, ${sure(confidence)}` : "nothing is published yet"]];
  },
  since: "since the stream began",
  courses: ({ course }) => [{ item: "All keys", slot: 0, course }],
  written: {},
  holds: "each interval holds the true number",
  relation: null,
  links: [["ranges", "The parts of all keys as JSON"]],
  spoken: ({ total, max_weight }) => `About ${countText(total?.estimate)} ${max_weight > 1 ? "in weights of keys" : "keys"}.`,
  card: ({ facts, total }) => ({ note: `Ranges of ${named(facts)} so far`, figure: countText(total?.estimate ?? 0), interval: total ? intervalText(total) : "" }),
};

const SUMS = {
  subtitle: (facts) => `Sums by ${named(facts)} so far.`,
  figures({ sums, confidence }) {
    const [first] = sums;
    if (!first) return [["Largest sum", "–", "nothing is published yet"]];
    return [[`Largest sum: ${visibleText(first.item).slice(0, 80)}`, valueText(first.sum.estimate), `${valueIntervalText(first.sum)}, ${sure(confidence)}`]];
  },
  since: "since the stream began",
  courses: ({ sums, courses }) => courses.map((course, slot) => ({ item: sums[slot].item, slot, course })),
  written: { text: valueText, interval: valueIntervalText, axis: valueText, ofValues: true },
  holds: "all intervals of the list hold the true sums together, those of counts the true counts, and those of means the true means",
  relation: null,
  links: [["sums?n=10000", "All sums as JSON"]],
  spoken: ({ sums }) => (sums.length ? `Largest sum: ${visibleText(sums[0].item).slice(0, 80)}, about ${valueText(sums[0].sum.estimate)}.` : ""),
  card({ facts, sums }) {
    const [first] = sums;
    return { note: `Sums by ${named(facts)} so far; the largest`, figure: valueText(first?.sum.estimate), interval: first ? `${visibleText(first.item).slice(0, 80)}, ${valueIntervalText(first.sum)}` : "" };
  },
};

const KINDS = { distinct: DISTINCT, values: VALUES, ranges: RANGES, sums: SUMS };

/** Return what is said of a stream of one statistic; undefined for one of frequent items. */
export const statisticOf = (facts) => KINDS[facts.kind];
