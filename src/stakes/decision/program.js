// From a model's probabilities to decisions: plain JavaScript, nothing to install; copy it anywhere.
// decide(policy, p) takes the object of the file of stakes.export.to_json and one row of probabilities,
// in the order of policy.classes, and returns {decision, position, expected}. The probabilities are
// those of the model behind the policy: what it calibrates must not have been calibrated before.
// prices, if given, are the row's own, prices[true][decided]; decisions that they leave out keep the
// policy's.
const FORMAT = "stakes-policy-1";
const LEAST = 1e-5; // what calibration keeps away from 0 and 1 before a logarithm is taken

function decide(policy, p, prices = null) {
  check(policy);
  if (policy.limits !== null || policy.states !== "probabilities")
    throw new Error("This file decides single rows by probabilities, and this policy does not.");
  const table = policy.prices, k = table.length, n = table[0].length;
  if (!areNumbers(p, k) || !p.every((x) => x >= -1e-6) || !(Math.abs(sum(p) - 1) <= 1e-3))
    throw new Error(`Give ${k} probabilities, in the order of the classes, that sum to 1.`);
  if (prices === null && policy.needs_prices)
    throw new Error("This policy decides by the prices of each row: give prices.");
  if (prices !== null && !policy.weighs_prices)
    throw new Error("This policy cannot weigh the prices of single rows.");
  const fewest = n - (policy.abstains ? 1 : 0);
  if (prices !== null && !isTable(prices, k, n) && !isTable(prices, k, fewest))
    throw new Error(`Give prices[true][decided]: ${k} rows of ${fewest} numbers.`);
  const own = prices === null ? table : prices.map((row, t) => [...row, ...table[t].slice(row.length)]);
  p = inForce(policy, p);
  const expected = weigh(p, own);
  // with the prices that keep a stream of rows to its shares
  let position = least(expected.map((x, d) => x + (policy.shadow_prices?.[d] ?? 0)));
  if (policy.rule !== null) {
    const scores = weigh(p, partition(own, policy.rule)), ruled = scores.length;
    position = least(scores);
    if (ruled < n) {
      const beside = ruled + least(expected.slice(ruled));
      if (expected[beside] < expected[position]) position = beside;
    }
  }
  return { decision: policy.decisions[position], position, expected };
}

// The sum over t of p[at + t] * table[t][d], for each d; into an array that is there already.
function weigh(p, table, at = 0, into = new Array(table[0].length)) {
  for (let d = 0; d < into.length; d++) {
    let total = 0;
    for (let t = 0; t < table.length; t++) total += p[at + t] * table[t][d];
    into[d] = total;
  }
  return into;
}

// The position of the least: of equal ones the first.
function least(scores) {
  let best = 0;
  for (let d = 1; d < scores.length; d++) if (scores[d] < scores[best]) best = d;
  return best;
}

// What a rule weighs in place of the prices; each row of prices has its least at 0.
function partition(prices, { scale, offset }) {
  return scale.map((row, t) => {
    const lowest = Math.min(...prices[t].slice(0, row.length));
    return row.map((s, d) => s * (prices[t][d] - lowest) + offset[t][d]);
  });
}

// Probabilities calibrated, and at the class frequencies in force.
function inForce(policy, p) {
  p = calibrate(policy.calibration, p);
  if (policy.priors === null) return p;
  const [now, before] = policy.priors;
  const weighed = p.map((x, t) => x * (before[t] > 0 ? now[t] / before[t] : 1)), total = sum(weighed);
  return total > 0 ? weighed.map((x) => x / total) : p;
}

function calibrate(how, p) {
  if (how === null) return p;
  const { method, maps } = how;
  if (method === "softmax" || method === "matrix") {
    const each = (numbers, k) => numbers[k % numbers.length];
    const logs = even(p.map((x) => Math.max(x, LEAST))).map((x) => Math.log(x + how.added));
    let scores = logs.map((x, k) => x * each(how.slopes, k));
    if (method === "matrix") {
      const mixed = softmax(scores).map((x) => Math.log((1 - how.unseen) * x + how.unseen / p.length));
      scores = how.matrix.map((row) => sum(row.map((m, j) => m * mixed[j])));
    }
    return softmax(scores.map((x, k) => x + each(how.biases, k)));
  }
  if (maps.length > 1) return even(p.map((x, k) => oneMap(method, maps[k], x)));
  const second = oneMap(method, maps[0], p[1]); // of two classes, the second's
  return [1 - second, second];
}

