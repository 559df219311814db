// Signing in: a token for a cookie that scripts cannot read.

import { send } from "./api.js";
import { field, h, put } from "./dom.js";
import { look } from "./charts.js";

export async function signIn(done, refusal) {
  const token = h("input", { type: "password", autocomplete: "current-password", required: true, spellcheck: "false" });
  const said = h("div", null);
  const button = h("button", { class: "primary" }, "Sign in");
  async function submitted(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      await send("/login", { token: token.value.trim() });
      await done();
    } catch (error) {
      put(said, refusal(error));
      token.focus();
    } finally { button.disabled = false; }
  }
  const { playground } = await look();
  return h("div", { class: "gate" },
    h("h1", null, "Ask, without seeing the data"),
    h("p", { class: "prose" }, "Questions are answered with noise that protects everyone in the table, with the error that the noise makes, and with how near that is to the best possible."),
    h("form", { class: "card", onsubmit: submitted },
      h("input", { type: "text", autocomplete: "username", hidden: true, "aria-hidden": "true", tabindex: -1 }),
      field("Token", token, "The steward made it with “sfumato analyst add”, and it was shown once."), said, button),
    playground ? h("p", { class: "small" }, "No token? ", h("a", { href: "/playground" }, "Try the playground"), " on invented people.") : null);
}
