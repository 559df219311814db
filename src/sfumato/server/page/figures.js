// Numbers for readers: as many digits as error bars justify; costs are rounded up, what is left is rounded down.

const SYMBOLS = { epsilon: "ε", delta: "δ", rho: "ρ", mu: "μ" };
export const PARTS = Object.keys(SYMBOLS);

const MINUS = "\u2212";
const grouped = (digits) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

export function spaced(value, digits) {
  if (typeof value !== "number") return value === null || value === undefined ? "" : String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? `${MINUS}∞` : "unknown";
  return grouped(digits).format(value).replace("-", MINUS);
}

function significant(value, digits, round) {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const place = 10 ** (digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  const scaled = value * place;
  // What differs from a whole number by the error of a double alone is that number.
  const near = Math.round(scaled);
  const held = (Math.abs(scaled - near) < 1e-9 * Math.max(1, Math.abs(near)) ? near : round(scaled)) / place;
  const text = Math.abs(held) >= 1e-4 ? Number(held.toPrecision(digits)).toString() : held.toExponential(digits - 1);
  return text.replace(/\.?0+e/, "e");
}

export const up = (value, digits = 4) => significant(value, digits, Math.ceil);
export const down = (value, digits = 4) => significant(value, digits, Math.floor);

const parts = (amounts) => PARTS.filter((name) => typeof amounts?.[name] === "number");
const said = (amounts, round) =>
  parts(amounts).filter((name) => name !== "delta" || amounts.delta > 0)
    .map((name) => `${SYMBOLS[name]} ${round(amounts[name])}`).join(", ");

// What is claimed to be the most of an error: three digits of it, never shown as less.
export const bound = (width) => (width >= 1000 ? atMost(width, 0) : up(width, 3));

// A number of a key or an axis, without the last digits of a double.
export const plain = (value) => (typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value));

// What is spent of a budget; a delta that both are stated at is said once, since it is not used up.
export function spentOf(spent, budget) {
  if (!(budget?.delta > 0) || spent?.delta !== budget.delta) return `${cost(spent)} of ${cost(budget)}`;
  const without = (amounts) => ({ ...amounts, delta: 0 });
  return `${cost(without(spent))} of ${cost(without(budget))}, both at δ ${up(budget.delta)}`;
}

export const cost = (amounts) => said(amounts, up) || "nothing";
export const remaining = (amounts) => said(amounts, down) || "nothing";
export const symbol = (name) => SYMBOLS[name] ?? name;

// Which part of a budget its slider moves: the first, which is epsilon or rho.
export const mainPart = (amounts) => parts(amounts)[0] ?? "epsilon";

// Digits after the point: two significant ones of the narrowest error bar.
export function decimals(rows) {
  const numbers = rows.filter((row) => typeof row.value === "number");
  if (numbers.length && numbers.every((row) => Number.isInteger(row.value))) return 0;
  const widths = numbers.map((row) => (row.high - row.low) / 2).filter((width) => width > 0 && width < Infinity);
  if (!widths.length) return 2;
  return Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(Math.min(...widths)))));
}

// What is claimed to be the most of something: never shown as less.
export const atMost = (value, digits) => spaced(Math.ceil(value * 10 ** digits - 1e-9) / 10 ** digits, digits);

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

export const when = (time) => {
  const date = new Date(time);
  if (Number.isNaN(date.valueOf())) return time ?? "";
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" }).format(date);
};

export const counted = (number, thing) => `${spaced(number, 0)} ${thing}${number === 1 ? "" : "s"}`;
