// The page of one stream: what is shown of a publication, and what the reader chose.

import { showAlerts } from "./alerts.js";
import { Chart, MOST_CHOSEN } from "./course.js";
import { become, byId, setText } from "./dom.js";
import { showHistogram } from "./histogram.js";
import { statisticOf } from "./kinds.js";
import { addressOf, fetched, Live, now, oldSince } from "./live.js";
import { Parts } from "./parts.js";
import { showSums } from "./sums_table.js";
import { hideLists, showBanners, showChanges, showData, showFigures, showNumbers, showPromise, showWindows, steps } from "./sections.js";
import { countText, durationText, eventsText, instantText, isComplete, keyOf, leftText, visibleText, windowNodes } from "./text.js";
import { TopList } from "./top_list.js";
import { Tree } from "./tree.js";

const FIRST_CHOSEN = 3;
const FEW = 50; // names of an overview
const MANY = 10000;
const MANY_EVERY = 10000; // milliseconds between two requests for all names
const SHORT_WAIT = 10; // seconds: a shorter wait for the next publication is not counted down

export class StreamPage {
  /** `name` is null for a page that has its data inside. */
  constructor(name, key = null) {
    this.name = name;
    this.key = key;
    this.overview = null;
    this.slots = null; // key of an item -> colour slot in the chart
    this.items = new Map(); // key -> chosen item
    this.courses = new Map();
    this.fetchedCourses = new Map();
    this.many = null;
    this.scope = "all";
    const choice = { index: (item) => this.slots?.get(keyOf(item)) ?? null, toggle: (item) => this.toggle(item) };
    this.list = new TopList(choice);
    this.chart = new Chart((item) => this.toggle(item));
    this.listen();
  }

