// The parts of all keys of a stream of ranges, and a box to ask for any other range.

import { become, byId, element, setText } from "./dom.js";
import { addressOf } from "./live.js";
import { countText, intervalText } from "./text.js";

const MOST_ASKED = 8;

/** Return the row of a range: its name, a bar, its count with the interval. */
function rangeRow(row, scale) {
  const low = element("span", { class: "bar-low" });
  const high = element("span", { class: "bar-high" });
  for (const [part, count] of [[low, row.low], [high, row.high]]) {
    part.style.transform = `translateX(${Math.min(Math.max(count ?? 0, 0) / scale, 1) * 100 - 100}%)`;
  }
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, high, low);
  return element("tr", {}, element("th", { scope: "row" }, row.range), element("td", { class: "range-bar" }, bar), element("td", {}, countText(row.estimate)), element("td", {}, intervalText(row)));
}

function table(target, rows, scale) {
  const heads = ["Range", "", "Count", "Interval"].map((text) => (text ? element("th", { scope: "col" }, text) : element("td", {})));
  become(target, [element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows.map((row) => rangeRow(row, scale)))]);
}

export class Parts {
  /** `name` is null for a page that has its data inside: nothing can be asked there. */
  constructor(name) {
    this.name = name;
    this.asked = [];
    byId("range-form").hidden = !name;
    byId("range-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(byId("range-box").value.replaceAll(" ", ""));
    });
  }

  /** Show the parts of a publication, and ask again for what the reader has asked. */
  show(overview) {
    const { parts, bits, facts } = overview;
    this.number = facts.number;
    this.scale = Math.max(1, ...parts.map((row) => row.high));
    setText(byId("parts-note"), `All keys of ${bits ?? "–"} bits in equal parts, since the stream began. Bars are solid to the low end, light to the high end.`);
    byId("range-box").placeholder = bits === 32 ? "10.0.0.0/8" : "0-1024";
    table(byId("parts"), parts, this.scale);
    if (this.asked.length) this.load();
  }

  ask(text) {
    if (!text) return;
    this.asked = [text, ...this.asked.filter((one) => one !== text)].slice(0, MOST_ASKED);
    this.load();
  }

  /** Get the counts of what was asked; what the service refuses is said, and not asked again. */
  async load() {
    const answer = await fetch(addressOf(this.name, `/ranges?${new URLSearchParams({ range: this.asked.join(",") })}`)).catch(() => null);
    if (!answer) return; // the next publication asks again
    const content = await answer.json().catch(() => null);
    if (answer.status === 400) {
      this.asked.shift();
      setText(byId("range-note"), `Expected ${content?.error.expected ?? "another range"}.`);
      return;
    }
    if (!answer.ok || content.number < this.number) return;
    setText(byId("range-note"), "");
    table(byId("asked"), content.ranges, Math.max(this.scale, ...content.ranges.map((row) => row.high)));
    byId("asked").hidden = false;
  }
}
