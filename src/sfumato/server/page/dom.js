// Elements from text: whatever is shown is a text node, so no answer, name or error is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

export function put(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

let numbered = 0;
export const fresh = (stem) => `${stem}-${(numbered += 1)}`;

// A control with its label above and, where there is one, a line of help below that belongs to it.
export function field(label, control, help) {
  control.id ||= fresh("field");
  const note = help ? h("p", { class: "help", id: fresh("help") }, help) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

export function select(choices, chosen, onchange) {
  const options = choices.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  return h("select", { onchange }, options);
}

// Said by screen readers, shown to nobody.
export function announce(text) {
  const region = document.getElementById("live");
  if (region && region.textContent !== text) region.textContent = text;
}

export const debounced = (wait, run) => {
  let timer;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => run(...given), wait); };
};
