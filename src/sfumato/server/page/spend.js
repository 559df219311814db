// What a question may cost: a slider over the orders of magnitude that are left, and a number beside it; or what error
// is enough, and the service finds what that costs.

import { h, put } from "./dom.js";
import { down, mainPart, remaining, symbol } from "./figures.js";

const STEPS = 200;
const FEWEST = 1000; // the least spend is this part of the budget
const WORDS = { epsilon: "Epsilon", rho: "Rho" };

const tidy = (value) => Number(value.toPrecision(2));

export function spendSlider(budget, left, changed) {
  const part = mainPart(budget);
  const least = tidy(budget[part] / FEWEST);
  let most = Math.max(least, left?.[part] ?? budget[part]);
  const chosen = { [part]: Math.min(Number(down(most, 6)), tidy(budget[part] / 10)) };
  const toPlace = (value) => Math.round(STEPS * Math.log(value / least) / Math.log(most / least || 1)) || 0;
  const toValue = (place) => (place >= STEPS ? Number(down(most, 6)) : tidy(least * (most / least) ** (place / STEPS)));
  const range = h("input", { type: "range", min: 0, max: STEPS, step: 1, id: "spend", oninput: () => set(toValue(Number(range.value)), "range") });
  const number = h("input", { type: "number", min: 0, step: "any", "aria-label": `${WORDS[part] ?? part}, exactly`, oninput: () => set(Number(number.value), "number") });
  const ends = h("div", { class: "ends", "aria-hidden": "true" });
  const delta = budget.delta ? deltaChoice(budget, left, () => changed()) : null;

  const enough = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: "within", "aria-describedby": "within-words", oninput: () => limited() });
  // A number, a share such as 1%, or whatever was typed: the service says what is wrong with it.
  const wanted = () => {
    const text = enough.value.trim();
    return text === "" ? null : Number.isNaN(Number(text)) ? text : Number(text);
  };

  function limited() {
    range.disabled = number.disabled = wanted() !== null;
    changed();
  }

  function set(value, from) {
    if (!(value > 0)) return;
    chosen[part] = value;
    if (from !== "number") number.value = String(value);
    if (from !== "range") range.value = String(Math.min(STEPS, Math.max(0, toPlace(Math.min(value, most)))));
    range.setAttribute("aria-valuetext", `${part} ${value}`);
    changed();
  }

  function limit(now) {
    most = Math.max(least, now?.[part] ?? most);
    put(ends, h("span", null, "less noise costs more"), h("span", null, `left: ${remaining(now ?? left)}`));
    range.value = String(Math.min(STEPS, Math.max(0, toPlace(Math.min(chosen[part], most)))));
  }

  number.value = String(chosen[part]);
  limit(left);
  const node = h("div", { class: "slider" },
    h("div", { class: "row spread" }, h("label", { for: "spend" }, `${WORDS[part] ?? part} (${symbol(part)}) to spend`), number),
    range, ends, delta?.node,
    h("div", { class: "row spread" }, h("label", { for: "within" }, "or: an error of at most"), enough),
    h("p", { class: "help", id: "within-words" }, "a number, or a share such as 1%, in 95 of 100 answers; then the least spend that does it is found"));
  const spend = () => ({ ...chosen, ...(delta?.value() ?? {}) });
  return { node, limit, terms: () => (wanted() === null ? { spend: spend() } : { within: wanted() }), part };
}

// Under a budget with a delta a question may use some of it; without, it is pure.
function deltaChoice(budget, left, changed) {
  const tenth = Number(Math.min(budget.delta / 10, left?.delta ?? budget.delta).toPrecision(2));
  const box = h("input", { type: "checkbox", id: "delta", onchange: changed });
  return {
    node: h("div", { class: "tick" }, box, h("label", { for: "delta" }, `and δ ${tenth}: some questions need it, and many numbers at once have less error with it`)),
    value: () => (box.checked ? { delta: tenth } : {}),
  };
}
