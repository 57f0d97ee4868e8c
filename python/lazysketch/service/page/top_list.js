// The list of the heaviest items: a table whose rows stay the same elements while numbers change.

import { arrange, byId, drawing, element, setAttribute, setText } from "./dom.js";
import { countText, intervalText, itemNodes, keyOf, reachText, shareText, visibleText } from "./text.js";

const PAGE = 50;
const SHORT_PAGE = 20; // on a phone
const SPARK_WIDTH = 100;
const SPARK_HEIGHT = 24;
const MOVE = { duration: 320, easing: "cubic-bezier(.2, .7, .2, 1)" };

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const narrow = window.matchMedia("(max-width: 720px)");

/** One row: made once for an item, then changed in place. */
class Row {
  constructor(item, toggle) {
    this.item = item;
    this.text = visibleText(item);
    // The roles stay where a narrow screen lays rows out as a grid.
    this.rank = element("td", { class: "rank", role: "cell" });
    this.name = element("button", { type: "button", class: "pick", "aria-pressed": "false", title: this.text });
    this.name.append(element("span", { class: "swatch", "aria-hidden": "true" }), itemNodes(item));
    this.name.addEventListener("click", () => toggle(item));
    this.high = element("span", { class: "bar-high" });
    this.low = element("span", { class: "bar-low" });
    const bar = element("span", { class: "bar", "aria-hidden": "true" }, this.high, this.low);
    this.estimate = element("span", { class: "estimate" });
    this.reach = element("span", { class: "reach" });
    this.count = element("td", { class: "count", role: "cell" }, this.estimate, " ", this.reach);
    this.share = element("td", { class: "share", role: "cell" });
    this.band = drawing("path", { class: "spark-band" });
    this.line = drawing("path", { class: "spark-line" });
    const box = { viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, class: "spark", preserveAspectRatio: "none", "aria-hidden": "true" };
    this.trend = element("td", { class: "trend", role: "cell" }, drawing("svg", box, this.band, this.line));
    const head = element("th", { class: "item", role: "rowheader", scope: "row" }, element("div", { class: "item-cell" }, this.name, bar));
    this.node = element("tr", { role: "row" }, this.rank, head, this.count, this.share, this.trend);
  }

  show(one, scale, chosen) {
    setText(this.rank, String(one.rank));
    setText(this.estimate, countText(one.estimate));
    setText(this.reach, reachText(one));
    setAttribute(this.count, "title", intervalText(one));
    setText(this.share, shareText(one.share));
    // Moved, not resized: the compositor does it without laying out the page.
    this.high.style.transform = `translateX(${position(one.high ?? scale, scale)}%)`;
    this.low.style.transform = `translateX(${position(one.low, scale)}%)`;
    setAttribute(this.name, "aria-pressed", String(chosen !== null));
    setAttribute(this.node, "data-series", chosen === null ? "" : String(chosen));
    this.draw(one.course);
  }

  draw(course) {
    const [line, band] = course?.length ? sparkPaths(course) : ["", ""];
    setAttribute(this.line, "d", line);
    setAttribute(this.band, "d", band);
  }
}

function position(value, scale) {
  return (Math.min(Math.max(value / scale, 0), 1) * 100 - 100).toFixed(2);
}

/** Return the paths of a course and of its band in the box of a sparkline. */
function sparkPaths(course) {
  const top = Math.max(...course.map((one) => one.high), 1);
  const step = SPARK_WIDTH / Math.max(course.length - 1, 1);
  const x = (i) => (course.length === 1 ? SPARK_WIDTH / 2 : i * step).toFixed(1);
  const y = (value) => (SPARK_HEIGHT - 1 - (Math.max(value, 0) / top) * (SPARK_HEIGHT - 2)).toFixed(1);
  const points = (key) => course.map((one, i) => `${x(i)} ${y(one[key])}`);
  if (course.length === 1) {
    const at = `M${SPARK_WIDTH / 2 - 8} ${y(course[0].estimate)}h16`;
    return [at, ""];
  }
  return [`M${points("estimate").join("L")}`, `M${points("high").join("L")}L${points("low").reverse().join("L")}Z`];
}

