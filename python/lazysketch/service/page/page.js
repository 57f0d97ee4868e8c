// Begins: the theme, then the page of a stream, the list of streams, or the data that is inside.

import { byId, setAttribute, setText } from "./dom.js";
import { showIndex, streamsOf } from "./index_cards.js";
import { StreamPage } from "./stream.js";
import { visibleText } from "./text.js";

const STREAM = /\/streams\/([^/]+)\/?$/;

function prepareTheme(changed) {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    for (const about of ["aria-label", "title"]) setAttribute(button, about, dark() ? "Light mode" : "Dark mode");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Storage is refused: the choice lasts as long as the page.
    }
    name();
    changed();
  });
  system.addEventListener("change", name);
  name();
}

async function begin() {
  let page = null;
  prepareTheme(() => page?.chart.rebuild());
  const inside = byId("overview");
  if (inside) {
    page = new StreamPage(null);
    page.show(JSON.parse(inside.textContent));
    return;
  }
  const { streams, public_key: key } = await streamsOf(() => {
    setText(byId("waiting"), "The service does not answer. Trying again.");
    byId("waiting").hidden = false;
  });
  byId("waiting").hidden = true;
  const asked = STREAM.exec(window.location.pathname)?.[1];
  const name = asked ? decodeURIComponent(asked) : streams.length === 1 ? streams[0].name : null;
  if (name === null) {
    await showIndex(streams);
    return;
  }
  byId("crumb").hidden = streams.length < 2;
  const known = streams.find((stream) => stream.name === name);
  if (!known) {
    setText(byId("title"), "Not found");
    setText(byId("waiting"), `This service has no stream of the name ${visibleText(name)}.`);
    byId("waiting").hidden = false;
    byId("status").hidden = true;
    byId("crumb").hidden = false;
    return;
  }
  setText(byId("title"), visibleText(known.title || name));
  page = new StreamPage(name, key);
  await page.follow();
}

begin();
