// Publications as they come: the feed, a backoff when it breaks, polling in between.

const FIRST_WAIT = 500; // milliseconds
const LONGEST_WAIT = 30000;
const SHORTEST_GRACE = 5000; // before a publication that is missing makes the last one old
const LATE = 700; // after a publication is due, before it is asked for without a feed

/** An answer that is not the one asked for: its status and its error object. */
export class Refused extends Error {
  constructor(status, error) {
    super(error?.expected ?? `status ${status}`);
    this.status = status;
    this.error = error;
  }
}

let offset = 0; // the server's clock less the reader's, in milliseconds

/** Return the present instant by the clock of the server, as far as it is known. */
export const now = () => Date.now() + offset;

/** Return the JSON of an address below /v1. */
export async function fetched(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-cache" });
  const date = Date.parse(response.headers.get("Date") ?? "");
  // A cached answer has an old date; a wrong clock is off by more than a few seconds.
  if (Number.isFinite(date) && Math.abs(date - Date.now()) > 5000) offset = date - Date.now();
  else offset = 0;
  const content = await response.json().catch(() => null);
  if (!response.ok || content === null) throw new Refused(response.status, content?.error);
  return content;
}

/** Return the instant at which a publication was expected, if the next one is missing too. */
export function oldSince({ next_at: due, every, slices, finished }) {
  if (finished || !due) return null;
  return now() > Date.parse(due) + Math.max(2000 * (every / slices), SHORTEST_GRACE) ? due : null;
}

/** Return the address of a stream. */
export const addressOf = (name, path = "") => `/v1/streams/${encodeURIComponent(name)}${path}`;

/** Return true if a stream has a publication: to ask for it before would be an error. */
async function isPublished(name) {
  const { streams } = await fetched("/v1/streams");
  return streams.some((stream) => stream.name === name && stream.published);
}

/**
 * The publications of one stream.
 *
 * `handlers` has `publication(overview)`, `waiting()` before the first one, and
 * `connection(state)` with "live", "polling" or "offline".
 */
export class Live {
  constructor(name, handlers) {
    this.name = name;
    this.handlers = handlers;
    this.number = null;
    this.failures = 0;
    this.state = null;
    document.addEventListener("visibilitychange", () => this.wake());
    window.addEventListener("online", () => this.wake());
  }

  /** Begin; without a feed the service is asked when a publication is due. */
  async start({ feed = true } = {}) {
    this.feed = feed;
    await this.refresh();
    this.connect();
  }

  /** Rest while the page is hidden: a browser has few connections. Then ask again immediately. */
  wake() {
    if (document.hidden) {
      this.source?.close();
      clearTimeout(this.reconnecting);
      clearTimeout(this.polling);
      this.state = "resting";
    } else if (this.state !== "live" && this.state !== null) {
      this.failures = 0;
      this.refresh();
      this.connect();
    }
  }

  connect() {
    clearTimeout(this.reconnecting);
    this.source?.close();
    if (!this.feed) return;
    const source = new EventSource(addressOf(this.name, "/feed"));
    this.source = source;
    source.addEventListener("open", () => {
      this.failures = 0;
      this.enter("live");
    });
    source.addEventListener("publication", (event) => {
      this.failures = 0;
      this.enter("live");
      const { number } = JSON.parse(event.data);
      if (number !== this.number) this.refresh(number);
    });
    source.addEventListener("error", () => {
      source.close(); // the browser would try at a fixed pace, or never again
      if (source !== this.source) return;
      this.failures += 1;
      if (this.state === "live") this.enter("polling");
      const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.failures - 1));
      this.reconnecting = setTimeout(() => this.connect(), wait * (0.5 + Math.random() / 2));
    });
  }

  enter(state) {
    if (state === this.state) return;
    this.state = state;
    this.handlers.connection(state);
  }

  /** Show the present publication; requests for the same one are made once. */
  async refresh(wanted = null) {
    if (this.asking) {
      this.again = wanted;
      return this.asking;
    }
    this.asking = this.ask();
    await this.asking;
    this.asking = null;
    const again = this.again;
    this.again = null;
    if (again && again !== this.number) await this.refresh();
    return undefined;
  }

  async ask() {
    try {
      if (this.number === null && !(await isPublished(this.name))) {
        if (this.state !== "live") this.enter("polling");
        this.handlers.waiting();
        this.plan(0, 5000);
        return;
      }
      const overview = await fetched(addressOf(this.name, "/overview"));
      if (this.state !== "live") this.enter("polling");
      if (overview.facts.number !== this.number) {
        this.number = overview.facts.number;
        this.handlers.publication(overview);
      }
      const { next_at: due, every, slices, finished } = overview.facts;
      if (finished) this.plan(0, LONGEST_WAIT);
      else this.plan(Date.parse(due) + LATE, (every / slices) * 500);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof TypeError)) throw error;
      this.enter("offline");
      this.plan(0, Math.min(LONGEST_WAIT, 1000 * 2 ** Math.min(this.failures, 5)));
    }
  }

  /** Ask when the next publication is due: the feed may be down, or held up by a proxy. */
  plan(due, pause) {
    clearTimeout(this.polling);
    const spread = Math.random() * 1000; // not all readers in the same second
    const shortest = Math.min(Math.max(pause, 1000), LONGEST_WAIT);
    const wait = Math.max(Number.isFinite(due) ? due - now() : 0, shortest) + spread;
    this.polling = setTimeout(() => this.refresh(), Math.min(wait, 2 ** 31 - 1));
  }
}
