// The tree of a stream with levels: a tree of ARIA whose nodes stay while their numbers change.

import { arrange, byId, element, setAttribute, setText } from "./dom.js";
import { countText, intervalText, itemNodes, keyOf, reachText, shareText, visibleText } from "./text.js";

const OPEN_BELOW = 25; // names of a tree that is shown whole at first

const numberOf = (nodes) => nodes.reduce((sum, node) => sum + 1 + numberOf(node.children), 0);

/** One name with those below it: made once, then changed in place. */
class Branch {
  constructor(item, tree) {
    this.tree = tree;
    this.children = new Map();
    this.high = element("span", { class: "bar-high" });
    this.low = element("span", { class: "bar-low" });
    this.estimate = element("span", { class: "estimate" });
    this.reach = element("span", { class: "reach" });
    this.share = element("span", { class: "tree-share" });
    this.rest = element("span", { class: "tree-rest" });
    this.name = element("span", { class: "tree-name", title: visibleText(item) }, element("span", { class: "twisty", "aria-hidden": "true" }), itemNodes(item));
    const bar = element("span", { class: "bar", "aria-hidden": "true" }, this.high, this.low);
    const count = element("span", { class: "tree-count" }, this.estimate, " ", this.reach);
    this.row = element("div", { class: "tree-row" }, this.name, bar, count, this.share, this.rest);
    this.row.addEventListener("click", () => tree.press(this));
    this.group = element("ul", { role: "group" });
    this.node = element("li", { role: "treeitem", tabindex: "-1" }, this.row);
    this.node.branch = this;
  }

  get isOpen() {
    return this.node.getAttribute("aria-expanded") === "true";
  }

  show(one, { level, place, size, scale }) {
    setAttribute(this.node, "aria-level", String(level));
    setAttribute(this.node, "aria-posinset", String(place));
    setAttribute(this.node, "aria-setsize", String(size));
    this.name.style.paddingLeft = `${(level - 1) * 1.15}rem`;
    setText(this.estimate, countText(one.estimate));
    setText(this.reach, reachText(one));
    setText(this.share, shareText(one.share));
    setText(this.rest, one.children.length ? shareText(Math.max(one.own_share, 0)) : "");
    setAttribute(this.row, "title", intervalText(one));
    for (const [bar, value] of [[this.high, one.high ?? scale], [this.low, one.low ?? 0]]) {
      bar.style.transform = `translateX(${Math.min(Math.max(value / scale, 0), 1) * 100 - 100}%)`;
    }
    this.children = this.tree.branches(this.group, this.children, one.children, { level: level + 1, scale });
    if (!one.children.length) {
      this.node.removeAttribute("aria-expanded");
      this.group.remove();
    } else if (!this.node.hasAttribute("aria-expanded")) {
      this.open(level === 1 || this.tree.isSmall);
    }
  }

  open(open) {
    if (!this.children.size) return;
    setAttribute(this.node, "aria-expanded", String(open));
    if (open) this.node.append(this.group);
    else this.group.remove();
  }
}

export class Tree {
  constructor() {
    this.root = byId("tree");
    this.roots = new Map();
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("focusin", (event) => this.mark(event.target.closest("[role=treeitem]")));
  }

  /** Show the names of an answer of /hierarchy. */
  show({ nodes, share, levels }) {
    this.isSmall = numberOf(nodes) <= OPEN_BELOW;
    const scale = Math.max(...nodes.map((one) => one.high ?? one.estimate), 1);
    this.roots = this.branches(this.root, this.roots, nodes, { level: 1, scale });
    const empty = byId("tree-empty");
    empty.hidden = nodes.length > 0;
    byId("tree-head").hidden = !empty.hidden;
    setText(empty, `No name has a share of ${shareText(share)} or more.`);
    setText(byId("tree-note"), `${levels.map((one) => one.replace(/^1 (segment|label)s$/, "1 $1")).join(", ")}: names with a share of ${shareText(share)} or more. “Rest” is what the names below leave over.`);
    if (!this.root.querySelector("[tabindex='0']")) this.mark(this.root.firstElementChild);
  }

  branches(parent, before, nodes, { level, scale }) {
    const kept = new Map();
    nodes.forEach((one, i) => {
      const key = keyOf(one.item);
      const branch = before.get(key) ?? new Branch(one.item, this);
      branch.show(one, { level, place: i + 1, size: nodes.length, scale });
      kept.set(key, branch);
    });
    arrange(parent, [...kept.values()].map((branch) => branch.node));
    return kept;
  }

  /** Let the keyboard enter the tree at a node. */
  mark(node) {
    if (!node) return;
    for (const other of this.root.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    node.tabIndex = 0;
  }

  press(branch) {
    branch.open(!branch.isOpen);
    branch.node.focus();
  }

  key(event) {
    const node = event.target.closest("[role=treeitem]");
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = [...this.root.querySelectorAll("[role=treeitem]")];
    const at = shown.indexOf(node);
    const { branch } = node;
    const to = { ArrowDown: shown[at + 1], ArrowUp: shown[at - 1], Home: shown[0], End: shown[shown.length - 1] }[event.key];
    if (to) to.focus();
    else if (event.key === "ArrowRight" && branch.isOpen) shown[at + 1].focus();
    else if (event.key === "ArrowRight") branch.open(true);
    else if (event.key === "ArrowLeft" && branch.isOpen) branch.open(false);
    else if (event.key === "ArrowLeft") node.parentElement.closest("[role=treeitem]")?.focus();
    else if (event.key === "Enter" || event.key === " ") branch.open(!branch.isOpen);
    else return;
    event.preventDefault();
  }
}