function oneMap(method, one, x) {
  if (method === "sigmoid") {
    x = Math.min(Math.max(x, LEAST), 1 - LEAST);
    return 1 / (1 + Math.exp(one.slope * Math.log(x / (1 - x)) + one.bias));
  }
  if (method === "binning") return one.shares[one.edges.filter((edge) => edge <= x).length];
  const xs = one.x, ys = one.y;
  if (xs.length === 1) return ys[0];
  x = Math.min(Math.max(x, xs[0]), xs[xs.length - 1]);
  const at = xs.slice(1, -1).filter((knot) => knot <= x).length;
  return ys[at] + ((ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at])) * (x - xs[at]);
}

const sum = (xs) => xs.reduce((a, b) => a + b, 0);

function even(xs) {
  const total = sum(xs);
  return xs.map((x) => (total > 0 ? x / total : 1 / xs.length));
}

function softmax(scores) {
  const most = Math.max(...scores), odds = scores.map((s) => Math.exp(s - most)), total = sum(odds);
  return odds.map((x) => x / total);
}

// Refuse what is no policy, and a policy whose parts do not belong together.
function check(policy) {
  if (!policy || policy.format !== FORMAT)
    throw new Error(`This is no decision policy of this version, whose format is "${FORMAT}".`);
  const areLabels = (xs) => Array.isArray(xs) && xs.length > 1 && new Set(xs).size === xs.length;
  const { classes, decisions, rule, priors } = policy, k = classes?.length, n = decisions?.length;
  if ([...(classes ?? []), ...(decisions ?? [])].some((x) => Number.isInteger(x) && !Number.isSafeInteger(x)))
    throw new Error("JavaScript does not tell whole numbers beyond 2^53 apart: name the labels as text.");
  const ruled = rule?.scale?.[0]?.length;
  const holds = {
    classes: areLabels(classes),
    decisions: areLabels(decisions),
    prices: isTable(policy.prices, k, n),
    rule: rule === null || (ruled > 0 && ruled <= n && isTable(rule.scale, k, ruled) && isTable(rule.offset, k, ruled)),
    calibration: policy.calibration === null || isCalibration(policy.calibration, k),
    priors: priors === null || isTable(priors, 2, k),
    limits: policy.limits === null || Array.isArray(policy.limits),
    shadow_prices: policy.shadow_prices === null || areNumbers(policy.shadow_prices, n),
    states: ["probabilities", "both", "costs", "votes"].includes(policy.states),
  };
  for (const name of ["weighs_prices", "needs_prices", "abstains"]) holds[name] = typeof policy[name] === "boolean";
  const wrong = Object.keys(holds).find((name) => !holds[name]);
  if (wrong) throw new Error(`The policy does not hold together: "${wrong}" is missing or does not fit the rest.`);
}

const areNumbers = (xs, n) => Array.isArray(xs) && xs.length === n && xs.every(Number.isFinite);
const isTable = (rows, k, n) => Array.isArray(rows) && rows.length === k && rows.every((row) => areNumbers(row, n));

function isCalibration(how, k) {
  if (how?.method === "softmax" || how?.method === "matrix") {
    const sized = (xs) => areNumbers(xs, 1) || areNumbers(xs, k);
    const mixes = how.method === "softmax" || (isTable(how.matrix, k, k) && Number.isFinite(how.unseen));
    return sized(how.slopes) && sized(how.biases) && Number.isFinite(how.added) && mixes;
  }
  const maps = how?.maps;
  if (!Array.isArray(maps) || (maps.length !== k && !(k === 2 && maps.length === 1))) return false;
  return maps.every((one) => {
    if (how.method === "sigmoid") return Number.isFinite(one?.slope) && Number.isFinite(one?.bias);
    const binned = how.method === "binning", places = binned ? one?.edges : one?.x;
    if (!(binned || how.method === "isotonic") || !Array.isArray(places) || !areNumbers(places, places.length)) return false;
    const size = places.length + (binned ? 1 : 0), rises = places.every((x, i) => i === 0 || x > places[i - 1]);
    return size > 0 && rises && areNumbers(binned ? one.shares : one.y, size);
  });
}
