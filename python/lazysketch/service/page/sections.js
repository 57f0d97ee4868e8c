// What stands next to the list: figures, changes, the guarantee, windows, data.

import { become, byId, element, setText } from "./dom.js";
import { statisticOf } from "./kinds.js";
import { addressOf } from "./live.js";
import { countText, durationText, instantText, itemNodes, parameterText, percentText, pointsText, reachText, shareText } from "./text.js";
import { timeNode, visibleText, windowNodes, zoneText } from "./text.js";

function figure(name, value, note) {
  const shown = element("dd", {}, element("span", { class: "figure" }, ...value), element("span", { class: "figure-note" }, ...note));
  return element("div", {}, element("dt", {}, name), shown);
}

/** Return how far the noise of the last window reaches, where its number alone would mislead. */
function lastReach(total) {
  const isWide = total && total.low !== total.high && total.high - total.low >= total.estimate;
  return isWide ? [`${reachText(total)}, `] : [];
}

/** Show the figures on top: the total, the windows, the guarantee. */
export function showFigures({ facts, total, items, confidence, last }) {
  const { windows } = facts;
  const counted = windows.length ? [windows[0], windows[windows.length - 1]] : [];
  const span = counted.length ? windowNodes({ begin: counted[0].begin, end: counted[1].end }) : ["none yet"];
  const ended = windows.filter((window) => window.ended).length;
  const open = ended === windows.length ? "" : ended ? ", one is open" : ", open";
  const exact = !total || total.low === total.high;
  const wide = !exact && total.high - total.low >= total.estimate;
  const names = facts.names ?? items.length;
  const figures = [
    figure(steps(facts) ? "Steps" : "Events", [countText(total?.estimate ?? 0)], [steps(facts) ? "of the whole run" : exact ? "all shown windows" : `${reachText(total)}, ${percentText(confidence)} sure${wide ? "; few events, so the noise is large" : ""}`]),
    last?.window ? figure("Last window", [countText(last.total?.estimate)], [...lastReach(last.total), ...windowNodes(last.window)]) : null,
    figure("Names", [countText(names)], [facts.listed ? "on a public list" : names ? "frequent enough to show" : "none so far"]),
    steps(facts) ? null : figure("Shown", [windows.length === 1 ? "1 window" : `${windows.length} windows`], [...span, open]),
    guarantee(facts),
  ];
  become(byId("figures"), figures.filter(Boolean));
}

/** Show the numbers of a stream of one statistic, and the guarantee. */
export function showNumbers(overview) {
  const { facts } = overview;
  const kind = statisticOf(facts);
  become(byId("figures"), [
    ...kind.figures(overview).map(([name, value, note]) => figure(name, [value], [note])),
    figure("Counted until", [timeNode(facts.at, { seconds: true })], [kind.since]),
    guarantee(facts),
  ]);
}

/** Hide what a stream of one statistic does not have. */
export function hideLists(hidden) {
  byId("top").closest("section").hidden = hidden;
  byId("changes").closest("section").hidden = hidden;
  byId("top").closest(".columns").classList.toggle("without-lists", hidden);
}

const guarantee = (facts) =>
  figure("Guarantee", [facts.private ? `ε = ${parameterText(facts.epsilon)}` : "none"], [facts.private ? `δ = ${parameterText(facts.delta)}, for ${facts.unit.split(",")[0]}` : "NOT PRIVATE"]);

/** Return true for a run without windows: its counts are those from its begin to each step. */
export const steps = (facts) => Boolean(facts.cumulative);

/** Show which shares changed in the last window, in words and bars. */
export function showChanges({ changes, last, facts, confidence }) {
  const panel = byId("changes").closest("section");
  panel.hidden = steps(facts);
  const two = facts.windows.filter((window) => window.ended).length >= 2;
  const note = byId("changes-note");
  if (!two) become(note, ["There is nothing to compare before two windows have ended."]);
  else if (!changes.length) become(note, ["No share changed by more than chance explains in the last window."]);
  else become(note, ["Shares in the last window ", ...(last?.window ? windowNodes(last.window) : []), `, against the one before (${percentText(confidence)} sure together).`]);
  const scale = Math.max(...changes.map((one) => Math.max(one.before, one.after)), 1e-9);
  become(byId("changes"), changes.map((one) => change(one, scale)));
}

function change(one, scale) {
  const rises = one.after >= one.before;
  const words = [itemNodes(one.item), rises ? " rose from " : " fell from ", shareText(one.before), " to ", element("b", {}, shareText(one.after))];
  const bars = element("span", { class: "change-bars", "aria-hidden": "true" });
  for (const [name, share] of [["before", one.before], ["after", one.after]]) {
    const bar = element("span", { class: `change-${name}` });
    bar.style.transform = `scaleX(${Math.min(share / scale, 1)})`;
    bars.append(bar);
  }
  const range = `${pointsText(one.low)} to ${pointsText(one.high)} points`;
  const head = element("p", { class: "change-words", title: visibleText(one.item) }, ...words);
  const attributes = { class: rises ? "rises" : "falls" };
  return element("li", attributes, head, bars, element("p", { class: "change-range" }, range));
}

