// Counts that are, or were, above their thresholds.

import { become, byId, element } from "./dom.js";
import { countText, durationText, intervalText, itemNodes, percentText, timeNode, visibleText } from "./text.js";

/** Show the alerts of a stream that has thresholds, those that last first. */
export function showAlerts({ alerts, facts }) {
  byId("alerts-panel").hidden = !alerts;
  if (!alerts) return;
  const watched = alerts.rules.map(({ item, above }) => [item === null ? "any name" : itemNodes(item), ` above ${countText(above)}`]);
  const words = watched.flatMap((rule, i) => (i ? [", ", ...rule] : rule));
  const rate = `at most ${percentText(alerts.false_alarm_rate)} that one is wrong in ${alerts.readings === 1 ? "a window" : `${countText(alerts.readings)} windows`}`;
  const none = alerts.raised.length ? "" : " There is none.";
  become(byId("alerts-note"), ["Watched in each window of ", durationText(facts.span ?? facts.every), ": ", ...words, `; ${rate}.${none}`]);
  become(byId("alerts"), alerts.raised.map(alertRow));
}

function alertRow(one) {
  const head = [itemNodes(one.item), one.until ? " was above " : " is above ", element("b", {}, countText(one.above))];
  const times = one.until ? ["from ", timeNode(one.end, { seconds: true }), " until ", timeNode(one.until, { seconds: true })] : ["since ", timeNode(one.end, { seconds: true })];
  return element(
    "li",
    { class: one.until ? "over" : "lasts" },
    element("p", { class: "change-words", title: visibleText(one.item) }, ...head),
    element("p", { class: "change-range" }, `${intervalText(one)} at first, `, ...times),
  );
}
