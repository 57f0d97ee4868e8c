// Elements. Text enters as text nodes only: no string of a stream is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
const KEPT = new Set(["open", "style"]); // what become() does not set as an attribute

export const byId = (id) => document.getElementById(id);

/** Return a new element with attributes, properties of the same name winning, and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return a new SVG element. */
export function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Set the text of an element only when it differs, so that nothing is laid out anew. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Set an attribute only when it differs. */
export function setAttribute(target, name, value) {
  if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}

/**
 * Give an element these children; what stays the same stays the same node, with its focus.
 *
 * For content without listeners. A part that the reader has opened stays open.
 */
export function become(parent, children) {
  const wanted = children.map((child) => (typeof child === "string" ? new Text(child) : child));
  wanted.forEach((child, i) => {
    const present = parent.childNodes[i];
    if (!present) parent.append(child);
    else if (present.isEqualNode(child)) return;
    else if (present.nodeName !== child.nodeName) present.replaceWith(child);
    else if (child instanceof Text) present.data = child.data;
    else {
      become(present, [...child.childNodes]);
      for (const { name } of [...present.attributes]) {
        if (!child.hasAttribute(name) && !KEPT.has(name)) present.removeAttribute(name);
      }
      for (const { name, value } of child.attributes) if (!KEPT.has(name)) setAttribute(present, name, value);
      // A policy without inline styles refuses the attribute, not the property.
      if (present.style.cssText !== child.style.cssText) present.style.cssText = child.style.cssText;
    }
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

/** Put the children in this order with the fewest moves; what has the focus keeps it. */
export function arrange(parent, children) {
  const focused = document.activeElement;
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const child of children) {
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  const lost = focused !== document.activeElement && parent.contains(focused);
  if (lost) focused.focus({ preventScroll: true });
}
