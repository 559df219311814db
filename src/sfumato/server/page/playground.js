// The playground: move a slider, see the truth, a private answer and what one person's presence changes.

import { read, send } from "./api.js";
import { bar } from "./bar.js";
import { draw } from "./charts.js";
import { announce, debounced, field, h, put, select } from "./dom.js";
import { atMost, percent, spaced } from "./figures.js";
import { beside, errors, presence } from "./pictures.js";

const PAUSE = 250;
const main = document.getElementById("main");
const tidy = (value) => Number(value.toPrecision(2));

// A slider that says what it is at; `toValue` maps its place to a value.
function slid(name, ends, start, toValue, shown, changed, help) {
  const output = h("output", null);
  const range = h("input", { type: "range", min: ends[0], max: ends[1], step: ends[2] ?? 1, value: String(start), oninput: moved });
  const value = () => toValue(Number(range.value));
  function moved(event) {
    output.textContent = shown(value());
    range.setAttribute("aria-valuetext", shown(value()));
    if (event) changed();
  }
  const node = h("div", { class: "slid" }, field(name, range, help));
  range.value = String(start);
  node.querySelector("label").after(" ", output);
  output.htmlFor = range.id;
  moved();
  return { node, value, range };
}

const figures = (unit) => (value) => (unit === "$" ? `$${spaced(value, 0)}` : spaced(value, 0));

async function start() {
  const described = await read("/playground");
  put(document.getElementById("bar"), bar([], null, [h("span", { class: "badge lab" }, "not private")]));
  const questions = new Map(described.questions.map((one) => [one.name, one]));
  const state = { turn: 0, seed: 7, asking: null };
  const question = select(described.questions.map((one) => [one.name, one.words]), "mean", () => { arrange(); changed(); });
  const epsilon = slid("Epsilon (ε)", [-200, 100], -60, (place) => tidy(10 ** (place / 100)), String, () => changed(), "Smaller: more noise, more privacy. It bounds what anyone can conclude from one person’s being here.");
  const low = slid("Lower bound of salaries", [0, 50000, 5000], 0, (value) => value, figures("$"), () => changed());
  const high = slid("Upper bound of salaries", [60000, 400000, 10000], 200000, (value) => value, figures("$"), () => changed(), "Narrow bounds mean less noise, but cut what lies outside.");
  const rows = slid("People", [200, Math.round(100 * Math.log10(described.most_rows))], 330, (place) => Math.min(described.most_rows, tidy(10 ** (place / 100))), (value) => spaced(value, 0), () => changed(), "One person’s weight falls with their number, and so does the noise of a mean.");
  const again = h("button", { type: "button", onclick: () => { state.seed = crypto.getRandomValues(new Uint32Array(1))[0]; changed(); } }, "Draw again");
  const panels = h("div", { class: "panels" });
  const parts = makeParts();
  put(panels, parts.answer.node, parts.presence.node, parts.errors.node);

  function arrange() {
    const chosen = questions.get(question.value);
    low.node.hidden = high.node.hidden = !chosen.bounded;
    parts.presence.node.hidden = chosen.grouped;
  }

  const wish = () => ({ question: question.value, epsilon: epsilon.value(), low: low.value(), high: high.value(), rows: rows.value(), seed: state.seed });

  const changed = debounced(PAUSE, async () => {
    const turn = (state.turn += 1);
    state.asking?.abort();
    state.asking = new AbortController();
    panels.classList.add("stale");
    const asked = wish(), about = questions.get(asked.question);
    try {
      const found = await send("/playground/trial", asked, state.asking.signal);
      if (turn !== state.turn) return;
      await showTrial(parts, found, asked, about);
      panels.classList.remove("stale");
      if (about.grouped) return;
      const seen = await send("/playground/presence", asked, state.asking.signal);
      if (turn === state.turn) await showPresence(parts, seen, found, asked, about);
    } catch (error) {
      if (error.name === "AbortError") return;
      put(parts.answer.words, h("div", { class: "notice bad", role: "alert" }, h("p", null, error.message)));
      panels.classList.remove("stale");
    }
  });

  arrange();
  put(main,
    h("h1", null, "Playground"),
    h("p", { class: "prose" }, "What does an epsilon do? Here are invented people whose true answers may be shown, beside the private answers that anyone else would get."),
    h("div", { class: "bench" },
      h("form", { class: "card controls", "aria-label": "Sliders", onsubmit: (event) => event.preventDefault() },
        field("Question", question), epsilon.node, rows.node, low.node, high.node, again),
      panels));
  changed();
}

