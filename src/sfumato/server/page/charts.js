// Charts by Vega-Lite in the house's look.  Expressions are interpreted, never compiled, so that the content policy holds.

import { h, put } from "./dom.js";

let loaded;
const LABELS = new Set(["data", "datasets", "sort", "domain", "values", "text", "title"]);

function kit() {
  loaded ??= (async () => {
    const look = await (await fetch("/page/look.json")).json();
    const { vegaEmbed } = await import(look.vega);
    return { look, vegaEmbed };
  })();
  return loaded;
}

export const look = async () => (await (await fetch("/page/look.json")).json());

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

// The same description in the dark page's colors; labels and data stay as they are.
function recolored(part, colors) {
  if (typeof part === "string") return colors[part] ?? part;
  if (Array.isArray(part)) return part.map((one) => recolored(one, colors));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, one]) => [name, LABELS.has(name) && name !== "title" ? one : recolored(one, colors)]),
  );
}

// A picture no wider than its place: `full` fills it; where labels lose room, some are left out.
function fitted(spec, width) {
  if (spec.width === "full") return { ...spec, width };
  return typeof spec.width === "number" && spec.width > width ? { ...thinned(spec), width } : spec;
}

// Axes and labels are within the width; said to Vega itself, since Vega-Lite complains of it where heights are steps.
const within = (compiled) => ({ ...compiled, autosize: { type: "fit-x", contains: "padding" } });

function thinned(part) {
  if (Array.isArray(part)) return part.map(thinned);
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => {
    if (LABELS.has(name)) return [name, one];
    return [name, name === "x" && one?.axis ? { ...one, axis: { ...one.axis, labelOverlap: true } } : thinned(one)];
  }));
}

const drawn = new Map();

// Draws a description into a figure with a name for those who do not see it; `make(colors)` or a description.
export async function draw(figure, description, label) {
  const { look: house, vegaEmbed } = await kit();
  const made = typeof description === "function" ? description(house.colors) : description;
  const spec = { background: "transparent", ...made, config: { ...house.config, ...made.config } };
  delete spec.title;
  const shown = fitted(isDark() ? recolored(spec, house.dark) : spec, Math.max(240, figure.clientWidth - 4));
  const canvas = h("div", { class: "chart" });
  const options = { actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: false, patch: within };
  const previous = drawn.get(figure);
  const result = await vegaEmbed(canvas, shown, options);
  canvas.removeAttribute("aria-roledescription");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  canvas.querySelectorAll("svg").forEach((svg) => {
    svg.setAttribute("aria-hidden", "true");
    svg.querySelectorAll("[role],[aria-label],[aria-roledescription]").forEach((part) => {
      for (const name of ["role", "aria-label", "aria-roledescription"]) part.removeAttribute(name);
    });
  });
  previous?.result.finalize();
  put(figure, canvas);
  drawn.set(figure, { description, label, result });
  for (const held of drawn.keys()) if (!held.isConnected) { drawn.get(held).result.finalize(); drawn.delete(held); }
}

export function redraw() {
  for (const [figure, { description, label }] of [...drawn]) {
    if (figure.isConnected) draw(figure, description, label);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let resized;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(redraw, 200); });
