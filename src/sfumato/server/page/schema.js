// What is public: the columns as they were declared, and who is protected, in words.

import { cost, counted, spaced } from "./figures.js";
import { h } from "./dom.js";

const TYPES = {
  interval: "number", integers: "whole number", categories: "label", subsets: "set of labels", texts: "text", dates: "date", box: "vector",
  curves: "curve", duration: "elapsed time", "time-of-day": "time of day", record: "record", array: "list of numbers",
};

const end = (value) => (typeof value === "number" ? spaced(value, Number.isInteger(value) ? 0 : 2) : String(value));

// What is declared of a column, and what becomes of values that do not fit.
export function declared(column) {
  const said = [];
  if (column.from) said.push(`computed from other columns: ${column.from}`);
  if (column.low !== undefined && column.high !== undefined && column.low !== null) {
    said.push(`${end(column.low)} to ${end(column.high)}${column.unit ? ` ${column.unit}` : ""}${column.step ? `, in steps of ${column.step}` : ""}`, "values beyond are clipped");
  } else if (column.type === "categories") {
    said.push(counted(column.values.length, "label"), column.other ? `others count as ${column.other}` : "others are left out");
  } else if (column.type === "subsets") {
    said.push(`up to ${column.cap} of ${counted(column.of.length, "label")}`, "others are dropped");
  } else if (column.type === "texts") {
    said.push("not listed in public: only those that enough people share can be shown", column.longest ? `cut after ${column.longest} characters` : null);
  } else if (!column.from) said.push(column.words ?? "");
  if (column.missing !== undefined && column.missing !== null) said.push(`missing counts as ${end(column.missing)}`);
  return said.filter(Boolean).join("; ");
}

// Whether persons are protected, or single rows.
export const isPersons = (schema) => schema.persons;

export const labels = (column) => column.values ?? column.of ?? [];

function card(column) {
  const values = labels(column);
  return h("li", { class: "card" },
    h("div", { class: "row spread" }, h("h2", null, h("code", null, column.name)), h("span", { class: "badge" }, TYPES[column.type] ?? column.type)),
    h("p", { class: "small" }, declared(column)),
    values.length ? h("ul", { class: "labels", "aria-label": `labels of ${column.name}`, tabindex: values.length > 24 ? 0 : undefined },
      values.map((value) => h("li", null, String(value)))) : null);
}

export function protects(schema) {
  return h("p", { class: "promise prose" }, h("strong", null, "Protected: "), `${schema.protects}. `,
    "Whatever is asked, what anyone can conclude changes little through that; how little is what questions spend.");
}

export async function publicly({ schema }) {
  return [
    h("h1", null, schema.dataset),
    protects(schema),
    h("p", null, `Declared: ${counted(schema.columns.length, "column")}${schema.size ? `, about ${spaced(schema.size, 0)} ${isPersons(schema) ? "persons" : "rows"}` : ""}. The budget of everyone together is ${cost(schema.budget)}, for good. Everything on this page was declared by the steward; nothing was read off the data.`),
    h("ul", { class: "columns" }, schema.columns.map(card)),
  ];
}
