// The console: who is signed in, which dataset, which view.  A view is a function from the context to nodes.

import { Refusal, about, onSignedOut, read, send } from "./api.js";
import { announce, h, put, select } from "./dom.js";
import { bar } from "./bar.js";
import { asking, forgotten } from "./ask.js";
import { budgets } from "./budgets.js";
import { history } from "./history.js";
import { publicly } from "./schema.js";
import { signIn } from "./signin.js";
import { analysts, ledger, releases, spending } from "./steward.js";

const VIEWS = [
  ["#/ask", "Ask", asking], ["#/schema", "What is public", publicly], ["#/history", "History", history],
  ["#/budgets", "Budgets", budgets],
];
const STEWARD = [
  ["#/spending", "Spending", spending], ["#/ledger", "Ledger", ledger], ["#/analysts", "Analysts", analysts],
  ["#/releases", "Releases", releases],
];

const place = { me: null, dataset: null, schema: null, turn: 0 };
const main = document.getElementById("main");

const views = () => (place.me?.role === "steward" ? [...STEWARD, ...VIEWS] : VIEWS);

function drawBar(current) {
  const extra = place.me ? [
    place.me.datasets.length > 1
      ? [h("label", { class: "unseen", for: "dataset" }, "Dataset"), datasetSelect()]
      : null,
    h("span", null, `${place.me.analyst}`),
    h("button", { type: "button", onclick: signOut }, "Sign out"),
  ] : [];
  put(document.getElementById("bar"), bar(place.me ? views().map(([address, text]) => [address, text]) : [], current, extra));
}

function datasetSelect() {
  const chosen = select(place.me.datasets.map((name) => [name, name]), place.dataset, async () => {
    place.dataset = chosen.value;
    await show();
  });
  chosen.id = "dataset";
  return chosen;
}

export function refusal(error) {
  const text = error instanceof Refusal ? error.message : String(error.message ?? error);
  return h("div", { class: "notice bad", role: "alert" }, h("p", null, h("strong", null, "Refused. "), text));
}

async function show() {
  const turn = (place.turn += 1);
  const known = views();
  const [address, title, view] = known.find(([one]) => one === location.hash.split("?")[0]) ?? known[0];
  drawBar(address);
  document.title = `${title} · ${place.dataset ?? ""} · Sfumato`;
  put(main, h("p", { class: "over" }, "Loading …"));
  try {
    if (place.schema?.dataset !== place.dataset) {
      place.schema = { ...(await read(about(place.dataset))), dataset: place.dataset };
    }
    const nodes = await view({ me: place.me, dataset: place.dataset, schema: place.schema, refusal });
    if (turn === place.turn) put(main, nodes);
  } catch (error) {
    if (turn === place.turn && error.status !== 401) put(main, refusal(error));
  }
  if (turn === place.turn) announce(title);
}

// Whether somebody signed in from this browser: the cookie itself is not for scripts to see.
const HERE = "sfumato-signed-in";
const wasHere = () => { try { return localStorage.getItem(HERE) === "yes"; } catch { return true; } };
const noteHere = (yes) => { try { yes ? localStorage.setItem(HERE, "yes") : localStorage.removeItem(HERE); } catch { /* asked each time */ } };

async function signedIn() {
  place.me = await read("/me");
  place.dataset = place.me.datasets[0];
  noteHere(true);
  await show();
}

async function signOut() {
  await send("/logout", {});
  forgotten();
  gate();
}

const ENDED = "You were signed out, or your token ended: sign in again, and if that fails ask the steward for another token. What you composed is kept while this page is open.";

async function gate(said) {
  noteHere(false);
  place.me = place.schema = null;
  place.turn += 1;
  drawBar(null);
  document.title = "Sign in · Sfumato";
  announce("");
  put(main, said ? h("div", { class: "notice bad", role: "alert" }, h("p", null, said)) : null, await signIn(signedIn, refusal));
  main.querySelector("input:not([hidden])")?.focus();
}

addEventListener("hashchange", async () => {
  if (!place.me || location.hash === "#main") return;
  await show();
  main.focus();
});
onSignedOut(() => { if (place.me) gate(ENDED); });

if (!wasHere()) await gate();
else {
  try { await signedIn(); } catch (error) {
    if (error.status === 401) await gate();
    else { drawBar(null); put(main, refusal(error)); }
  }
}