  listen() {
    byId("scope").addEventListener("change", (event) => {
      this.scope = event.target.value;
      this.many = null;
      this.showList();
      this.showTree();
    });
    byId("more").addEventListener("click", () => this.loadMany());
    byId("filter").addEventListener("input", () => {
      if (!this.many && this.hasMore()) this.loadMany(); // a search finds what is not shown, too
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea, select");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        byId("filter").focus();
      }
    });
  }

  /** Follow the publications of the service. */
  follow() {
    this.live = new Live(this.name, {
      publication: (overview) => this.show(overview),
      waiting: () => this.wait(),
      connection: (state) => this.connected(state),
    });
    setInterval(() => this.tell(), 1000);
    return this.live.start();
  }

  wait() {
    setText(byId("waiting"), "Waiting for the first publication.");
    byId("waiting").hidden = false;
    this.tell();
  }

  connected(state) {
    this.connection = state;
    if (!this.overview && state === "offline") {
      setText(byId("waiting"), "The service does not answer. Trying again.");
      byId("waiting").hidden = false;
    }
    this.tell();
  }

  /** Show a publication. */
  show(overview) {
    this.overview = overview;
    const { facts, items } = overview;
    byId("waiting").hidden = true;
    byId("stream").hidden = false;
    const title = visibleText(facts.title || facts.stream);
    setText(byId("title"), title);
    document.title = title;
    const pace = facts.every && facts.slices && !facts.finished ? ` Published every ${durationText(facts.every / facts.slices)}.` : "";
    const kind = statisticOf(facts);
    hideLists(Boolean(kind));
    showHistogram(overview.histogram);
    this.showParts();
    showSums(overview.sums);
    showAlerts(overview);
    if (kind) {
      this.showStatistic(kind, pace);
      return;
    }
    const counts = facts.counts ? `How often each “${visibleText(facts.counts)}” occurred.` : "How often each item occurred.";
    setText(byId("subtitle"), `${counts}${pace}`);
    this.courses = new Map(items.filter((one) => one.course).map((one) => [keyOf(one.item), one.course]));
    this.fetchedCourses.clear();
    if (!this.slots || (!this.touched && !this.slots.size)) this.choose(items.slice(0, FIRST_CHOSEN).map((one) => one.item));
    showFigures(overview);
    showChanges(overview);
    showPromise(overview);
    showWindows(overview, this.name);
    showData(overview, this.name, this.key);
    if (this.many && Date.now() - this.manyAsked > MANY_EVERY) this.loadMany();
    else this.showList();
    this.showChart();
    this.showTree();
    this.tell();
    this.speak();
  }

  /** Show one statistic: its state so far, and its course. */
  showStatistic(kind, pace) {
    const { facts } = this.overview;
    setText(byId("subtitle"), `${kind.subtitle(facts)}${pace}`);
    showNumbers(this.overview);
    showPromise(this.overview);
    showWindows(this.overview, this.name);
    showData(this.overview, this.name, this.key);
    const windows = facts.windows.map((window) => ({ ...window, at: window.ended && window.whole ? window.end : facts.at }));
    const courses = kind.courses(this.overview);
    byId("legend").hidden = courses.length < 2;
    this.chart.show(windows, courses, { ...kind.written, isFixed: true });
    this.tell();
    this.speakNumber(kind);
  }

  /** Show the parts of all keys of a stream of ranges. */
  showParts() {
    byId("parts-panel").hidden = !this.overview.parts;
    if (!this.overview.parts) return;
    this.parts ??= new Parts(this.name);
    this.parts.show(this.overview);
  }

  choose(items) {
    this.slots = new Map(items.map((item, i) => [keyOf(item), i]));
    this.items = new Map(items.map((item) => [keyOf(item), item]));
  }

  /** Put an item into the chart, in place of the oldest if it is full, or take it out. */
  toggle(item) {
    this.touched = true;
    const key = keyOf(item);
    if (this.slots.has(key)) {
      this.slots.delete(key);
      this.items.delete(key);
    } else {
      if (this.slots.size >= MOST_CHOSEN) {
        const [oldest] = this.slots.keys();
        this.slots.delete(oldest);
        this.items.delete(oldest);
      }
      const taken = new Set(this.slots.values());
      this.slots.set(key, [...Array(MOST_CHOSEN).keys()].find((slot) => !taken.has(slot)));
      this.items.set(key, item);
    }
    this.list.mark();
    this.showChart();
  }

  async showChart() {
    const missing = [];
    const series = [...this.slots].map(([key, slot]) => {
      const item = this.items.get(key);
      const course = this.courses.get(key) ?? this.fetchedCourses.get(key);
      if (!course) missing.push(item);
      return { item, slot, course };
    });
    this.chart.show(this.overview.facts.windows, series);
    if (missing.length && this.name) await this.loadCourses(missing);
  }

  async loadCourses(items) {
    const { number } = this.overview.facts;
    for (const item of items) {
      const found = await fetched(addressOf(this.name, `/course?${itemQuery(item)}`)).catch(() => null);
      if (number !== this.overview.facts.number) return; // the next publication asks again
      const course = found?.items[0].course;
      // An answer for another item is none: an address cannot carry every text.
      const same = found && keyOf(found.items[0].item) === keyOf(item);
      const fits = same && course.length === this.overview.facts.windows.length;
      this.fetchedCourses.set(keyOf(item), fits ? course : null);
      if (fits && this.items.has(keyOf(item))) await this.showChart();
    }
  }

  /** Show the tree of a stream with levels, of the windows that the list has. */
  async showTree() {
    const { facts } = this.overview;
    if (!this.name || !facts.levels?.length) return;
    const scope = this.scope;
    const query = scope === "last" ? "last=1&open=false" : "open=true";
    const found = await fetched(addressOf(this.name, `/hierarchy?${query}`)).catch(() => null);
    if (!found || scope !== this.scope || facts.number !== this.overview.facts.number) return;
    byId("tree-panel").hidden = false;
    this.tree ??= new Tree();
    this.tree.show(found);
  }

  /** Return true if more names are published than the page has. */
  hasMore() {
    if (!this.name || this.many || !this.overview) return false;
    return this.overview.items.length >= FEW && (this.overview.facts.names ?? MANY) > this.overview.items.length;
  }

  /** Ask for all names: only when the reader wants them. */
  async loadMany() {
    if (this.loading) return;
    this.loading = true;
    this.manyAsked = Date.now();
    const button = byId("more");
    button.disabled = true;
    setText(button, "Loading");
    const query = this.scope === "last" ? "last=1&open=false" : "open=true";
    const scope = this.scope;
    const found = await fetched(addressOf(this.name, `/top?n=${MANY}&${query}`)).catch(() => null);
    this.loading = false;
    button.disabled = false;
    if (found && scope === this.scope) this.many = found;
    this.showList();
  }

  showList() {
    const { facts, items, last, total } = this.overview;
    const ofLast = this.scope === "last";
    const few = ofLast ? (last?.items ?? []) : items;
    // A window that lacks events would look like a fall.
    const complete = (course) => course.filter((_, i) => isComplete(facts.windows[i]));
    const courses = new Map([...this.courses].map(([key, course]) => [key, complete(course)]));
    this.list.show(this.many?.items ?? few, courses, this.whyEmpty());
    const note = byId("scope-note");
    const late = this.many && this.many.number !== facts.number ? ` List of ${instantText(this.many.at, { seconds: true })}.` : "";
    const bars = `${late} Bars are solid to the low end, light to the high end.`;
    if (steps(facts)) setText(note, `All ${countText(total?.estimate)} steps.${bars}`);
    else if (ofLast && last?.window) become(note, ["Window ", ...windowNodes(last.window), `, about ${eventsText(last.total?.estimate)}.${bars}`]);
    else if (ofLast) setText(note, "No window has ended yet.");
    else setText(note, `All shown windows, about ${eventsText(total?.estimate)}.${bars}`);
    byId("scope").hidden = steps(facts);
    byId("more").hidden = !this.hasMore();
    const names = facts.names ?? MANY;
    if (!this.loading) setText(byId("more"), names > MANY ? `Load the first ${countText(MANY)} names` : `Load all ${countText(names)} names`);
  }

  /** Return why there is no name. */
  whyEmpty() {
    const { facts } = this.overview;
    const open = facts.windows.find((window) => !window.ended);
    const ended = facts.windows.some((window) => window.ended);
    if (!ended && open && !facts.listed && this.name) return `Names appear when the first window has ended, at ${instantText(open.end)}.`;
    return facts.listed ? "Nothing has been counted yet." : "No name is published: none is frequent enough.";
  }

  /** Write the line of the state: when published, when next, and if it is old. */
  tell() {
    const facts = this.overview?.facts;
    const old = facts && this.name ? oldSince(facts) : null;
    showBanners({ facts }, old);
    const words = { live: "Live", polling: "Connecting again", offline: "No connection" }[this.connection] ?? "Loading";
    let [text, state] = [words, this.connection ?? "loading"];
    if (facts && !this.name) [text, state] = [facts.at ? `Saved: state of ${instantText(facts.at, { day: true })}` : "Saved", "saved"];
    else if (facts?.finished) [text, state] = [`Ended. Last publication ${instantText(facts.publish_at, { seconds: true })}`, "saved"];
    else if (facts) {
      text = `${words}. Updated ${instantText(facts.publish_at, { seconds: true })}${old ? "" : this.next()}`;
      if (old) state = "old";
    }
    setText(byId("status-text"), text);
    byId("status").dataset.state = state;
  }

  /** Return when the next publication comes; nothing if it comes every few seconds. */
  next() {
    const { next_at: due, every, slices } = this.overview.facts;
    if (every / slices < SHORT_WAIT) return "";
    const left = (Date.parse(due) - now()) / 1000;
    return left > 0 ? `, next in ${leftText(left)}` : ", next is due";
  }

  speakNumber(kind) {
    const { facts } = this.overview;
    if (!this.name || this.spoken === facts.number) return;
    this.spoken = facts.number;
    setText(byId("spoken"), `Updated at ${instantText(facts.publish_at, { seconds: true })}. ${kind.spoken(this.overview)}`);
  }

  /** Say once a publication what is new, for screen readers. */
  speak() {
    const { facts, items, total } = this.overview;
    if (!this.name || this.spoken === facts.number) return;
    this.spoken = facts.number;
    const first = items[0] ? ` First: ${visibleText(items[0].item).slice(0, 80)}, ${countText(items[0].estimate)}.` : "";
    setText(byId("spoken"), `Updated at ${instantText(facts.publish_at, { seconds: true })}. About ${eventsText(total?.estimate)}.${first}`);
  }
}

/** Return an item as the query of an address. */
function itemQuery(item) {
  const query = new URLSearchParams();
  if (typeof item === "number") query.set("type", "int");
  else if (typeof item === "object") query.set("type", Object.keys(item)[0]);
  query.set("item", typeof item === "object" ? Object.values(item)[0] : item);
  return query;
}
