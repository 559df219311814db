// Budgets as bars: what is spent, what a question would take, what is left.

import { about, read } from "./api.js";
import { h, s } from "./dom.js";
import { mainPart, percent, remaining, spentOf } from "./figures.js";

// Spent and, beside it, what is about to be spent; both as shares of the budget.
export function meter(budget, spent, now, label) {
  const part = mainPart(budget);
  const share = (amounts) => Math.min(1, Math.max(0, (amounts?.[part] ?? 0) / (budget?.[part] || 1)));
  const used = share(spent), next = Math.min(1 - used, share(now));
  return s("svg", { class: "meter", viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img", "aria-label": label ?? `${percent(used)} spent` },
    s("rect", { class: "track", width: 100, height: 12 }),
    s("rect", { class: "spent", width: 100 * used, height: 12 }),
    s("rect", { class: "now", x: 100 * used, width: 100 * next, height: 12 }));
}

export function budget(title, held, words) {
  return h("section", { class: "card" },
    h("h2", null, title),
    h("p", { class: "big" }, remaining(held.left)),
    h("p", { class: "small" }, `left; spent ${spentOf(held.spent, held.budget)}`),
    meter(held.budget, held.spent, null, `${title}: spent ${spentOf(held.spent, held.budget)}`),
    held.note ? h("p", { class: "help" }, `On delta: ${held.note}.`) : null,
    words ? h("p", { class: "help" }, words) : null);
}

export async function budgets({ dataset, me }) {
  const held = await read(about(dataset, "/budget"));
  return [
    h("h1", null, "Budgets"),
    h("div", { class: "budgets" },
      held.analyst ? budget(`Yours, ${me.analyst}`, held.analyst, "What you may still spend, as long as the dataset has as much.") : null,
      held.dataset ? budget("The dataset’s", held.dataset, "What all analysts may spend together: this is the promise to those in the table, since analysts may talk to one another.") : null),
    h("p", { class: "prose" }, "What is spent stays spent: an answer that is known cannot be unknown. Asking the same again is free, because it is the same answer. Previews are free, since they use public quantities only."),
  ];
}