/** Show the guarantee in plain words. */
export function showPromise({ facts, confidence }) {
  const box = byId("promise");
  if (!facts.private) {
    const reasons = facts.not_private_because.map((reason) => element("li", {}, reason));
    become(box, [
      element("p", { class: "loud" }, "NOT PRIVATE"),
      element("p", {}, "The guarantee does not hold for these numbers. Do not publish them as private."),
      element("ul", { class: "plain" }, ...reasons),
    ]);
    return;
  }
  const unit = facts.unit.split(",")[0];
  const factor = Math.exp(facts.epsilon);
  const act = facts.relation === "zero-out" ? `Take ${unit} away` : `Exchange ${unit} for any other`;
  const odds = `${act}: everything that is ever published here stays about as likely as before. No result becomes more than ${Number(factor.toPrecision(3))} times as likely (e to the power of epsilon), but for an excess of at most ${parameterText(facts.delta)} (delta).`;
  const noise = `Noise makes this so. It is why counts have intervals: with ${percentText(confidence)} confidence, ${statisticOf(facts)?.holds ?? "all intervals of a list hold the true counts together"}.`;
  const rare = " A name is shown only if it is frequent enough; what is rare stays unknown.";
  const lead = `(${parameterText(facts.epsilon)}, ${parameterText(facts.delta)})-differential privacy for ${unit}.`;
  const terms = [
    ["Protected", facts.unit],
    ["Epsilon", parameterText(facts.epsilon)],
    ["Delta", parameterText(facts.delta)],
    ["Relation", relationText(facts)],
  ];
  if (facts.every && facts.slices) terms.push(["Published", `every ${durationText(facts.every / facts.slices)}, ${durationText(facts.delay)} after the tick, whatever the data`]);
  const list = terms.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  become(box, [
    element("p", { class: "sentence" }, lead),
    element("p", {}, odds),
    element("p", {}, noise, facts.listed || statisticOf(facts) ? "" : rare),
    element("dl", { class: "terms" }, ...list),
    element("details", {}, element("summary", {}, "In full, with what is not promised"), element("p", { class: "note" }, facts.guarantee)),
  ]);
}

function relationText(facts) {
  const words = statisticOf(facts)?.relation;
  if (words) return words[facts.relation];
  return facts.relation === "zero-out" ? "zero-out: an event or an empty step" : "substitution: an event or any other event";
}

/** Show the windows, newest first. */
export function showWindows({ facts }, name) {
  const box = byId("windows");
  box.closest("section").hidden = steps(facts);
  if (steps(facts)) return;
  const slide = facts.span && `Each window has the last ${durationText(facts.span)} at the end of a slice of ${durationText(facts.every)}; the last ${facts.keep} slices are kept. Windows before it are listed without overlap. Times are in your zone (${zoneText()}).`;
  const each = slide ? slide : facts.every ? `Each window has ${durationText(facts.every)}; the last ${facts.keep} are kept. Times are in your zone (${zoneText()}).` : `${facts.windows.length} windows of steps.`;
  const hasLinks = name && !facts.span; // the tables of a sliding window are those of its blocks
  const length = facts.windows.length ? each : "No window has ended yet.";
  const rows = [...facts.windows].reverse().map((window) => {
    const state = window.ended ? (window.whole ? "whole" : "in part") : "open";
    const link = hasLinks && element("td", {}, element("a", { href: addressOf(name, `/windows/${window.number}`), "aria-label": `Release of window ${window.number}` }, ".lzs"));
    return element("tr", {}, element("th", { scope: "row" }, ...windowNodes(window)), element("td", {}, state), link);
  });
  const heads = ["Window", "State", hasLinks && "Release"].map((text) => text && element("th", { scope: "col" }, text));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of windows" }, table);
  become(box, [element("p", { class: "note" }, length), scroll]);
}

/** Show where the numbers are for programs, and the key that signs them. */
export function showData({ facts, alerts }, name, key) {
  const box = byId("data");
  const notes = facts.notes ?? [];
  byId("data-panel").hidden = !name && !notes.length;
  if (!name) {
    setText(byId("data-heading"), "Notes");
    become(box, notes.map((note) => element("p", { class: "note" }, note)));
    return;
  }
  const ended = facts.windows.some((window) => window.ended);
  const links = [
    ["overview", "This page as JSON"],
    ...(statisticOf(facts)?.links ?? [["top?n=10000", "All names as JSON"]]),
    ...(alerts ? [["alerts", "All alerts as JSON"]] : []),
    ["publication", "Signed manifest"],
    ...(ended ? [["release", statisticOf(facts) ? "Public table at the end of the last window (.lzs)" : "Public table of the ended windows (.lzs)"]] : []),
  ].map(([path, text]) => element("li", {}, element("a", { href: addressOf(name, `/${path}`) }, text)));
  links.push(element("li", {}, element("a", { href: "/openapi.json" }, "Description of the interface (OpenAPI)")));
  const signed = key ? [element("p", { class: "note" }, "Every publication is signed (Ed25519). The public key:"), element("p", {}, element("code", { class: "key" }, key))] : [];
  become(box, [
    element("p", { class: "note" }, "Publication ", element("b", {}, String(facts.number)), ", state of ", timeNode(facts.at, { seconds: true }), "."),
    element("ul", { class: "plain" }, ...links),
    ...signed,
  ]);
}

/** Show loud lines above everything: old numbers, numbers without the guarantee. */
export function showBanners({ facts }, old) {
  const banners = [];
  if (facts && !facts.private) {
    const reasons = facts.not_private_because.join("; ");
    banners.push(["danger", element("b", {}, "NOT PRIVATE"), ` The guarantee does not hold${reasons ? `: ${reasons}` : ""}.`]);
  }
  if (old) banners.push(["warning", element("b", {}, "This is old"), `: a publication was expected at ${instantText(old, { seconds: true })}.`]);
  const box = byId("banners");
  const text = JSON.stringify(banners.map(([kind, head, rest]) => [kind, head.textContent, rest]));
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  box.replaceChildren(...banners.map(([kind, ...words]) => element("p", { class: `banner ${kind}`, role: kind === "danger" ? "alert" : "status" }, ...words)));
}
