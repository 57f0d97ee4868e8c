// The histogram of a stream of values: a bar for each range, and the same numbers as a table.

import { become, byId, element } from "./dom.js";
import { countText, intervalText, valueText } from "./text.js";

const LABELS = 6;

/** Return a range of values in words; its ends are open where they are null. */
function rangeText({ from, to }) {
  if (from === null) return `below ${valueText(to)}`;
  if (to === null) return `from ${valueText(from)} on`;
  return `${valueText(from)} to ${valueText(to)}`;
}

/** Return the widths of the bars in bins: an open range has none, and is drawn like the others. */
function widthsOf(rows) {
  const isOpen = (row) => row.from === null || row.to === null;
  const usual = Math.max(1, ...rows.filter((row) => !isOpen(row)).map((row) => row.bins));
  return rows.map((row) => (isOpen(row) ? usual : row.bins));
}

/** Show the histogram; hide it for a stream that has none. */
export function showHistogram(rows) {
  byId("histogram-panel").hidden = !rows?.length;
  if (!rows?.length) return;
  // Ranges join different numbers of bins: the area of a bar is its count.
  const widths = widthsOf(rows);
  const scale = Math.max(...rows.map((row, i) => (row.high ?? row.estimate) / widths[i]), 1e-9);
  const bars = rows.map((row, i) => {
    const parts = [["bar-high", row.high ?? row.estimate], ["bar-low", row.low]].map(([name, count]) => {
      const part = element("span", { class: `histogram-${name}` });
      part.style.transform = `scaleY(${Math.min(Math.max(count, 0) / widths[i] / scale, 1)})`;
      return part;
    });
    const bar = element("span", { class: "histogram-bar", title: `${rangeText(row)}: ${countText(row.estimate)} (${intervalText(row)})` }, ...parts);
    bar.style.flexGrow = widths[i];
    return bar;
  });
  become(byId("histogram"), bars);
  byId("histogram").setAttribute("aria-label", `Numbers of values in ${rows.length} ranges, from ${valueText(rows[0].to)} to ${valueText(rows[rows.length - 1].from)}; the table below has them`);
  become(byId("histogram-axis"), edgeLabels(rows, widths));
  const head = element("thead", {}, element("tr", {}, ...["Range", "Values", "Interval"].map((text) => element("th", { scope: "col" }, text))));
  const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, rangeText(row)), element("td", {}, countText(row.estimate)), element("td", {}, intervalText(row))));
  become(byId("histogram-table"), [head, element("tbody", {}, ...body)]);
}

/** Return labels at some edges between bars. */
function edgeLabels(rows, widths) {
  const bins = widths.reduce((sum, width) => sum + width, 0);
  let passed = 0;
  const edges = rows.slice(0, -1).map((row, i) => [(passed += widths[i]), row.to]);
  const every = Math.max(1, Math.ceil((edges.length - 1) / (LABELS - 1)));
  const last = edges.length - 1;
  const chosen = edges.filter((_, i) => i === last || (i % every === 0 && last - i >= every / 2));
  return chosen.map(([place, value]) => {
    const label = element("span", {}, valueText(value));
    label.style.left = `${(100 * place) / bins}%`;
    return label;
  });
}
