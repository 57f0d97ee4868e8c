// How items, numbers and instants are written.

import { element } from "./dom.js";

// Characters that show nothing or turn the direction of what follows: controls, soft hyphen,
// zero-width and bidi marks, fillers, separators, noncharacters, lone surrogates. The zero-width
// joiner stays, since emoji and several scripts are written with it.
const HIDDEN =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}]/gu;
export const MINUTE = 60; // seconds
export const HOUR = 3600;
export const DAY = 86400;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const timeOfDay = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const withSeconds = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const dayAndTime = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const dayAndSeconds = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const zoneName = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" });

/** Return a text that identifies an item: the string "5" differs from the integer 5. */
export const keyOf = (item) => JSON.stringify(item);

/** Return the text of an item as it was published, without marks. */
export function plainText(item) {
  if (typeof item !== "object" || item === null) return String(item);
  const [kind] = Object.keys(item);
  const value = String(item[kind] ?? "");
  return kind === "bytes" ? `0x${value}` : value;
}

const code = (character) => {
  const point = character.codePointAt(0);
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
};

/** Return the text of an item in which every character shows. */
export function visibleText(item) {
  const text = plainText(item);
  if (text === "") return "(empty)";
  return text.replace(HIDDEN, (character) => `<${code(character)}>`);
}

/** Return nodes for an item: its text, isolated from its surroundings, with marks. */
export function itemNodes(item) {
  const text = plainText(item);
  const isolated = element("bdi", { class: "name" });
  if (text === "") isolated.append(element("i", {}, "(empty)"));
  let last = 0;
  for (const found of text.matchAll(HIDDEN)) {
    isolated.append(text.slice(last, found.index));
    isolated.append(element("span", { class: "hidden-character" }, code(found[0])));
    last = found.index + found[0].length;
  }
  isolated.append(text.slice(last));
  return isolated;
}

/** Return a count as text: an integer, or with a decimal below 10. */
export function countText(value) {
  if (value === null || value === undefined) return "–"; // not finite
  return Math.abs(value) < 10 ? tenths.format(value) : whole.format(value);
}

/** Return a number of events as text. */
export function eventsText(value) {
  const text = countText(value);
  return `${text} ${text === "1" ? "event" : "events"}`;
}

/** Return half the width of an interval, rounded up: at most as exact as it is. */
export function reachText({ estimate, low, high }) {
  if (high === null || low === null) return "no upper bound";
  const reach = Math.max(high - estimate, estimate - low);
  return `± ${whole.format(Math.ceil(reach))}`;
}

/** Return an interval as text. */
export const intervalText = ({ low, high }) =>
  `${whole.format(Math.floor(low))} to ${high === null ? "∞" : whole.format(Math.ceil(high))}`;

/** Return a value in its own unit as text, with the digits that noise may leave. */
export function valueText(value) {
  if (value === null || value === undefined) return "–"; // not finite
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e12) ? parameterText(value) : digits.format(value);
}

/** Return the interval of a value as text: an end in an open bin is not finite. */
export const valueIntervalText = ({ low, high }) => `${low === null ? "−∞" : valueText(low)} to ${high === null ? "∞" : valueText(high)}`;

/** Return a count in a few characters, for an axis. */
export const compactText = (value) => short.format(value);

/** A probability, exactly enough to be told from 100 %. */
export const percentText = (part) => `${Number((part * 100).toPrecision(4))} %`;

/** Return a share as text. */
export function shareText(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(1)} %`;
}

/** Return the difference of two shares in percentage points. */
export function pointsText(difference) {
  const points = difference * 100;
  const sign = points > 0 ? "+" : points < 0 ? "−" : "";
  return `${sign}${Math.abs(points).toFixed(1)}`;
}

/** Return a parameter as text: 1, 0.5, 10⁻⁸. */
export function parameterText(value) {
  if (value === 0 || (value >= 0.001 && value < 10000)) return String(Number(value.toPrecision(4)));
  const [mantissa, exponent] = value.toExponential(2).split("e");
  const superscripts = [...String(Number(exponent))].map((one) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(one)]);
  const factor = Number(mantissa);
  return `${factor === 1 ? "" : `${factor} × `}10${superscripts.join("")}`;
}

/** Return a duration in words. */
export function durationText(seconds) {
  for (const [size, name] of [[DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"]]) {
    const number = seconds / size;
    if (number >= 1 && Number.isInteger(number)) {
      return number === 1 ? `1 ${name}` : `${number} ${name}s`;
    }
  }
  const rounded = Number(seconds.toPrecision(3));
  return rounded === 1 ? "1 second" : `${rounded} seconds`;
}

/** Return what is left until an instant, "38 s", "4 min", "2 h", as wide at 9 as at 10. */
export function leftText(seconds) {
  if (seconds < 100) return `${String(Math.max(0, Math.ceil(seconds))).padStart(2, "\u2007")} s`;
  return seconds < 100 * MINUTE ? `${Math.round(seconds / MINUTE)} min` : `${Math.round(seconds / HOUR)} h`;
}

/** Return true if two instants lie on the same day of the reader. */
export const sameDay = (one, other) => new Date(one).toDateString() === new Date(other).toDateString();

/** Return an instant in the reader's time zone: the time alone if it is today. */
export function instantText(instant, { seconds = false, day = false } = {}) {
  const moment = new Date(instant);
  if (day || !sameDay(moment, Date.now())) return (seconds ? dayAndSeconds : dayAndTime).format(moment);
  return (seconds ? withSeconds : timeOfDay).format(moment);
}

/** Return the name of the reader's time zone. */
export const zoneText = () =>
  zoneName.formatToParts(new Date()).find((part) => part.type === "timeZoneName").value;

/** Return an instant in UTC. */
export const utcText = (instant) => `${new Date(instant).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** Return a time element in the reader's zone with UTC in its title. */
export function timeNode(instant, options) {
  const text = instantText(instant, options);
  return element("time", { datetime: instant, title: utcText(instant) }, text);
}

/** Return true for a window that has all of its events. */
export const isComplete = (window) => window.ended && window.whole;

/** Return true for a window that is not cut at whole minutes: its times need their seconds. */
const needsSeconds = ({ begin, end }) => Date.parse(begin) % 60000 !== 0 || Date.parse(end) % 60000 !== 0;

/** Return the bounds of a window as nodes; those of a run are steps, not times. */
export function windowNodes(window) {
  if (typeof window.begin === "number") return [`steps ${countText(window.begin + 1)} to ${countText(window.end)}`];
  const seconds = needsSeconds(window);
  const across = !sameDay(window.begin, window.end);
  const day = across || !sameDay(window.begin, Date.now());
  const end = across ? timeNode(window.end, { day, seconds }) : timeOnly(window.end, { seconds });
  return [timeNode(window.begin, { day, seconds }), " – ", end];
}

function timeOnly(instant, { seconds }) {
  const text = (seconds ? withSeconds : timeOfDay).format(new Date(instant));
  return element("time", { datetime: instant, title: utcText(instant) }, text);
}
