// Numbers as text, and elements of the page. Text from the data is set as text, never as markup.
"use strict";

const count = (value) => Math.round(value).toLocaleString("en-US");
const percent = (share) => (100 * share).toFixed(1) + "%";
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const spaced = (name) => name.replaceAll("_", " ");

// 1234567 -> "1.23 MB": three digits that count.
function scaled(value, units, step) {
  let index = 0;
  while (index + 1 < units.length && value >= step * 0.9995) {
    value /= step;
    index += 1;
  }
  const text = index === 0 && Number.isInteger(value) ? String(value) : Number(value.toPrecision(3)).toString();
  return text + " " + units[index];
}
const bytesText = (bytes) => scaled(bytes, ["bytes", "kB", "MB", "GB", "TB"], 1000);
const exactBytes = (bytes) => `${bytesText(bytes)} (${count(bytes)})`;
const secondsText = (seconds) => scaled(seconds * 1e9, ["ns", "us", "ms", "s"], 1000);
const joulesText = (picojoules) => scaled(picojoules, ["pJ", "nJ", "uJ", "mJ", "J"], 1000);
const kibText = (kib) => (kib >= 1024 ? Number((kib / 1024).toPrecision(3)) + " MiB" : kib + " KiB");
const ratioText = (ratio) => (ratio < 99.95 ? ratio.toFixed(2) : count(ratio));

// Energy in the table's own unit.
function energyText(value, unit) {
  return unit === "pJ" ? joulesText(value) : Number(value.toPrecision(4)).toLocaleString("en-US") + " x " + unit;
}

// element("p", {class: "quiet"}, "text", child, ...)
function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A term with its explanation on hover; the list at the end has it for everyone.
function term(name, text) {
  const [label, explanation] = TERMS[name];
  return element("abbr", {title: explanation}, text || label);
}

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const colour = (name) => COLOURS[name] || (isDark() ? "#ffffff" : "#000000");
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
