// An answer: the number or the picture, the table with intervals, what was promised, and files to take along.

import { about, download, read } from "./api.js";
import { draw } from "./charts.js";
import { h, put } from "./dom.js";
import { badge } from "./preview.js";
import { cost, counted, decimals, percent, plain, remaining, spaced } from "./figures.js";

const FIRST = 100; // rows that are shown at once
const SHOWN = new Set(["keys", "value", "low", "high", "remark", "no_answer"]);
const EMPTY = "–"; // of an answer that holds no information
const KINDS = { probability: "quantile" };

const interval = (row, digits) => `${spaced(row.low, digits)} to ${spaced(row.high, digits)}${row.remark ? `, ${row.remark}` : ""}`;

function numbers(rows, level, each) {
  const digits = decimals(rows);
  const keys = Object.keys(rows[0].keys ?? {});
  const extra = Object.keys(rows[0]).filter((name) => !SHOWN.has(name));
  const hasValue = rows.some((row) => row.value !== undefined && row.value !== null);
  const bars = rows.some((row) => row.low !== undefined && row.low !== null);
  const head = [...keys.map((text) => [text]), ...extra.map((name) => [KINDS[name] ?? name]), ...(hasValue ? [["answer", true]] : []), ...(bars ? [[`${percent(level)} interval${each}`, true]] : [])];
  const line = (row) => h("tr", null,
    keys.map((name) => h("td", null, row.keys[name] === null ? "all" : plain(row.keys[name]))),
    extra.map((name) => h("td", null, plain(row[name]))),
    hasValue ? h("td", { class: "n" }, row.no_answer ? EMPTY : spaced(row.value, digits)) : null,
    bars ? h("td", { class: "n" }, interval(row, digits)) : null);
  const body = h("tbody", null, rows.slice(0, FIRST).map(line));
  const all = rows.length > FIRST
    ? h("button", { type: "button", onclick: (event) => { put(body, rows.map(line)); event.target.remove(); } }, `Show all ${counted(rows.length, "row")}`)
    : null;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The numbers" }, h("table", null,
    h("thead", null, h("tr", null, head.map(([text, right]) => h("th", { scope: "col", class: right ? "n" : undefined }, text)))), body), all);
}

function wholeTable(table) {
  const lines = table.rows.map((row) => h("tr", null, (Array.isArray(row) ? row : table.columns.map((name) => row[name])).map((cell) => h("td", null, cell === null ? "" : String(cell)))));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The table" }, h("table", null,
    h("caption", null, `the first ${lines.length} of ${counted(table.count, "row")}`),
    h("thead", null, h("tr", null, table.columns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, lines)));
}

const single = (answer) => answer.rows?.length === 1 && !Object.keys(answer.rows[0].keys ?? {}).length;

function headline(answer) {
  const [row] = answer.rows;
  const digits = decimals(answer.rows);
  return [h("p", { class: "big" }, row.no_answer ? EMPTY : spaced(row.value, digits)),
    row.low !== null && row.low !== undefined ? h("p", null, `${percent(answer.level)} interval ${interval(row, digits)}`) : null];
}

export function answered(answer, dataset, how) {
  if (answer.releases?.length) return answer.releases.map((one) => answered({ left: answer.left, ...one }, dataset, how));
  const figure = h("figure", null);
  const rows = answer.rows?.length && !single(answer) ? numbers(answer.rows, answer.level, answer.curve ? " at each point" : "") : null;
  picture(answer, dataset, figure);
  return h("article", { class: "answer", "aria-label": `Answer: ${answer.question ?? answer.name}` },
    h("h2", null, answer.question ?? answer.name),
    h("p", { class: "over" }, answer.name && answer.name !== answer.question ? `${answer.name} · ` : "", answer.charged ? `charged ${cost(answer.charged)}` : how ?? "stored before, nothing charged", answer.left?.analyst ? ` · left ${remaining(answer.left.analyst.left)}` : ""),
    single(answer) ? headline(answer) : null,
    h("div", { class: rows ? "pictured" : null }, figure, rows, answer.table ? wholeTable(answer.table) : null),
    answer.curve && answer.error?.words ? h("p", { class: "small" }, `Band of the picture: ${answer.error.words}. Intervals of the table are of each point by itself.`) : null,
    badge(answer.certificate),
    h("p", { class: "row downloads" }, "Take along:", (answer.table ? ["csv", "parquet"] : ["csv", "json", "parquet"]).map((format) => h("a", { href: download(dataset, answer.release, format), download: "" }, format.toUpperCase()))),
    h("details", null, h("summary", null, "What was promised, and how to read it"),
      h("dl", null,
        h("dt", null, "Guarantee"), h("dd", null, answer.guarantee?.words ?? cost(answer.guarantee)),
        h("dt", null, "Certificate"), h("dd", null, answer.certificate?.words ?? "no bound known"),
        (answer.notes ?? []).map((note) => [h("dt", null, "Note"), h("dd", null, note)]),
        h("dt", null, "Release"), h("dd", null, h("code", null, answer.release))),
      h("p", { class: "small" }, "Intervals cover the noise that was added for privacy, about the answer after clipping to the declared bounds and keeping the declared number of rows of each person; each holds for its own row.")));
}

// The house's picture of a release, where it has one.
async function picture(answer, dataset, figure) {
  try {
    const spec = await read(about(dataset, `/releases/${encodeURIComponent(answer.release)}/picture`));
    if (typeof spec?.width === "number") spec.width = Math.max(spec.width, Math.min(860, figure.clientWidth));
    if (spec && figure.isConnected) await draw(figure, spec, `${answer.question ?? answer.name}; the numbers are in the table`);
    if (!spec) figure.remove();
  } catch { figure.remove(); }
}
