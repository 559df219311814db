// The bar at the top of every page: what there is to see, and light or dark.

import { h } from "./dom.js";
import { isDark, redraw } from "./charts.js";

export function themeSwitch() {
  const button = h("button", { type: "button", class: "quiet", onclick: turned });
  const name = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.setAttribute("aria-label", "Dark colors");
    button.textContent = isDark() ? "☾" : "☀";
  };
  function turned() {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("sfumato-theme", theme); } catch { /* without storage it holds for this page */ }
    name();
    redraw();
  }
  name();
  return button;
}

export function bar(links, current, extra = []) {
  const items = links.map(([address, text]) =>
    h("li", null, h("a", { href: address, "aria-current": address === current ? "page" : undefined }, text)));
  return [
    h("a", { class: "brand", href: "/" }, h("img", { src: "/page/mark.svg", alt: "", width: 26, height: 26 }), "Sfumato"),
    links.length ? h("nav", { "aria-label": "Views" }, h("ul", null, items)) : null,
    h("div", { class: "tools" }, extra, themeSwitch()),
  ];
}
