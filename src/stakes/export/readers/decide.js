// Reads a decision layer of stakes: plain JavaScript, nothing to install. Copy it where you need it.
// decide(layer, p) takes the object of the JSON file and one row of probabilities, in the order of
// layer.labels, and returns {decision, expected}. They are those of the model behind it: what the
// layer calibrates must not have been calibrated before. prices, if given, are the row's own costs,
// prices[true][predicted].
function decide(layer, p, prices = null) {
  if (layer.limits) throw new Error("This reader knows no limits: use a newer one.");
  check(layer.labels.length, p, prices);
  p = calibrate(layer.calibration, p);
  if (layer.shifts) { // other class frequencies than in training
    const weighed = p.map((x, t) => x * layer.shifts.factors[t]), total = sum(weighed);
    if (total > 0) p = weighed.map((x) => x / total);
  }
  if (prices && !layer.with_prices)
    throw new Error("This layer cannot weigh the prices of single rows.");
  const expected = weigh(p, prices || layer.cost_matrix);
  let at = position(prices ? layer.with_prices : layer.rule, p, prices);
  const labels = [...layer.labels];
  if (layer.abstain) {
    const aside = sum(p.map((x, t) => x * layer.abstain.costs[t]));
    if (aside < expected[at]) at = labels.length;
    labels.push(layer.abstain.label);
    expected.push(aside);
  }
  return { decision: labels[at], expected };
}

function check(n, p, prices) {
  if (p.length !== n || !p.every((x) => x >= -1e-6) || !(Math.abs(sum(p) - 1) <= 1e-3))
    throw new Error(`Give ${n} probabilities, in the order of the labels, that sum to 1.`);
  const whole = (row) => row.length === n && row.every(Number.isFinite);
  if (prices && !(prices.length === n && prices.every(whole)))
    throw new Error(`Give prices[true][predicted]: ${n} rows of ${n} numbers.`);
}

const sum = (xs) => xs.reduce((a, b) => a + b, 0);
const weigh = (p, matrix) => matrix[0].map((_, d) => sum(p.map((x, t) => x * matrix[t][d])));

function position({ kind, parameters: by }, p, prices) {
  if (kind === "threshold") return p[1] > by ? 1 : 0;
  if (kind === "mossman") return p[2] > by[0] ? 2 : p[1] - p[0] > by[1] ? 1 : 0;
  let scores;
  if (kind === "thresholds") scores = p.map((x, k) => -x / by[k]);
  else if (kind === "weights") scores = p.map((x, k) => -x * by[k]);
  else if (!prices) scores = weigh(p, by);
  else if (kind === "matrix") scores = weigh(p, prices);
  else {
    if (kind === "class_scale") p = p.map((x, t) => x * by[t]);
    scores = weigh(p, prices.map((row) => row.map((c) => c - Math.min(...row))));
    if (kind === "shift") scores = scores.map((s, d) => s + by[d]);
    if (kind === "scale") scores = scores.map((s, d) => s * by[d]);
  }
  return scores.indexOf(Math.min(...scores));
}

function calibrate(how, p) {
  if (how.method === "none") return p;
  if (how.method === "softmax") {
    const kept = p.map((x) => Math.max(x, how.least)), total = sum(kept);
    const { slopes, biases } = how;
    const scores = kept.map((x, k) =>
      Math.log(x / total + how.added) * slopes[k % slopes.length] + biases[k % biases.length]);
    const most = Math.max(...scores), odds = scores.map((s) => Math.exp(s - most));
    const all = sum(odds);
    return odds.map((x) => x / all);
  }
  if (how.maps.length === 1) {
    const second = oneMap(how, how.maps[0], p[1]);
    return [1 - second, second];
  }
  const shares = p.map((x, k) => oneMap(how, how.maps[k], x)), total = sum(shares);
  return shares.map((x) => (total > 0 ? x / total : 1 / p.length));
}

function oneMap(how, one, x) {
  if (how.method === "sigmoid") {
    x = Math.min(Math.max(x, how.least), 1 - how.least);
    return 1 / (1 + Math.exp(one.slope * Math.log(x / (1 - x)) + one.bias));
  }
  if (how.method === "binning") return one.shares[one.edges.filter((edge) => edge <= x).length];
  const xs = one.x, ys = one.y;
  if (xs.length === 1) return ys[0];
  x = Math.min(Math.max(x, xs[0]), xs[xs.length - 1]);
  const at = xs.slice(1, -1).filter((knot) => knot <= x).length;
  return ys[at] + ((ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at])) * (x - xs[at]);
}