/** The table with its filter, order and pages. */
export class TopList {
  /** `choice` says which items the chart shows: `index(item)` and `toggle(item)`. */
  constructor(choice) {
    this.choice = choice;
    this.rows = new Map();
    this.items = [];
    this.page = 0;
    this.order = "count";
    this.descending = true;
    this.filter = "";
    this.body = byId("rows");
    byId("filter").addEventListener("input", (event) => {
      this.filter = event.target.value.toLowerCase();
      this.page = 0;
      this.render();
    });
    for (const head of document.querySelectorAll("#top th[data-sort]")) {
      head.querySelector("button").addEventListener("click", () => this.sort(head.dataset.sort));
    }
    byId("previous").addEventListener("click", () => this.turn(-1));
    byId("next").addEventListener("click", () => this.turn(1));
    narrow.addEventListener("change", () => this.render());
  }

  /** Show other numbers; `courses` has the course of an item by its key, `empty` what no item means. */
  show(items, courses, empty) {
    this.empty = empty;
    this.items = items.map((one, i) => ({ ...one, rank: i + 1, key: keyOf(one.item), course: courses.get(keyOf(one.item)) }));
    this.scale = Math.max(...items.map((one) => one.high), 1);
    this.texts = null;
    this.render();
  }

  sort(order) {
    this.descending = this.order === order ? !this.descending : order !== "item";
    this.order = order;
    this.page = 0;
    for (const head of document.querySelectorAll("#top th[data-sort]")) {
      if (head.dataset.sort !== order) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
    }
    this.render();
  }

  turn(by) {
    this.page += by;
    this.render();
    byId("top-heading").scrollIntoView({ block: "nearest" });
  }

  /** Return the items that the filter keeps, in their order. */
  selected() {
    this.texts ??= new Map(this.items.map((one) => [one.key, visibleText(one.item).toLowerCase()]));
    const kept = this.items.filter((one) => this.texts.get(one.key).includes(this.filter));
    const sign = this.descending ? 1 : -1;
    if (this.order === "item") {
      const collator = new Intl.Collator("en", { numeric: true });
      const text = (one) => this.texts.get(one.key);
      return kept.sort((one, other) => -sign * collator.compare(text(one), text(other)));
    }
    return kept.sort((one, other) => sign * (one.rank - other.rank));
  }

  render() {
    const selected = this.selected();
    const size = narrow.matches ? SHORT_PAGE : PAGE;
    const pages = Math.max(Math.ceil(selected.length / size), 1);
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const begin = this.page * size;
    const shown = selected.slice(begin, begin + size);
    const before = this.positions();
    const kept = new Map();
    for (const one of shown) {
      const row = this.rows.get(one.key) ?? new Row(one.item, this.choice.toggle);
      row.show(one, this.scale, this.choice.index(one.item));
      kept.set(one.key, row);
    }
    this.rows = kept;
    arrange(this.body, [...kept.values()].map((row) => row.node));
    this.move(before);
    this.describe(selected.length, begin, shown.length, pages);
  }

  /** Show again which items the chart has. */
  mark() {
    for (const one of this.items) this.rows.get(one.key)?.show(one, this.scale, this.choice.index(one.item));
  }

  positions() {
    if (calm.matches || document.hidden) return new Map();
    return new Map([...this.rows].map(([key, row]) => [key, row.node.offsetTop]));
  }

  /** Let rows glide from where they were. */
  move(before) {
    if (!before.size) return;
    const glides = [];
    for (const [key, row] of this.rows) {
      const from = before.get(key);
      if (from === undefined) continue;
      const by = from - row.node.offsetTop;
      if (by) glides.push([row.node, by]);
    }
    for (const [node, by] of glides) {
      node.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], MOVE);
    }
  }

  describe(matching, begin, shown, pages) {
    const empty = byId("no-rows");
    empty.hidden = shown > 0;
    byId("top").hidden = shown === 0;
    setText(empty, this.items.length ? "No shown name contains this text." : this.empty);
    const range = shown ? `${countText(begin + 1)} to ${countText(begin + shown)} of ${countText(matching)}` : "";
    setText(byId("range"), range);
    byId("previous").hidden = byId("next").hidden = pages === 1;
    byId("previous").disabled = this.page === 0;
    byId("next").disabled = this.page === pages - 1;
  }
}
