// The list of streams: a card for each, with its heaviest items.

import { arrange, become, byId, element, setText } from "./dom.js";
import { statisticOf } from "./kinds.js";
import { addressOf, fetched, Live, oldSince } from "./live.js";
import { eventsText, instantText, intervalText, itemNodes, shareText, visibleText } from "./text.js";

const SHOWN = 5;

/** One stream; its card follows the publications. */
class Card {
  constructor({ name, title, counts }) {
    this.name = name;
    this.link = element("a", { href: `/streams/${encodeURIComponent(name)}` }, visibleText(title || name));
    this.note = element("p", { class: "note" }, counts ? `Counts of “${visibleText(counts)}”` : "");
    this.figure = element("p", { class: "figure" }, "");
    this.interval = element("p", { class: "note" }, "Waiting for the first publication");
    this.mark = element("p", { class: "loud", hidden: true }, "NOT PRIVATE");
    this.old = element("p", { class: "old", hidden: true });
    this.items = element("ol", { class: "card-items" });
    this.node = element("li", { class: "panel card" }, element("h2", {}, this.link), this.note, this.mark, this.old, this.figure, this.interval, this.items);
  }

  follow() {
    const live = new Live(this.name, {
      publication: (overview) => this.show(overview),
      waiting: () => {},
      connection: () => {},
    });
    setInterval(() => this.tell(), 1000);
    return live.start({ feed: false }); // a browser has six connections
  }

  /** Say if the numbers are old. */
  tell() {
    const since = this.facts ? oldSince(this.facts) : null;
    if (since) setText(this.old, `This is old: a publication was expected at ${instantText(since, { seconds: true })}.`);
    this.old.hidden = !since;
  }

  show(overview) {
    const { facts, total, items = [] } = overview;
    this.facts = facts;
    const statistic = statisticOf(facts)?.card(overview);
    setText(this.link, visibleText(facts.title || facts.stream));
    setText(this.note, statistic?.note ?? `Counts of “${visibleText(facts.counts)}”`);
    setText(this.figure, statistic?.figure ?? eventsText(total?.estimate ?? 0));
    const interval = statistic?.interval ?? (!total || total.low === total.high ? "" : intervalText(total));
    setText(this.interval, `${interval}${interval && ". "}${facts.finished ? "Ended" : "Updated"} ${instantText(facts.publish_at, { seconds: true })}`);
    this.mark.hidden = facts.private;
    const scale = Math.max(...items.map((one) => one.high), 1);
    this.tell();
    const rows = items.slice(0, SHOWN).map((one) => {
      const high = element("span", { class: "bar-high" });
      const low = element("span", { class: "bar-low" });
      high.style.transform = `translateX(${Math.min(one.high / scale, 1) * 100 - 100}%)`;
      low.style.transform = `translateX(${Math.min(one.low / scale, 1) * 100 - 100}%)`;
      const bar = element("span", { class: "bar", "aria-hidden": "true" }, high, low);
      const name = element("span", { class: "card-name", title: visibleText(one.item) }, itemNodes(one.item));
      return element("li", {}, name, element("span", { class: "card-share" }, shareText(one.share)), bar);
    });
    become(this.items, rows.length || statistic ? rows : [element("li", { class: "note" }, "No name is published yet.")]);
  }
}

/** Show all streams. */
export async function showIndex(streams) {
  setText(byId("title"), "Live statistics");
  setText(byId("subtitle"), streams.length ? `${streams.length} streams` : "");
  document.title = "Live statistics";
  byId("status").hidden = true;
  const cards = streams.map((stream) => new Card(stream));
  arrange(byId("cards"), cards.map((card) => card.node));
  byId("cards").hidden = false;
  if (!streams.length) {
    setText(byId("waiting"), "No stream is published yet.");
    byId("waiting").hidden = false;
  }
  await Promise.all(cards.map((card) => card.follow()));
}

/** Return what the service has, asking until it answers. */
export async function streamsOf(failed) {
  for (let wait = 500; ; wait = Math.min(2 * wait, 30000)) {
    try {
      return await fetched("/v1/streams");
    } catch (error) {
      failed(error);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
