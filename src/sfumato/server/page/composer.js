// Composing a question: by form, in SQL, or as the record that a plan holds.  All three become the body of a request.

import { field, fresh, h, put, select } from "./dom.js";
import { numeric, questionForm } from "./form.js";

const TABS = [["form", "Compose"], ["sql", "SQL"], ["plan", "Plan JSON"]];

// A name as SQL writes it.
const written = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

function example(schema) {
  const grouped = schema.columns.find((column) => column.type === "categories");
  const number = schema.columns.find(numeric);
  const key = grouped ? written(grouped.name) : null;
  const chosen = [key, "count(*)", number ? `avg(${written(number.name)})` : null].filter(Boolean).join(", ");
  return `SELECT ${chosen}\nFROM ${written(schema.dataset)}${key ? `\nGROUP BY ${key}` : ""}`;
}

export function composer(schema, changed) {
  const form = questionForm(schema, changed);
  const sql = h("textarea", { class: "code", spellcheck: "false", autocapitalize: "off", oninput: changed, value: example(schema) });
  const plan = h("textarea", { class: "code", spellcheck: "false", autocapitalize: "off", oninput: changed });
  const panels = {
    form: form.node,
    sql: field("SQL", sql, "SELECT, WHERE and GROUP BY over the public columns; what is not supported is refused by name, free. How to ask, also from Python and by curl: docs/guide/asking.md."),
    plan: field("The question as plans write it", plan, "A record such as {\"query\": \"mean\", \"column\": \"salary\", \"by\": [\"state\"]}."),
  };
  let current = "form";
  const stem = fresh("tab");
  const tabs = TABS.map(([name, text]) => h("button", {
    type: "button", role: "tab", id: `${stem}-${name}`, "aria-controls": `${stem}-panel`,
    onclick: () => turn(name), onkeydown: (event) => moved(event, name),
  }, text));
  const panel = h("div", { role: "tabpanel", id: `${stem}-panel` });

  function turn(name) {
    if (name === "plan" && current === "form") plan.value = JSON.stringify(form.query(), null, 2);
    current = name;
    TABS.forEach(([one], place) => {
      tabs[place].setAttribute("aria-selected", String(one === name));
      tabs[place].tabIndex = one === name ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `${stem}-${name}`);
    put(panel, panels[name]);
    changed();
  }

  function moved(event, name) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (TABS.findIndex(([one]) => one === name) + step + TABS.length) % TABS.length;
    turn(TABS[next][0]);
    tabs[next].focus();
  }

  // The question's part of a request; throws where the text is no record.
  function question() {
    if (current === "sql") return { sql: sql.value };
    if (current === "form") return { query: form.query() };
    try { return { query: JSON.parse(plan.value) }; } catch { throw new Error("this is not JSON yet"); }
  }

  const node = h("section", { class: "card", "aria-label": "The question" },
    h("div", { class: "tabs", role: "tablist", "aria-label": "How to ask" }, tabs), panel);
  // What was composed, and the same again.
  const controls = () => [...form.node.querySelectorAll("input, select")];
  const held = () => ({ current, sql: sql.value, plan: plan.value, form: controls().map((one) => (one.type === "checkbox" ? one.checked : one.value)) });
  function resume(before) {
    controls().forEach((one, place) => {
      const value = before.form[place];
      if (one.type === "checkbox") one.checked = value;
      else if (one.value !== value) {
        one.value = value;
        one.dispatchEvent(new Event("change"));
      }
    });
    [sql.value, plan.value, current] = [before.sql, before.plan, before.current];
  }
  queueMicrotask(() => turn(current));
  return { node, question, held, resume, columnNamed: () => (current === "form" ? form.query().column : null) };
}
