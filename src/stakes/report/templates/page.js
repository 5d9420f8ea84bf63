"use strict";
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const { k, n, labels } = data;
  const $ = (id) => document.getElementById(id);

  // -- the stored numbers ---------------------------------------------------------------
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const y = new Uint16Array(bytes(data.y));
  const today = new Uint16Array(bytes(data.baseline));
  const proba = new Float32Array(bytes(data.proba));
  const original = data.prices.map((row) => row.slice());
  let prices = original.map((row) => row.slice());
  // Prices by example: known when deciding (tensor) or in hindsight (costs).
  const tensor = data.fixed
    ? data.fixed.map((row) => row.map((value) => ({ value })))
    : null;
  for (const cell of data.cells) {
    tensor[cell.t][cell.d].values = new Float64Array(bytes(cell.values));
  }
  const costs = data.costs ? new Float64Array(bytes(data.costs)) : null;

  // A price by example moves in proportion to its average, or by as much where that was 0.
  const moved = (value, t, d) => {
    const before = original[t][d];
    const after = prices[t][d];
    if (after === before) return value;
    return before !== 0 ? value * (after / before) : value + after;
  };
  const known = (i, t, d) => {
    if (!tensor) return prices[t][d];
    const cell = tensor[t][d];
    return moved(cell.values ? cell.values[i] : cell.value, t, d);
  };
  const paid = (i, d) => {
    const t = y[i];
    if (costs) return moved(costs[i * k + d], t, d);
    return known(i, t, d);
  };

  // -- deciding again: the same sums in the same order as the library ---------------------
  const decide = () => {
    const decisions = new Uint16Array(n);
    for (let i = 0; i < n; i++) {
      let best = Infinity;
      let chosen = 0;
      for (let d = 0; d < k; d++) {
        let expected = 0;
        for (let t = 0; t < k; t++) expected += proba[i * k + t] * known(i, t, d);
        if (expected < best) {
          best = expected;
          chosen = d;
        }
      }
      decisions[i] = chosen;
    }
    return decisions;
  };
  // Sums are made by cell, then over cells, so that rounding stays out of sight.
  const tally = (decisions) => {
    const counts = new Float64Array(k * k);
    const sums = new Float64Array(k * k);
    for (let i = 0; i < n; i++) {
      const cell = y[i] * k + decisions[i];
      counts[cell] += 1;
      sums[cell] += paid(i, decisions[i]);
    }
    if (!tensor && !costs) {
      for (let c = 0; c < k * k; c++) sums[c] = counts[c] * prices[Math.floor(c / k)][c % k];
    }
    return { counts, sums, total: sums.reduce((a, b) => a + b, 0) };
  };
  const constantTotal = () => {
    let best = Infinity;
    const all = new Uint16Array(n);
    for (let d = 0; d < k; d++) best = Math.min(best, tally(all.fill(d)).total);
    return best;
  };
  const first = decide();

  // -- numbers as people read them --------------------------------------------------------
  const fixed = (value, digits) => {
    if (!Number.isFinite(value)) return "–";
    const [whole, part] = value.toFixed(digits).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return part ? `${grouped}.${part}` : grouped;
  };
  const signed = (value, text) => (value < 0 && /[1-9]/.test(text) ? "−" : "");
  const money = (value, digits) => {
    const { currency } = data.money;
    const text = fixed(Math.abs(value), digits);
    const sign = signed(value, text);
    if (!currency) return sign + text;
    if ("€$£¥₹₩₺₽₴₦฿₫₪₱".includes(currency)) return sign + currency + text;
    return `${sign}${text} ${currency}`;
  };
  const total = (value) => money(value * data.scale, data.money.total);
  const percent = (value, digits = 1) => {
    if (!Number.isFinite(value)) return "–";
    const text = fixed(Math.abs(value) * 100, digits);
    return `${signed(value, text)}${text}%`;
  };
  const plain = (value) => String(Number(value.toPrecision(6)));

  // -- drawing ------------------------------------------------------------------------------
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const niceTicks = (high) => {
    if (!(high > 0)) return [0];
    const raw = high / 5;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 2.5, 5].find((m) => m * power >= raw * 0.999) || 10);
    const ticks = [];
    for (let v = 0; v <= high * (1 + 1e-9); v += step) ticks.push(v);
    return ticks;
  };
  const pairThreshold = (t, d) => {
    const alarm = prices[t][d] - prices[t][t];
    const miss = prices[d][t] - prices[d][d];
    if (alarm <= 0) return alarm < 0 || miss > 0 ? "always" : "–";
    return miss <= 0 ? "never" : percent(alarm / (alarm + miss));
  };

  const drawThreshold = (again) => {
    const c = data.chart;
    const m = c.thresholds.length;
    const below = new Float64Array(m + 1);
    const above = new Float64Array(m + 1);
    let ones = 0;
    for (let i = 0; i < n; i++) {
      const p = proba[i * 2 + 1];
      let low = 0;
      let high = m;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (c.thresholds[middle] <= p) low = middle + 1;
        else high = middle;
      }
      below[low] += paid(i, 0);
      above[low] += paid(i, 1);
      ones += paid(i, 1);
    }
    const curve = [];
    let zero = 0;
    for (let g = 0; g < m; g++) {
      zero += below[g];
      ones -= above[g];
      curve.push(zero + ones);
    }
    const top = Math.max(...curve) || 1;
    const height = (v) => c.bottom - (v / top) * (c.bottom - c.top);
    $("curve").setAttribute("d", "M" + curve.map((v, g) => `${c.xs[g]} ${height(v).toFixed(1)}`).join("L"));
    $("y-axis").replaceChildren(
      ...niceTicks(top).flatMap((v) => [
        svg("line", { class: "grid", x1: c.left, x2: c.right, y1: height(v), y2: height(v) }),
        svg("text", { class: "y", x: c.left - 8, y: height(v) + 4 }, total(v)),
      ]),
    );
    const alarm = prices[0][1] - prices[0][0];
    const miss = prices[1][0] - prices[1][1];
    const threshold = alarm / (alarm + miss);
    const usable = alarm + miss > 0 && threshold > 0 && threshold <= 1;
    let x = -99;
    if (usable) {
      const g = c.thresholds.findIndex((v) => v >= threshold);
      if (g <= 0) x = g === 0 ? c.xs[0] : c.xs[m - 1];
      else {
        const share = (threshold - c.thresholds[g - 1]) / (c.thresholds[g] - c.thresholds[g - 1]);
        x = c.xs[g - 1] + share * (c.xs[g] - c.xs[g - 1]);
      }
    }
    for (const end of ["x1", "x2"]) $("marker").setAttribute(end, x);
    $("wi-threshold").textContent = usable ? percent(threshold) : "–";
    if (data.kind === "deciding") {
      for (const end of ["y1", "y2"]) $("own").setAttribute(end, height(again.total));
    }
  };

  const clip = (region, normal) => {
    const side = (p) => p[0] * normal[0] + p[1] * normal[1] + p[2] * normal[2];
    const kept = [];
    region.forEach((here, i) => {
      const there = region[(i + 1) % region.length];
      const a = side(here);
      const b = side(there);
      if (a <= 0) kept.push(here);
      if ((a < 0 && b > 0) || (b < 0 && a > 0)) {
        kept.push(here.map((v, j) => v + (there[j] - v) * (a / (a - b))));
      }
    });
    return kept;
  };
  const drawSimplex = () => {
    const { corners } = data.simplex;
    for (let d = 0; d < 3; d++) {
      let region = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      for (let other = 0; other < 3; other++) {
        if (other !== d) region = clip(region, [0, 1, 2].map((t) => prices[t][d] - prices[t][other]));
      }
      const points = region.map((p) =>
        [0, 1].map((axis) => (p[0] * corners[0][axis] + p[1] * corners[1][axis] + p[2] * corners[2][axis]).toFixed(1)).join(","),
      );
      document.querySelector(`[data-region="${d}"]`).setAttribute("points", points.join(" "));
    }
  };

  const drawConfusion = (again) => {
    const table = $("confusion");
    const largest = Math.max(...again.sums.map(Math.abs), 1e-300);
    if (table) {
      for (const cell of table.querySelectorAll("td[data-t]")) {
        const at = Number(cell.dataset.t) * k + Number(cell.dataset.d);
        cell.style.setProperty("--shade", (Math.abs(again.sums[at]) / largest).toFixed(3));
        cell.classList.toggle("none", !again.counts[at]);
        cell.querySelector("b").textContent = total(again.sums[at]);
        cell.querySelector("small").textContent = fixed(again.counts[at] * data.scale, 0);
      }
      return;
    }
    const order = [...again.sums.keys()].filter((c) => again.counts[c] && Math.floor(c / k) !== c % k);
    order.sort((a, b) => again.sums[b] - again.sums[a] || a - b);
    const row = (...texts) => {
      const tr = document.createElement("tr");
      for (const text of texts) {
        const td = document.createElement("td");
        const isolated = document.createElement("bdi");
        isolated.textContent = text;
        td.append(isolated);
        tr.append(td);
      }
      return tr;
    };
    const most = order.slice(0, 20).map((c) => [Math.floor(c / k), c % k, c]);
    $("most-expensive").tBodies[0].replaceChildren(
      ...most.map(([t, d, c]) => row(labels[t], labels[d], total(again.sums[c]), fixed(again.counts[c] * data.scale, 0))),
    );
    $("pair-list").tBodies[0].replaceChildren(
      ...most.map(([t, d]) => row(labels[t], labels[d], pairThreshold(t, d))),
    );
  };

  const drawBars = (amounts) => {
    const largest = Math.max(...Object.values(amounts), 1e-300);
    for (const [key, amount] of Object.entries(amounts)) {
      document.querySelector(`[data-bar="${key}"]`).style.width = `${(100 * Math.max(0, amount)) / largest}%`;
      document.querySelector(`[data-amount="${key}"]`).textContent = total(amount);
    }
  };

  const draw = () => {
    const decisions = decide();
    const again = tally(decisions);
    const before = tally(today).total;
    let changed = 0;
    for (let i = 0; i < n; i++) changed += decisions[i] !== first[i];
    $("wi-total").textContent = total(again.total);
    $("wi-each").textContent = money(again.total / n, data.money.each);
    $("wi-saving").textContent = before ? percent((before - again.total) / Math.abs(before)) : "–";
    $("wi-changed").textContent = fixed(changed * data.scale, 0);
    drawBars({ today: before, constant: constantTotal(), kept: tally(first).total, total: again.total });
    drawConfusion(again);
    if (k === 2) drawThreshold(again);
    else if (k === 3) drawSimplex();
    else {
      for (const cell of document.querySelectorAll("#pairs td[data-t]")) {
        const t = Number(cell.dataset.t);
        const d = Number(cell.dataset.d);
        if (t !== d) cell.textContent = pairThreshold(t, d);
      }
    }
  };
  let waiting = false;
  const drawSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };

  // -- changing prices ----------------------------------------------------------------------
  let picked = [1, 0];
  const inputs = new Map();
  const words = (t, d) => `Cost of deciding ${labels[d]} when the truth is ${labels[t]}`;
  const top = (t, d) => 4 * (Math.abs(original[t][d]) || Math.max(...original.flat().map(Math.abs)) / 4 || 1);
  const showPicked = () => {
    const [t, d] = picked;
    $("slider-label").textContent = `${words(t, d)}: ${plain(prices[t][d])}`;
    $("slider").value = String(Math.round((1000 * prices[t][d]) / top(t, d)));
    if ($("pick-price")) {
      $("pick-true").value = String(t);
      $("pick-decided").value = String(d);
      if (document.activeElement !== $("pick-price")) $("pick-price").value = plain(prices[t][d]);
    }
  };
  const isOriginal = () => prices.every((row, t) => row.every((v, d) => v === original[t][d]));
  const remember = () => {
    const hash = isOriginal() ? "" : `#prices=${prices.flat().map(plain).join(",")}`;
    history.replaceState(null, "", hash || location.pathname + location.search);
  };
  const set = (t, d, value, from) => {
    prices[t][d] = value;
    picked = [t, d];
    const input = inputs.get(`${t},${d}`);
    if (input) {
      if (input !== from) input.value = plain(value);
      input.removeAttribute("aria-invalid");
      input.classList.toggle("changed", value !== original[t][d]);
    }
    showPicked();
    drawSoon();
  };
  const number = (text) => {
    const value = Number(text.trim().replace("−", "-").replace(/^(-?\d+),(\d+)$/, "$1.$2"));
    // Beyond a trillion sums would lose the digits that are shown.
    return text.trim() !== "" && Math.abs(value) <= 1e12 ? value : null;
  };
  const onText = (input, at) => {
    input.addEventListener("input", () => {
      const value = number(input.value);
      if (value === null) input.setAttribute("aria-invalid", "true");
      else {
        input.removeAttribute("aria-invalid");
        set(...at(), value, input);
      }
    });
    input.addEventListener("change", () => {
      const [t, d] = at();
      input.value = plain(prices[t][d]);
      input.removeAttribute("aria-invalid");
      remember();
    });
  };
  const grid = $("prices");
  if (grid) {
    for (const cell of grid.querySelectorAll("td[data-t]")) {
      const t = Number(cell.dataset.t);
      const d = Number(cell.dataset.d);
      const input = document.createElement("input");
      input.type = "text";
      input.inputMode = "decimal";
      input.autocomplete = "off";
      input.value = plain(prices[t][d]);
      input.setAttribute("aria-label", words(t, d));
      input.addEventListener("focus", () => {
        picked = [t, d];
        showPicked();
      });
      onText(input, () => [t, d]);
      inputs.set(`${t},${d}`, input);
      cell.replaceChildren(input);
    }
  } else {
    picked = [0, 1];
    onText($("pick-price"), () => picked);
    for (const id of ["pick-true", "pick-decided"]) {
      $(id).addEventListener("change", () => {
        picked = [Number($("pick-true").value), Number($("pick-decided").value)];
        showPicked();
      });
    }
  }
  $("slider").addEventListener("input", () => {
    const [t, d] = picked;
    set(t, d, Number(plain((Number($("slider").value) / 1000) * top(t, d))));
  });
  $("slider").addEventListener("change", remember);
  const setAll = (values) => {
    const at = picked;
    values.forEach((row, t) => row.forEach((value, d) => set(t, d, value)));
    picked = at;
    showPicked();
    draw();
  };
  const say = (text) => {
    $("said").textContent = text;
  };
  $("reset").addEventListener("click", () => {
    setAll(original);
    remember();
    say("Back at the original prices.");
  });
  $("copy").addEventListener("click", async () => {
    remember();
    const link = location.href;
    try {
      await navigator.clipboard.writeText(link);
      say("The link is copied: whoever has this file sees these prices with it.");
    } catch {
      say(`The link: ${link}`);
    }
  });
  $("save").addEventListener("click", () => {
    const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const names = data.fullLabels;
    const lines = [["", ...names].map(quote).join(",")];
    prices.forEach((row, t) => lines.push([quote(names[t]), ...row.map(plain)].join(",")));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "costs.csv";
    link.click();
    say("Saved as costs.csv, ready for stakes compare --costs.");
  });
  const fromLink = () => {
    const match = /^#prices=([-\d.,e+]+)$/.exec(location.hash);
    const values = match ? match[1].split(",").map(Number) : [];
    if (values.length !== k * k || !values.every((v) => Math.abs(v) <= 1e12)) return false;
    setAll(original.map((row, t) => row.map((_, d) => values[t * k + d])));
    return true;
  };
  addEventListener("hashchange", fromLink);
  document.documentElement.classList.add("script");
  showPicked();
  if (!fromLink()) draw();
})();
