// What the steward sees: spending over time, the ledger, the analysts, all releases.  Public values, no data.

import { about, read } from "./api.js";
import { draw } from "./charts.js";
import { h } from "./dom.js";
import { cost, counted, mainPart, remaining, symbol, up, when } from "./figures.js";
import { budget, meter } from "./budgets.js";
import { releaseList } from "./history.js";

function table(caption, head, rows) {
  return h("div", { class: "scroll" }, h("table", null,
    h("caption", null, caption),
    h("thead", null, h("tr", null, head.map(([text, numeric]) => h("th", { scope: "col", class: numeric ? "n" : undefined }, text)))),
    h("tbody", null, rows)));
}

// Steps of what each analyst has spent, under the line that nobody crosses.
function spendingChart(points, part, limit) {
  return (colors) => ({
    width: "full", height: 300,
    layer: [
      {
        data: { values: points },
        mark: { type: "line", interpolate: "step-after", strokeWidth: 2.4, opacity: 1 },
        encoding: {
          x: { field: "time", type: "temporal", title: null, axis: { grid: false, tickCount: 6 } },
          y: { field: "total", type: "quantitative", title: `${part} spent`, scale: { domain: [0, limit * 1.04], nice: false } },
          color: { field: "who", type: "nominal", title: null, legend: { orient: "top" }, scale: { range: [colors.accent, colors.other, colors.muted, colors.pale] } },
                  },
      },
      { data: { values: [{ limit }] }, mark: { type: "rule", strokeDash: [6, 4], color: colors.ink }, encoding: { y: { field: "limit", type: "quantitative" } } },
    ],
  });
}

export async function spending({ dataset }) {
  const [held, now] = await Promise.all([read(about(dataset, "/spending")), read(about(dataset, "/budget"))]);
  const points = held.points;
  const part = mainPart(now.dataset.budget);
  const drawn = series(points, part);
  const figure = h("figure", { class: "card" });
  if (drawn.length) {
    const names = [...new Set(drawn.map((point) => point.who))].join(", ");
    setTimeout(() => draw(figure, spendingChart(drawn, part, now.dataset.budget[part]), `What was spent over time by ${names}, under the budget ${cost(now.dataset.budget)}`));
  }
  return [
    h("h1", null, `Spending of ${dataset}`),
    h("div", { class: "budgets" }, budget("The dataset’s budget", now.dataset, "Everything that all analysts were told together stays within it.")),
    drawn.length ? figure : h("p", null, "Nothing has been spent yet."),
    h("p", { class: "small" }, `The dashed line is the dataset’s budget, ${symbol(part)} ${up(now.dataset.budget[part])}.`),
  ];
}

// Steps from nothing at the start to what is spent now: of everyone, and of each analyst where there are several.
function series(points, part) {
  if (!points.length) return [];
  const moments = points.map((point) => new Date(point.time).valueOf());
  const [first, now] = [moments[0], Math.max(Date.now(), moments.at(-1) + 1000)];
  const start = first - Math.max(1000, 0.03 * (now - first));
  const lines = new Map([["everyone", []]]);
  points.forEach((point, place) => {
    const who = point.analyst ?? "the plan";
    if (!lines.has(who)) lines.set(who, []);
    lines.get(who).push({ time: moments[place], total: point.by_analyst[part] });
    lines.get("everyone").push({ time: moments[place], total: point.spent[part] });
  });
  if (lines.size === 2) lines.delete("everyone");
  return [...lines].flatMap(([who, held]) =>
    [{ time: start, total: 0 }, ...held, { time: now, total: held.at(-1).total }].map((point) => ({ ...point, who })));
}

export async function ledger({ dataset }) {
  const held = await read(about(dataset, "/ledger"));
  const entries = held.lines;
  const rows = entries.map((entry) => h("tr", null,
    h("td", { class: "n" }, String(entry.sequence)),
    h("td", null, when(entry.time)),
    h("td", null, entry.kind),
    h("td", null, entry.analyst ?? ""),
    h("td", null, entry.name ?? ""),
    h("td", { class: "n" }, entry.cost ? cost(entry.cost) : "")));
  return [
    h("h1", null, "Ledger"),
    h("p", null, "Entries are only ever added: the charge before an answer is computed, the answer before it is shown. The newest come first."),
    h("p", { class: "small" }, "Its head, which shows later edits to whoever keeps it: ", h("code", null, held.head)),
    table(`the latest ${entries.length} of ${counted(held.entries, "line")} of ${held.place}`,
      [["No.", true], ["When"], ["Entry"], ["Analyst"], ["Name"], ["Charged", true]], rows),
  ];
}

export async function analysts({ dataset }) {
  const held = await read(about(dataset, "/analysts"));
  const rows = held.map((one) => h("tr", null,
    h("td", null, one.analyst),
    h("td", null, one.role),
    h("td", null, one.account ? meter(one.account.budget, one.account.spent, null, `spent ${cost(one.account.spent)} of ${cost(one.account.budget)}`) : ""),
    h("td", { class: "n" }, one.account ? cost(one.account.spent) : ""),
    h("td", { class: "n" }, one.account ? remaining(one.account.left) : ""),
    h("td", null, (one.tokens ?? []).map((token) => h("div", null, state(token))))));
  return [
    h("h1", null, "Analysts"),
    h("p", null, "Budgets of analysts divide the work; the dataset’s budget is the promise, since analysts may talk to one another. Tokens are made, listed and revoked by “sfumato analyst”."),
    table(counted(held.length, "analyst"), [["Name"], ["Role"], ["Budget"], ["Spent", true], ["Left", true], ["Tokens"]], rows),
  ];
}

function state(one) {
  if (one.revoked) return `revoked ${one.revoked === true ? "" : when(one.revoked)}`;
  return one.expires ? `until ${when(one.expires)}` : one.token === false ? "none" : "does not expire";
}

export async function releases(context) {
  return [h("h1", null, "Releases"), h("p", null, "Everything that was answered, to anyone."), ...(await releaseList(context, true))];
}
