// The form: what is asked, of which column, for whom, in which groups.  Its value is a query as plans write it.

import { field, fresh, h, put, select } from "./dom.js";
import { isPersons } from "./schema.js";

const NUMBERS = new Set(["interval", "integers", "duration"]);
const AXES = new Set(["interval", "integers", "dates", "duration", "time-of-day"]);

export const numeric = (column) => NUMBERS.has(column.type);
const KINDS = [
  { name: "count", words: "How many rows", by: true },
  { name: "count_people", words: "How many people", by: true, persons: true },
  { name: "mean", words: "Mean", of: numeric, by: true },
  { name: "sum", words: "Sum", of: numeric, by: true },
  { name: "median", words: "Median", of: numeric, by: true, bars: true },
  { name: "quantiles", words: "Quantiles", of: numeric, by: true, probabilities: true, bars: true },
  { name: "std", words: "Standard deviation", of: numeric, by: true },
  { name: "share", words: "Share of rows where …", by: true, condition: true },
  { name: "histogram", words: "Histogram", by: true, grouped: true },
  { name: "crosstab", words: "Cross table with all margins", by: true, grouped: true, twice: true },
  { name: "top", words: "Most popular items", of: (column) => column.type === "subsets", k: true },
  { name: "density", words: "Density curve", of: numeric, columns: true, bandwidth: true },
];

export function questionForm(schema, changed) {
  const persons = isPersons(schema);
  const offered = KINDS.filter((kind) =>
    (!schema.kinds?.length || schema.kinds.includes(kind.name)) && (!kind.persons || persons) &&
    (!kind.of || schema.columns.some(kind.of)));
  const started = offered.find((kind) => kind.name === "mean") ?? offered[0];
  const kind = select(offered.map((one) => [one.name, one.words]), started.name, () => { arrange(); changed(); });
  const column = h("select", { onchange: changed });
  const probabilities = h("input", { value: "0.1, 0.25, 0.5, 0.75, 0.9", inputmode: "decimal", oninput: changed });
  const condition = h("input", { placeholder: example(schema), oninput: changed, spellcheck: "false", autocapitalize: "off" });
  const k = h("input", { type: "number", min: 1, value: 5, oninput: changed });
  const bandwidth = h("input", { type: "number", min: 0, step: "any", oninput: changed });
  const bars = h("input", { type: "checkbox", id: fresh("bars"), onchange: changed });
  const where = h("input", { placeholder: "everyone", oninput: changed, spellcheck: "false", autocapitalize: "off" });
  const keys = [key(schema, changed, "Group by"), key(schema, changed, "and by")];
  // Nothing is built again while one chooses: what holds the focus stays where it is.
  const parts = {
    of: field("Of the column", column), k: field("How many", k),
    bandwidth: field("Bandwidth", bandwidth, "In the column’s units; empty: a twentieth of its range."),
    bars: h("div", { class: "tick" }, bars, h("label", { for: bars.id }, "with an interval in the column’s units, for half of the spend; without, the error is known in ranks alone")),
    probabilities: field("At the probabilities", probabilities), condition: field("Where this holds", condition),
    by: h("div", null, keys.map((one) => one.node)),
  };
  const node = h("form", { onsubmit: (event) => event.preventDefault() },
    h("div", { class: "pair" }, field("What", kind), parts.of, parts.k, parts.bandwidth),
    parts.probabilities, parts.bars, parts.condition,
    field("Among", where, `A condition such as ${example(schema)}; empty for everyone.`), parts.by);
  const of = () => offered.find((one) => one.name === kind.value);

  function arrange() {
    const chosen = of();
    if (chosen.of) {
      const before = column.value;
      const fitting = schema.columns.filter(chosen.of);
      put(column, fitting.map((one) => h("option", { value: one.name }, one.name)));
      column.value = fitting.some((one) => one.name === before) ? before : preferred(fitting);
    }
    keys[0].suggest(chosen.grouped ? 0 : null);
    keys[1].suggest(chosen.twice ? 1 : null);
    for (const [name, part] of Object.entries(parts)) part.hidden = !chosen[name];
  }

  function query() {
    const chosen = of();
    const made = { query: chosen.name };
    if (chosen.columns) made.columns = [column.value];
    else if (chosen.of) made.column = column.value;
    if (chosen.bandwidth) made.bandwidth = Number(bandwidth.value) || twentieth(schema.columns.find((one) => one.name === column.value));
    if (chosen.k) made.k = Number(k.value);
    if (chosen.bars && bars.checked) made.bars = true;
    if (chosen.probabilities) made.probabilities = probabilities.value.split(",").map((text) => Number(text.trim()));
    if (chosen.condition) made.condition = condition.value;
    const by = chosen.by ? keys.map((one) => one.value()).filter(Boolean) : [];
    if (by.length) made.by = by;
    if (where.value.trim()) made.where = where.value.trim();
    return made;
  }

  arrange();
  return { node, query };
}

const preferred = (columns) => (columns.find((one) => /salary|income|wage|cost|price/i.test(one.name)) ?? columns[0])?.name;
const twentieth = (column) => Number(((column.high - column.low) / 20).toPrecision(2));

// A condition of this table; a name that is no plain word stands between backticks.
function example(schema) {
  const written = (column) => (/^[A-Za-z_]\w*$/.test(column.name) ? column.name : `\`${column.name.replaceAll("`", "``")}\``);
  const number = schema.columns.find((column) => column.type === "interval" || column.type === "integers");
  const label = schema.columns.find((column) => column.type === "categories" && typeof column.values[0] === "string");
  const parts = [
    number ? `${written(number)} >= ${Math.round((number.low + number.high) / 2)}` : null,
    label ? `${written(label)} in ['${label.values.slice(0, 2).map((one) => one.replaceAll("'", "\\'")).join("', '")}']` : null,
  ].filter(Boolean);
  return parts.join(" and ") || "age >= 18";
}

// One key: a column, and of numbers into how many bins their declared range is cut.
function key(schema, changed, label) {
  const fitting = schema.columns.filter((column) => column.type === "categories" || AXES.has(column.type));
  const column = select([["", "nothing"], ...fitting.map((one) => [one.name, one.name])], "", () => { touched = true; arrange(); changed(); });
  let touched = false;
  const bins = h("input", { type: "number", min: 2, max: 100, value: 8, oninput: changed });
  const cut = field("Equal bins", bins);
  const node = h("div", { class: "pair" }, field(label, column), cut);
  const chosen = () => fitting.find((one) => one.name === column.value);
  function arrange() { cut.hidden = !chosen() || !AXES.has(chosen().type); }
  arrange();
  return {
    node,
    chosen,
    // A column where one is needed, until the asker chooses; taken back where none is.
    suggest(place) {
      if (touched || (place !== null && chosen())) return;
      column.value = place === null ? "" : (fitting[place] ?? fitting[0])?.name ?? "";
      arrange();
    },
    value() {
      if (!chosen()) return null;
      return AXES.has(chosen().type) ? { bins: column.value, count: Number(bins.value) } : column.value;
    },
  };
}
