// What is known before asking, free: the error bar to expect, the certificate, the cost, and how many more would fit.

import { h, s } from "./dom.js";
import { atMost, bound, cost, counted, percent, remaining, spaced, spentOf } from "./figures.js";
import { meter } from "./budgets.js";

// The error bar against the public range of the answer, where both are known.
function whisker(half, frame) {
  if (!frame || !(half > 0) || !Number.isFinite(half)) return null;
  const reach = Math.min(1, half / (frame.high - frame.low)), middle = 500, wide = Math.max(1.5, 1000 * reach);
  const from = Math.max(0, middle - wide), to = Math.min(1000, middle + wide);
  const line = (name, x1, x2, y1 = 17, y2 = 17) => s("line", { class: name, x1, x2, y1, y2, "vector-effect": "non-scaling-stroke" });
  return h("div", null,
    s("svg", { class: "whisker", viewBox: "0 0 1000 34", preserveAspectRatio: "none", role: "img", "aria-label": `an error bar of ${percent(Math.min(1, 2 * reach), 1)} of ${frame.words}` },
      line("track", 0, 1000), line("reach", from, to), line("end", from, from, 6, 28), line("end", to, to, 6, 28)),
    h("p", { class: "help" }, `the bar to expect, drawn on ${frame.words}`));
}

export function frameOf(query, schema) {
  const column = schema.columns.find((one) => one.name === query?.column);
  if (["mean", "median", "quantiles"].includes(query?.query) && typeof column?.low === "number") {
    return { low: column.low, high: column.high, words: `the declared range of ${column.name}, ${spaced(column.low, 0)} to ${spaced(column.high, 0)}` };
  }
  if (["count", "count_people", "histogram"].includes(query?.query) && schema.size) {
    return { low: 0, high: schema.size, words: `all ${spaced(schema.size, 0)}` };
  }
  return query?.query === "share" ? { low: 0, high: 1, words: "shares from 0 to 1" } : null;
}

export const badge = (held) => h("p", null, held?.ratio
  ? h("span", { class: "badge known" }, `within ${atMost(held.ratio, 2)}× of the best possible`)
  : h("span", { class: "badge" }, "no bound known"));

function more(found) {
  if (found.stored) return "asking again costs nothing";
  if (found.more === undefined || found.more === null) return "";
  return found.more > 0 ? `${counted(found.more, "question")} like this, this one included` : found.fits ? "this one, then no other like it" : "none";
}

const half = (found) => found?.error?.half_width;
// Where the error depends on how many rows count: that of the most rows.
const least = (found) => half(found) ?? found?.error?.half_widths?.[0]?.half_width;
const QUARTER = 0.25; // of what an answer can be: an error beyond it leaves little to learn

// A word of warning before a budget goes into an answer that says next to nothing.
const wide = (width, frame) => frame && width > QUARTER * (frame.high - frame.low)
  ? h("div", { class: "notice" }, h("p", { class: "small" }, h("strong", null, "Hint: "), `the error is more than a quarter of ${frame.words}; spend more, or ask for fewer groups.`))
  : null;

// One question of several, with its own cost, error and certificate.
const part = (one) => h("li", null, h("strong", null, one.question), `: ${one.stored ? "stored, nothing" : cost(one.cost)}; ${one.error?.words ?? ""}`, badge(one.certificate));

export function foreseen(found, frame) {
  const width = half(found);
  const mine = found.left?.analyst ?? found.left?.dataset;
  const questions = found.questions?.length > 1 ? found.questions : null;
  return [
    h("p", { class: "over" }, questions ? `${counted(questions.length, "question")} of one statement, together ${found.stored ? "nothing" : cost(found.cost)}` : found.question),
    questions ? h("ul", { class: "small" }, questions.map(part)) : [
      typeof width === "number" ? h("p", { class: "big" }, `± ${bound(width)}`) : null,
      h("p", { class: "small" }, found.error?.words ?? ""),
      whisker(width, frame),
      wide(least(found), frame),
      badge(found.certificate),
    ],
    found.fits === false ? h("div", { class: "notice bad" }, h("p", null, h("strong", null, "Does not fit. "), found.refusal ?? "More than is left would be spent: lower the spend, or ask for less.")) : null,
    found.hint ? h("div", { class: "notice" }, h("p", { class: "small" }, h("strong", null, "Hint: "), found.hint)) : null,
    found.stored ? h("div", { class: "notice" }, h("p", null, "This was asked before: the stored answer is shown again, free.")) : null,
    mine ? [meter(mine.budget, mine.spent, found.stored ? null : found.cost, `this question ${cost(found.cost)}, spent ${spentOf(mine.spent, mine.budget)}`),
      h("p", { class: "help" }, h("span", { class: "key now" }), `this ${found.stored ? "nothing" : cost(found.cost)}  `, h("span", { class: "key spent" }), `spent ${spentOf(mine.spent, mine.budget)}`)] : null,
  ];
}

// The rest, for those who want to know.
export function facts(found) {
  const mine = found.left?.analyst ?? found.left?.dataset;
  const several = found.questions?.length > 1;
  const cells = several ? found.questions.reduce((sum, one) => sum + (one.cells ?? 1), 0) : found.cells;
  return [
    h("dl", null,
      h("dt", null, "Cost"), h("dd", null, found.stored ? "nothing: it is stored" : cost(found.cost)),
      h("dt", null, "Left now"), h("dd", null, mine ? `${remaining(mine.left)}${found.left?.dataset && found.left?.analyst ? ` (of the dataset ${remaining(found.left.dataset.left)})` : ""}` : ""),
      h("dt", null, "Budget takes"), h("dd", null, more(found)),
      cells > 1 ? [h("dt", null, "Answers"), h("dd", null, counted(cells, "number"))] : null,
      (several ? found.questions : [found]).map((one) => [h("dt", null, "Certificate"), h("dd", null, several ? `${one.question}: ` : "", one.certificate?.words ?? "no bound known")]),
      found.mechanism && !several ? [h("dt", null, "Mechanism"), h("dd", null, `${found.mechanism}, the least error found`)] : null),
    found.long ? h("p", { class: "small" }, "This takes a while: it runs as a job, and you may go on.") : null,
  ];
}

// The same in one sentence, for those who listen.
export function spoken(found) {
  const width = half(found);
  const several = found.questions?.length > 1 ? `${counted(found.questions.length, "question")} of one statement.` : null;
  const error = several ?? (typeof width === "number" ? `Error to expect: plus or minus ${bound(width)}.` : (found.error?.words ?? ""));
  return `${error} Cost: ${found.stored ? "nothing" : cost(found.cost)}. ${found.fits === false ? "It does not fit the budget." : more(found)}`;
}
