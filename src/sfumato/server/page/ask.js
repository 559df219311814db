// Asking: compose, watch the error and the cost while the slider moves, then ask.  Previews are free and never stale:
// the answer to an older question is dropped.

import { about, read, send } from "./api.js";
import { announce, debounced, h, put } from "./dom.js";
import { answered } from "./answer.js";
import { composer } from "./composer.js";
import { cost } from "./figures.js";
import { follow, remembered } from "./jobs.js";
import { facts, foreseen, frameOf, spoken } from "./preview.js";
import { declared, protects } from "./schema.js";
import { spendSlider } from "./spend.js";

const PAUSE = 250; // ms of rest before a preview

const composed = new Map(); // by dataset: who composed what, for when they come back to it
export const forgotten = () => composed.clear();

export async function asking({ me, dataset, schema, refusal }) {
  const held = await read(about(dataset, "/budget"));
  const mine = held.analyst;
  if (!mine) return [h("h1", null, `Ask about ${dataset}`), protects(schema), h("p", null, "You have no budget of your own here: you may look, but not ask.")];
  const shown = h("div", { class: "predicted", "aria-label": "Before you ask", role: "group" });
  const answers = h("div", { id: "answers", tabindex: -1 });
  const more = h("div", { class: "more" });
  const jobs = h("div", null);
  const ask = h("button", { class: "primary", type: "button", disabled: true, onclick: asked }, "Ask");
  const state = { asking: null, turn: 0, busy: false };

  const question = composer(schema, () => changed());
  const slider = spendSlider(mine.budget, least(held), () => changed());

  const preview = debounced(PAUSE, async () => {
    const turn = (state.turn += 1);
    state.asking?.abort();
    state.asking = new AbortController();
    shown.classList.add("stale");
    try {
      const body = { ...question.question(), ...slider.terms() };
      const found = await send(about(dataset, "/preview"), body, state.asking.signal);
      if (turn !== state.turn) return;
      put(shown, foreseen(found, found.questions?.length > 1 ? null : frameOf(found.query ?? body.query, schema)));
      put(more, facts(found));
      offer(found);
      announce(spoken(found));
    } catch (error) {
      if (error.name === "AbortError" || turn !== state.turn) return;
      put(shown, refusal(error));
      put(more);
      offer(null);
    } finally { if (turn === state.turn) shown.classList.remove("stale"); }
  });
  const working = () => remembered(dataset).some((one) => one.body === written());
  const written = () => { try { return JSON.stringify([question.question(), slider.terms()]); } catch { return null; } };
  const changed = () => { // what is on its way is about another question by now
    composed.set(dataset, { analyst: me.analyst, held: question.held() });
    state.turn += 1;
    state.asking?.abort();
    ask.disabled = true;
    preview();
  };

  function offer(found) {
    const begun = found && !found.stored && working();
    ask.disabled = state.busy || begun || !found || (found.fits === false && !found.stored);
    ask.textContent = begun ? "A job is at it" : found?.stored ? "Show it again, free" : found ? `Ask, for ${cost(found.cost)}` : "Ask";
  }

  async function asked() {
    state.busy = ask.disabled = true;
    ask.textContent = "Asking …";
    announce("Asking; the answer comes with the next tick of the service’s clock.");
    const body = { ...question.question(), ...slider.terms(), request: crypto.randomUUID() };
    try {
      const found = await send(about(dataset, "/release"), body);
      if (found.job) jobs.prepend(follow({ job: found.job, dataset, question: shown.firstChild?.textContent ?? "a question", body: written() }, show, refusal, over));
      else await show(found);
    } catch (error) {
      put(answers, refusal(error));
    } finally {
      state.busy = false;
      await over();
    }
  }

  // Something ended: what is left is another, and the question may be stored by now.
  async function over() {
    slider.limit(least(await read(about(dataset, "/budget"))));
    changed();
  }

  async function show(found, how) {
    answers.prepend(...[answered(found, dataset, how)].flat());
    answers.querySelectorAll(".notice.bad").forEach((old) => old.remove());
    announce(`Answered: ${found.question ?? found.name ?? "see below"}`);
    answers.focus({ preventScroll: true });
    answers.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  put(jobs, remembered(dataset).map((one) => follow(one, show, refusal, over)));
  const before = composed.get(dataset);
  if (before?.analyst === me.analyst) question.resume(before.held);
  return [
    h("h1", null, `Ask about ${dataset}`),
    protects(schema),
    h("div", { class: "asking" },
      h("div", null, question.node, columns(schema)),
      h("section", { class: "card before", "aria-label": "Cost and error" },
        h("div", { class: "row spread" }, h("h2", null, "Before you ask"), h("span", { class: "badge" }, "free")),
        slider.node, shown, ask, more)),
    jobs, answers,
  ];
}

// The columns at a glance, beside the question that names them.
function columns(schema) {
  return h("section", { class: "card glance", "aria-label": "Columns" },
    h("h2", null, "Columns"),
    h("dl", null, schema.columns.map((column) => [h("dt", null, h("code", null, column.name)), h("dd", { class: "small" }, declared(column))])));
}

// What both the analyst and the dataset have left.
function least(held) {
  const [mine, all] = [held.analyst?.left, held.dataset?.left];
  if (!mine || !all) return mine ?? all;
  return Object.fromEntries(Object.keys(all).filter((name) => typeof all[name] === "number")
    .map((name) => [name, Math.min(all[name], mine[name] ?? all[name])]));
}
