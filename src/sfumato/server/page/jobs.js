// Long work: progress, cancel, and the answer when it is there.  Jobs are remembered while the window is open.

import { about, call, read } from "./api.js";
import { announce, h, put } from "./dom.js";
import { cost, percent } from "./figures.js";

const KEPT = "sfumato-jobs";
const PAUSE = 1000; // ms between two looks
const ENDED = new Set(["done", "failed", "canceled"]);

const kept = () => { try { return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]"); } catch { return []; } };
const keep = (list) => { try { sessionStorage.setItem(KEPT, JSON.stringify(list)); } catch { /* forgotten on reload */ } };

export const remembered = (dataset) => kept().filter((one) => one.dataset === dataset);

export function follow({ job, dataset, question, body }, shown, refusal, ended) {
  keep([...kept().filter((one) => one.job !== job), { job, dataset, question, body }]);
  const bar = h("progress", { max: 1, "aria-label": "Progress" });
  const said = h("p", { class: "small" }, "waiting");
  const cancel = h("button", { type: "button", onclick: stopped }, "Cancel");
  const place = h("div", null);
  const node = h("section", { class: "card job", "aria-label": `Job: ${question}` }, h("h3", null, question), bar, said, cancel, place);

  async function stopped() {
    cancel.disabled = true;
    try { told(await call("DELETE", `/jobs/${encodeURIComponent(job)}`)); } catch (error) { put(place, refusal(error)); }
  }

  function told(state) {
    if (!state) return;
    if (typeof state.progress === "number") bar.value = state.progress;
    said.textContent = [state.state, state.stage, ENDED.has(state.state) ? null : percent(state.progress ?? 0), state.words, state.problem?.message].filter(Boolean).join(" · ");
  }

  async function look() {
    if (!node.isConnected) return;
    let state;
    try { state = await read(`/jobs/${encodeURIComponent(job)}`); } catch (error) {
      put(place, refusal(error));
      if (error.status !== 401) forget(); // whoever signs in again finds it
      return;
    }
    told(state);
    if (!ENDED.has(state.state)) { setTimeout(look, PAUSE); return; }
    forget();
    cancel.remove();
    announce(`Job ${state.state}: ${question}`);
    if (state.state === "done") {
      for (const release of [].concat(state.releases ?? state.release ?? [])) {
        const [answer, left] = await Promise.all([read(about(dataset, `/releases/${encodeURIComponent(release)}`)), read(about(dataset, "/budget"))]);
        await shown({ ...answer, left }, `made by a job, ${state.charged ? `charged ${cost(state.charged)}` : "nothing charged"}`);
      }
      node.remove();
    }
    ended?.();
  }
  const forget = () => keep(kept().filter((one) => one.job !== job));
  setTimeout(look, 60);
  return node;
}
