// The playground's pictures, as Vega-Lite descriptions in the house's colors.

const numbers = (unit) => ({ format: ",.3~r", formatType: "number", tickCount: 6, domain: false, ...(unit === "$" ? { format: "$,.3~s" } : { format: ",~s" }) });

// A window around the truth as wide as the error at a small epsilon: so the bar shrinks as the slider moves.
const SMALL = 0.03;
function around(found) {
  const wide = found.errors.find((one) => one.epsilon >= SMALL)?.error ?? 0.25 * found.truth[0];
  return [found.truth[0] - wide, found.truth[0] + wide];
}

// The truth beside the private answer: one line, or one for each group.
export function beside(found, about) {
  const rows = found.labels.map((label, place) => ({
    cell: label || " ", truth: found.truth[place], estimate: found.private.estimate[place],
    low: found.private.low[place], high: found.private.high[place],
  }));
  const y = { field: "cell", type: "nominal", sort: null, title: null, axis: { ticks: false, domain: false, labelPadding: 8, labelFontSize: 12, labels: about.grouped } };
  const domain = about.grouped ? undefined : around(found);
  const scale = domain ? { domain, nice: false, clamp: true, zero: false } : { zero: about.grouped, nice: true };
  const x = (name) => ({ field: name, type: "quantitative", title: about.unit === "$" ? "salary" : "people", scale, axis: numbers(about.unit) });
  return (colors) => ({
    width: 760, height: about.grouped ? { step: 34 } : 70, data: { values: rows },
    layer: [
      { mark: { type: "rule", color: colors.pale, strokeWidth: 10, strokeCap: "butt" }, encoding: { y, x: x("low"), x2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 90, opacity: 1, color: colors.accent }, encoding: { y, x: x("estimate") } },
      { mark: { type: "tick", color: colors.other, thickness: 3, size: 26, orient: "vertical" }, encoding: { y, x: x("truth") } },
    ],
  });
}

// Two histograms over the same bins: with one person, and without.
export function presence(seen, about) {
  const rows = seen.bins.flatMap((bin) => [
    { from: bin.from, to: bin.to, count: bin.with, who: "with" }, { from: bin.from, to: bin.to, count: bin.without, who: "without" },
  ]);
  return (colors) => ({
    width: 420, height: 190, data: { values: rows },
    mark: { type: "bar", opacity: 0.55, binSpacing: 0 },
    encoding: {
      x: { field: "from", type: "quantitative", title: "answer", scale: { zero: false, nice: false }, axis: { ...numbers(about.unit), grid: false }, bin: { binned: true } },
      x2: { field: "to" },
      y: { field: "count", type: "quantitative", stack: null, title: "answers", axis: { tickCount: 4, domain: false } },
      color: { field: "who", type: "nominal", title: null, legend: { orient: "top" }, scale: { domain: ["with", "without"], range: [colors.accent, colors.other] } },
    },
  });
}

export function errors(found, asked, about) {
  const axis = numbers(about.unit);
  const near = found.errors.reduce((best, one) => (Math.abs(Math.log(one.epsilon / asked.epsilon)) < Math.abs(Math.log(best.epsilon / asked.epsilon)) ? one : best));
  const x = { field: "epsilon", type: "quantitative", title: "epsilon", scale: { type: "log" }, axis: { values: [0.01, 0.1, 1, 10], format: "~g", grid: false } };
  const y = { field: "error", type: "quantitative", title: "± error", scale: { type: "log", domain: about.unit === "$" ? [1, 400000] : [0.1, 1000], clamp: true }, axis: { ...axis, tickCount: 5 } };
  return (colors) => ({
    width: 420, height: 190,
    layer: [
      { data: { values: found.errors }, mark: { type: "line", color: colors.accent, strokeWidth: 2.4 }, encoding: { x, y } },
      { data: { values: [near] }, mark: { type: "point", filled: true, size: 120, opacity: 1, color: colors.other }, encoding: { x, y } },
    ],
  });
}