function panel(title, wide) {
  const words = h("div", null), figure = h("figure", null), below = h("div", null);
  return { node: h("section", { class: wide ? "card wide" : "card" }, h("h2", null, title), words, figure, below), words, figure, below };
}

const makeParts = () => ({
  answer: panel("The truth beside a private answer", true),
  presence: panel("What one person’s presence changes"),
  errors: panel("The error at every epsilon"),
});

async function showTrial(parts, found, asked, about) {
  const shown = figures(about.unit);
  const one = found.labels.length === 1;
  const fact = (name, text, kind, note) => h("div", null, h("p", { class: "small" }, name), h("p", { class: `big ${kind}` }, text), h("p", { class: "small" }, note));
  const half = (found.private.high[0] - found.private.low[0]) / 2;
  put(parts.answer.words, one ? h("div", { class: "facts" },
    fact("true", shown(found.truth[0]), "truth", about.bounded ? `${shown(found.kept[0])} after clipping ${percent(found.outside, 1)} of salaries` : "known to nobody who asks"),
    fact("private", shown(found.private.estimate[0]), "private", `${percent(found.level)} interval ${shown(found.private.low[0])} to ${shown(found.private.high[0])}`),
    fact("off by", shown(Math.abs(found.private.estimate[0] - found.truth[0])), "", `the noise allows ± ${shown(Math.ceil(half))}`)) : null);
  put(parts.answer.below,
    h("details", null, h("summary", null, "What is promised, and how good it is"),
      h("dl", null, h("dt", null, "Guarantee"), h("dd", null, found.guarantee), h("dt", null, "Certificate"), h("dd", null, found.certificate), h("dt", null, "Mechanism"), h("dd", null, found.mechanism))));
  await draw(parts.answer.figure, beside(found, about), `${found.question} Truth beside the private answer with its interval`);
  parts.errors.node.hidden = !found.errors.length;
  if (found.errors.length) {
    put(parts.errors.words, h("p", { class: "small" }, `The half-width of the ${percent(found.level)} error bar, from public quantities alone: this is what a preview shows before anything is spent. The dot is where the slider stands.`));
    await draw(parts.errors.figure, errors(found, asked, about), "The predicted error falls as epsilon grows");
  }
  announce(one ? `Private answer ${shown(found.private.estimate[0])}, truth ${shown(found.truth[0])}.` : "The answers were drawn again.");
}

async function showPresence(parts, seen, found, asked, about) {
  const shown = figures(about.unit);
  put(parts.presence.words, h("p", { class: "small" },
    `${seen.draws} answers with ${seen.who}, and ${seen.draws} without. Leaving moves the exact answer from ${shown(seen.with)} to ${shown(seen.without)}.`));
  await draw(parts.presence.figure, presence(seen, about), "Two distributions of answers, with one person and without");
  put(parts.presence.below, h("p", null,
    `At ε ${asked.epsilon} no answer is more than ${atMost(found.odds, 2)} times as likely with this person as without. Whoever must guess from it whether this person is here, with even odds before, is right at most ${atMost(100 * found.guess, 1)} % of the time.`));
  put(parts.errors.below, h("p", { class: "small" }, `${seen.covered} of ${seen.intervals} intervals covered the clipped truth; ${percent(found.level)} were promised.`));
}

try { await start(); } catch (error) {
  put(main, h("div", { class: "notice bad", role: "alert" }, h("p", null, error.message)));
}
