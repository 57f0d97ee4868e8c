// The chart of the chosen items over the windows, with their bands (uPlot).

import { become, byId, element, setText } from "./dom.js";
import { compactText, countText, DAY, HOUR, instantText, intervalText, isComplete, itemNodes, MINUTE, visibleText, windowNodes } from "./text.js";

const HEIGHT = 260;
const LOW_HEIGHT = 200;
const NARROW = 560;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

/** Most items in the chart: more colours cannot be told apart. */
export const MOST_CHOSEN = DASHES.length;

const LABEL_HEIGHT = 30; // of the axis of times; with days below them, one line more
const LINE_HEIGHT = 18;
const LONGEST_DISTANCE = 28 * DAY;
const DISTANCES = [
  ...[1, 2, 5, 10, 15, 20, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((one) => one * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((one) => one * HOUR),
  ...[1, 2, 4, 7, 14].map((one) => one * DAY),
  LONGEST_DISTANCE,
];

const isStep = (window) => typeof window.begin === "number";
// A count so far stands at the instant until which it counts.
const place = (window) => (isStep(window) ? window.end : Date.parse(window.at ?? window.begin) / 1000);

/** Return the library, fetched when a chart is first drawn. */
function library() {
  if (window.uPlot) return Promise.resolve(window.uPlot);
  return new Promise((resolve, reject) => {
    const script = element("script", { src: "/assets/uplot.js" });
    script.addEventListener("load", () => resolve(window.uPlot));
    script.addEventListener("error", () => reject(new Error("uplot.js cannot be loaded")));
    document.head.append(script);
  });
}

/** Return the colour that the style sheet has for a class, as the canvas needs it. */
function colourOf(name) {
  const probe = element("i", { class: `probe ${name}` });
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** Return a computed colour, "rgb(1, 2, 3)", almost transparent. */
const faint = (colour) => `rgba(${colour.match(/[\d.]+/g).slice(0, 3).join(", ")}, 0.16)`;

/** Return the columns of the chart: a gap where windows are missing, or lack events. */
function columns(windows, series) {
  const times = [];
  const values = series.map(() => [[], [], []]);
  windows.forEach((window, i) => {
    if (i && !isStep(window) && window.number > windows[i - 1].number + 1) {
      times.push(Date.parse(windows[i - 1].end) / 1000);
      for (const three of values) for (const column of three) column.push(null);
    }
    times.push(place(window));
    series.forEach(({ course }, k) => {
      const at = isComplete(window) ? course[i] : null;
      values[k][0].push(at?.high ?? null);
      values[k][1].push(at?.low ?? null);
      values[k][2].push(at?.estimate ?? null);
    });
  });
  return [times, ...values.flat()];
}

export class Chart {
  /** `remove(item)` takes an item out of the chart. */
  constructor(remove) {
    this.remove = remove;
    this.box = byId("chart");
    this.legend = byId("legend");
    this.series = [];
    new ResizeObserver(() => this.resize()).observe(this.box);
    byId("chart-numbers").addEventListener("toggle", () => this.tabulate());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
  }

  /**
   * Show courses: `series` has item, course and colour slot of each chosen item; a missing course is awaited.
   *
   * They are counts that can be taken out, unless it is said how they are `written`.
   */
  show(windows, series, written = {}) {
    this.written = { text: countText, interval: intervalText, axis: compactText, ofValues: false, isFixed: false, ...written };
    const before = this.shape;
    this.windows = windows;
    this.series = series.filter((one) => one.course);
    this.shape = JSON.stringify([this.series.map((one) => [one.item, one.slot]), windows.length < 40, this.days()]);
    this.name(series);
    this.describe();
    this.tabulate();
    if (this.plot && before === this.shape) this.plot.setData(columns(windows, this.series));
    else this.rebuild();
  }

  name(series) {
    const named = JSON.stringify(series.map(({ item, slot, course }) => [item, slot, Boolean(course)]));
    if (named === this.named) return;
    this.named = named;
    const chips = series.map(({ item, course, slot }) => {
      const value = element("span", { class: "chip-value" });
      const text = visibleText(item);
      const kept = this.written.isFixed;
      const off = element(kept ? "span" : "button", { type: kept ? null : "button", class: "chip", "data-series": String(slot), title: kept ? null : `Take out: ${text}` });
      off.append(element("span", { class: "swatch", "aria-hidden": "true" }), itemNodes(item), value);
      if (kept) return element("li", {}, off);
      off.append(element("span", { class: "unseen" }, course ? ", take out of the chart" : ", loading"));
      off.addEventListener("click", () => this.remove(item));
      return element("li", {}, off);
    });
    const focused = [...this.legend.children].findIndex((one) => one.contains(document.activeElement));
    this.legend.replaceChildren(...chips);
    if (focused >= 0) (chips[Math.min(focused, chips.length - 1)]?.firstChild ?? byId("filter")).focus({ preventScroll: true });
  }

  async rebuild() {
    const building = (this.building = (this.building ?? 0) + 1);
    const uPlot = await library();
    if (building !== this.building || !this.windows) return;
    this.plot?.destroy();
    this.plot = null;
    const empty = byId("chart-empty");
    setText(empty, this.whyEmpty());
    empty.hidden = !empty.textContent;
    this.box.hidden = !empty.hidden;
    byId("chart-numbers").hidden = !this.series.length;
    if (!empty.hidden) return;
    this.plot = new uPlot(this.options(uPlot), columns(this.windows, this.series), this.box);
  }

  options(uPlot) {
    const ink = colourOf("axis-ink");
    const grid = { stroke: colourOf("axis-line"), width: 1 };
    const colours = this.series.map(({ slot }) => colourOf(`series-${slot}`));
    this.colours = colours;
    const steps = this.windows.some(isStep);
    const few = this.windows.length < 40;
    const lines = colours.flatMap((stroke, k) => [
      { stroke: "transparent", width: 0, points: { show: false } },
      { stroke: "transparent", width: 0, points: { show: false } },
      { stroke, width: 2, dash: DASHES[this.series[k].slot], points: { show: few, size: 5, fill: stroke } },
    ]);
    const axis = { stroke: ink, grid, ticks: { ...grid, size: 5 }, font: FONT };
    return {
      width: this.box.clientWidth,
      height: this.height(),
      legend: { show: false },
      padding: [8, 26, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: !steps, range: this.range }, y: { range: () => this.heights() } },
      tzDate: (seconds) => new Date(seconds * 1000),
      series: [{}, ...lines],
      bands: colours.map((colour, k) => ({ series: [3 * k + 1, 3 * k + 2], fill: faint(colour) })),
      axes: [
        { ...axis, space: 70, size: LABEL_HEIGHT + (this.days() ? LINE_HEIGHT : 0), ...this.times(), ...(steps ? { values: (u, all) => all.map(compactText) } : { values: timeLabels }) },
        { ...axis, space: 40, size: labelWidth, values: (u, all) => all.map((one) => this.written.axis(one)) },
      ],
      hooks: { draw: [(u) => this.drawIncomplete(u)], setCursor: [(u) => this.point(u)] },
    };
  }

  /** Return why there is no chart, or nothing. */
  whyEmpty() {
    if (!this.windows.length) return "No window is published yet.";
    if (this.series.length) return "";
    return this.named === "[]" && byId("top").hidden ? "Names are drawn once they are published." : "Choose names in the list to see their course.";
  }

  /** Return the distances of labels in time: none shorter than a window. */
  times() {
    const [first] = this.windows;
    if (isStep(first)) return {};
    const length = (Date.parse(first.end) - Date.parse(first.begin)) / 1000;
    return { incrs: DISTANCES.filter((one) => one >= Math.min(length, LONGEST_DISTANCE)) };
  }

  /** Return true if the times of the chart lie on other days than today. */
  days() {
    const today = new Date().toDateString();
    return this.windows.some((one) => !isStep(one) && new Date(one.begin).toDateString() !== today);
  }

  /** Return the low and the high end of the chart: counts begin at 0, values where they lie. */
  heights() {
    const ends = this.series.flatMap(({ course }) => course.flatMap((one) => [one.high, one.estimate, ...(this.written.ofValues ? [one.low] : [])]));
    const known = ends.filter((one) => one !== null && one !== undefined);
    if (!this.written.ofValues) return [0, Math.max(1, ...known) * 1.06];
    const [low, high] = [Math.min(0, ...known), Math.max(...(known.length ? known : [1]))];
    const room = 0.06 * (high - low || 1);
    return [low < 0 ? low - room : 0, high + room];
  }

  /** Half a step of room on each side, and a wide view of a single window. */
  range(u, low, high) {
    if (low === high) return [low - 1800, high + 1800];
    return [low - (high - low) / 60, high + (high - low) / 60];
  }

  /** Draw what is published of a window that lacks events: a hollow point with its interval, no line. */
  drawIncomplete(u) {
    this.windows.forEach((window, i) => isComplete(window) || this.drawHollow(u, window, i));
  }

  drawHollow(u, incomplete, i) {
    const { ctx } = u;
    const x = Math.round(u.valToPos(place(incomplete), "x", true));
    const ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.lineWidth = 2 * ratio;
    this.series.forEach(({ course }, k) => {
      const { estimate } = course[i];
      if (estimate === null) return;
      const [bottom, top] = this.heights();
      const [low, high] = [course[i].low ?? bottom, course[i].high ?? top];
      const at = (value) => u.valToPos(Math.max(value, bottom), "y", true);
      const aside = x + (k - (this.series.length - 1) / 2) * 5 * ratio;
      ctx.strokeStyle = this.colours[k];
      ctx.fillStyle = colourOf("surface");
      ctx.globalAlpha = 0.45;
      ctx.beginPath();
      ctx.moveTo(aside, at(low));
      ctx.lineTo(aside, at(high));
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.beginPath();
      ctx.arc(aside, at(estimate), 3.5 * ratio, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
    });
    ctx.restore();
  }

  /** Write the numbers under the pointer into the legend. */
  point(u) {
    const at = u.data[0][u.cursor.idx ?? -1];
    const i = this.windows.findIndex((window) => place(window) === at);
    this.legend.querySelectorAll(".chip-value").forEach((value, k) => {
      setText(value, i < 0 || !this.series[k] ? "" : this.written.text(this.series[k].course[i].estimate));
    });
  }

  height() {
    return this.box.clientWidth < NARROW ? LOW_HEIGHT : HEIGHT;
  }

  resize() {
    const width = this.box.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: this.height() });
  }

  describe() {
    const whole = this.windows.filter(isComplete).length;
    const names = this.series.map(({ item }) => visibleText(item)).join(", ");
    const soFar = this.windows.some((window) => window.at);
    const what = soFar ? `${names} at the end of ${whole} windows, with intervals` : this.series.length ? `Counts of ${names} in ${whole} whole windows, with intervals` : "No item is chosen";
    this.box.setAttribute("aria-label", what);
  }

  /** Write the same numbers as a table, once it is asked for. */
  tabulate() {
    if (!byId("chart-numbers").open || !this.windows) return;
    const heads = this.series.map(({ item }) => element("th", { scope: "col" }, itemNodes(item)));
    const rows = this.windows.map((window, i) => {
      const cells = this.series.map(({ course }) =>
        element("td", { title: this.written.interval(course[i]) }, this.written.text(course[i].estimate)));
      const state = isComplete(window) ? "" : window.ended ? " (in part)" : " (open)";
      const head = element("th", { scope: "row" }, ...windowNodes(window), state);
      return element("tr", {}, head, ...cells);
    });
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Window"), ...heads));
    become(byId("chart-table"), [head, element("tbody", {}, ...rows.reverse())]);
  }
}

/** Return the width of the axis of counts: that of its longest label, so that none is cut. */
function labelWidth(u, values) {
  if (!values?.length) return 40;
  u.ctx.save();
  u.ctx.font = FONT.replace("12px", `${12 * (window.devicePixelRatio || 1)}px`);
  const widest = Math.max(...values.map((value) => u.ctx.measureText(value).width));
  u.ctx.restore();
  return Math.ceil(widest / (window.devicePixelRatio || 1)) + 16;
}

/** Return the labels of the axis of times: days where they change, seconds where they differ. */
function timeLabels(u, splits) {
  let day = null;
  const seconds = splits.some((one) => one % 60 !== 0);
  return splits.map((instant) => {
    const moment = new Date(instant * 1000);
    const parts = [moment.getHours(), moment.getMinutes(), ...(seconds ? [moment.getSeconds()] : [])];
    const time = parts.map((part) => String(part).padStart(2, "0")).join(":");
    const changed = moment.toDateString() !== day && (day !== null || moment.toDateString() !== new Date().toDateString());
    day = moment.toDateString();
    return changed ? `${time}\n${instantText(moment, { day: true }).split(",")[0]}` : time;
  });
}
