// What was asked: every stored answer again, at no cost.

import { about, read } from "./api.js";
import { h, put } from "./dom.js";
import { cost, when } from "./figures.js";
import { answered } from "./answer.js";

// Tables of releases: of one analyst, or of all where `named`.
export async function releaseList({ dataset, refusal }, named) {
  const list = await read(about(dataset, "/releases"));
  const shown = h("div", { tabindex: -1 });
  async function open(release) {
    try {
      put(shown, answered(await read(about(dataset, `/releases/${encodeURIComponent(release)}`)), dataset));
      shown.focus();
      shown.scrollIntoView({ block: "start" });
    } catch (error) { put(shown, refusal(error)); }
  }
  if (!list.length) return [h("p", null, "Nothing has been asked yet.")];
  const head = ["When", "Question", ...(named ? ["Analyst"] : []), "Cost"];
  const rows = list.map((one) => h("tr", null,
    h("td", null, when(one.time)),
    h("td", null, h("button", { type: "button", class: "link", onclick: () => open(one.release) }, one.question ?? one.name),
      one.name && one.name !== one.question ? h("div", { class: "small" }, one.name) : null),
    named ? h("td", null, one.analyst ?? "") : null,
    h("td", { class: "n" }, one.cost ? cost(one.cost) : "free, paid before")));
  return [
    h("div", { class: "scroll" }, h("table", null,
      h("thead", null, h("tr", null, head.map((text) => h("th", { scope: "col", class: text === "Cost" ? "n" : undefined }, text)))),
      h("tbody", null, rows))),
    shown,
  ];
}

export async function history(context) {
  return [
    h("h1", null, "History"),
    h("p", null, "Stored answers are shown again at no cost: they are the same answers, with the same noise."),
    ...(await releaseList(context, false)),
  ];
}
