// The items with the largest sums: their sums, numbers of events and means.

import { become, byId, element } from "./dom.js";
import { countText, intervalText, itemNodes, valueIntervalText, valueText } from "./text.js";

/** Show the sums; hide their table for a stream that has none. */
export function showSums(sums) {
  byId("sums-panel").hidden = !sums;
  if (!sums) return;
  const heads = ["Item", "Sum", "Interval", "Events", "Interval", "Mean", "Interval"];
  const head = element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text))));
  const rows = sums.map(({ item, sum, count, mean }) => {
    const cells = [valueText(sum.estimate), valueIntervalText(sum), countText(count.estimate), intervalText(count), valueText(mean.estimate), valueIntervalText(mean)];
    return element("tr", {}, element("th", { scope: "row" }, itemNodes(item)), ...cells.map((text) => element("td", {}, text)));
  });
  become(byId("sums"), [head, element("tbody", {}, ...rows)]);
}
