(() => {
  const $ = (id) => document.getElementById(id);
  document.documentElement.classList.add("script");

  // -- tables that are wider than the window say so ---------------------------------------
  const hints = new Map();
  const measure = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      const wider = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("wider", wider);
      if (wider && !hints.has(box)) {
        const hint = document.createElement("p");
        hint.className = "sideways";
        hint.textContent = "This table goes on: move it sideways.";
        box.before(hint);
        hints.set(box, hint);
      }
      if (hints.has(box)) hints.get(box).hidden = !wider;
    }
  };
  const bring = (cell) => {
    const box = cell && cell.closest(".scroll");
    if (!box || box.scrollWidth <= box.clientWidth + 1) return;
    const frozen = cell.parentElement.firstElementChild.getBoundingClientRect().width;
    const from = box.getBoundingClientRect();
    const at = cell.getBoundingClientRect();
    if (at.right > from.right) box.scrollLeft += at.right - from.right + 4;
    if (at.left < from.left + frozen) box.scrollLeft -= from.left + frozen - at.left + 4;
  };
  addEventListener("resize", measure);
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", measure);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

  // -- groups of another column -------------------------------------------------------------
  const groupBy = $("group-by");
  if (groupBy) {
    groupBy.addEventListener("change", () => {
      for (const card of document.querySelectorAll("[data-group]")) {
        card.hidden = card.dataset.group !== groupBy.value;
      }
      measure();
    });
  }

  measure();
  const source = $("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const { k, a, n, shares } = data;
  const classes = data.classes.short;
  const names = data.decisions.short;

  // -- the stored numbers ---------------------------------------------------------------
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const y = new Uint16Array(bytes(data.y));
  const stay = Object.entries(data.kept).map(([key, text]) => [key, new Uint16Array(bytes(text))]);
  const proba = new Float32Array(bytes(data.proba));
  check(data.policy);
  const original = data.policy.prices.map((row) => row.slice());
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
    if (costs) return moved(costs[i * a + d], t, d);
    return known(i, t, d);
  };

  // -- deciding again, by the program of the policy: the same sums in the same order ---------
  // A limit: at most `count` of the stored cases get the decision `d`; null where there is none.
  let limit = null;
  const worth = { more: 0 };
  const ofRow = original.map((row) => row.slice());
  const tableOf = (i) => {
    if (!tensor) return prices;
    for (let t = 0; t < k; t++) for (let d = 0; d < a; d++) ofRow[t][d] = known(i, t, d);
    return ofRow;
  };
  const decideAll = () => {
    const decisions = new Uint16Array(n);
    const expected = new Array(a);
    const saved = new Float64Array(limit ? n : 0);
    const wanted = [];
    for (let i = 0; i < n; i++) {
      weigh(proba, tableOf(i), i * k, expected);
      if (!limit) {
        decisions[i] = least(expected);
        continue;
      }
      const limited = expected[limit.d];
      expected[limit.d] = Infinity;
      decisions[i] = least(expected);
      saved[i] = expected[decisions[i]] - limited;
      if (saved[i] > 0 || (saved[i] === 0 && limit.d < decisions[i])) wanted.push(i);
    }
    if (limit) {
      // Those whom it saves most, the earlier of equals; what the next one would save.
      wanted.sort((a, b) => saved[b] - saved[a] || a - b);
      for (const i of wanted.slice(0, limit.count)) decisions[i] = limit.d;
      worth.more = wanted.length > limit.count ? saved[wanted[limit.count]] : 0;
    }
    return decisions;
  };
  // Sums are made by cell, then over cells, so that rounding stays out of sight.
  const tally = (decisions) => {
    const counts = new Float64Array(k * a);
    const sums = new Float64Array(k * a);
    for (let i = 0; i < n; i++) {
      const cell = y[i] * a + decisions[i];
      counts[cell] += 1;
      sums[cell] += paid(i, decisions[i]);
    }
    if (!tensor && !costs) {
      for (let c = 0; c < k * a; c++) sums[c] = counts[c] * prices[Math.floor(c / a)][c % a];
    }
    return { counts, sums, total: sums.reduce((a, b) => a + b, 0) };
  };
  const bestConstant = () => {
    let best = null;
    for (let d = 0; d < a; d++) {
      const found = tally(new Uint16Array(n).fill(d));
      if (!best || found.total < best.total) best = { ...found, d };
    }
    return best;
  };
  const first = decideAll();

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
  // A price in the page's own form: the digits of the price table, or more where it has more.
  const own = (value) => {
    let digits = data.digits;
    while (digits < 6 && Math.abs(value - Number(value.toFixed(digits))) > 1e-9 * Math.max(1, Math.abs(value))) digits += 1;
    const text = fixed(Math.abs(value), isAverage(value) ? data.digits : digits);
    return signed(value, text) + text;
  };
  const isAverage = (value) => data.kind !== "class" && original.some((row) => row.includes(value));
  const price = (value) => {
    const text = own(value);
    const [sign, rest] = text.startsWith("−") ? ["−", text.slice(1)] : ["", text];
    const { currency } = data.money;
    if (!currency) return text;
    return "€$£¥₹₩₺₽₴₦฿₫₪₱".includes(currency) ? sign + currency + rest : `${text} ${currency}`;
  };

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

  // At which probabilities of a class a decision is the cheapest, the others as frequent as they are.
  const decisionRange = (t, d) => {
    const rest = shares.map((share, other) => (other === t ? 0 : share));
    const all = sum(rest) || 1;
    const without = weigh(rest, prices).map((x) => x / all);
    let [low, high] = [0, 1];
    for (let other = 0; other < a; other++) {
      const start = without[d] - without[other];
      const end = prices[t][d] - prices[t][other];
      if ((start > 0 && end > 0) || (start === 0 && end === 0 && other < d)) return "never";
      if (start > 0) low = Math.max(low, start / (start - end));
      else if (end > 0) high = Math.min(high, start / (start - end));
    }
    if (low >= high) return "never";
    if (low === 0) return high === 1 ? "always" : `up to ${percent(high)}`;
    return high === 1 ? `from ${percent(low)}` : `${percent(low)} to ${percent(high)}`;
  };
  const howSure = data.choices ? decisionRange : (t, d) => (t === d ? "" : pairThreshold(t, d));

  const drawThreshold = (again) => {
    const c = data.chart;
    const m = c.thresholds.length;
    const below = new Float64Array(m + 1);
    const above = new Float64Array(m + 1);
    const one = data.positive;
    const other = 1 - one;
    let ones = 0;
    for (let i = 0; i < n; i++) {
      const p = proba[i * 2 + one];
      let low = 0;
      let high = m;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (c.thresholds[middle] <= p) low = middle + 1;
        else high = middle;
      }
      below[low] += paid(i, other);
      above[low] += paid(i, one);
      ones += paid(i, one);
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
    const alarm = prices[other][one] - prices[other][other];
    const miss = prices[one][other] - prices[one][one];
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
    for (let d = 0; d < a; d++) {
      let region = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      for (let other = 0; other < a; other++) {
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
    const largest = again.sums.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-300);
    if (table) {
      for (const cell of table.querySelectorAll("td[data-t]")) {
        const at = Number(cell.dataset.t) * a + Number(cell.dataset.d);
        cell.style.setProperty("--shade", (Math.abs(again.sums[at]) / largest).toFixed(3));
        cell.classList.toggle("none", !again.counts[at]);
        cell.querySelector("b").textContent = total(again.sums[at]);
        cell.querySelector("small").textContent = fixed(again.counts[at] * data.scale, 0);
      }
      return;
    }
    const order = [...again.sums.keys()].filter((c) => again.counts[c] && !data.right[Math.floor(c / a)].includes(c % a));
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
    const most = order.slice(0, 20).map((c) => [Math.floor(c / a), c % a, c]);
    $("most-expensive").tBodies[0].replaceChildren(
      ...most.map(([t, d, c]) => row(classes[t], names[d], total(again.sums[c]), fixed(again.counts[c] * data.scale, 0))),
    );
    $("sure-list").tBodies[0].replaceChildren(
      ...most.map(([t, d]) => row(classes[t], names[d], howSure(t, d))),
    );
  };

  const drawBars = (amounts) => {
    const largest = Math.max(...Object.values(amounts), 1e-300);
    for (const [key, amount] of Object.entries(amounts)) {
      document.querySelector(`[data-bar="${key}"]`).style.width = `${(100 * Math.max(0, amount)) / largest}%`;
      document.querySelector(`[data-amount="${key}"]`).textContent = total(amount);
    }
  };

  const title = $("what-if").dataset.title;
  const best = $("what-if").dataset.recommended;
  const explain = (ways, changed) => {
    const [again, kept] = [ways.total.total, ways.kept.total];
    const gap = total(Math.abs(again - kept));
    let text = `Kept and decided again, “${title}” costs the same.`;
    if (limit) {
      const count = fixed(limit.count * data.scale, 0);
      const costs = again === kept ? "costs the same as kept" : `costs ${gap} ${again < kept ? "less" : "more"} than kept`;
      text = `With at most ${count} times “${names[limit.d]}”, “${title}” decided again ${costs}.`;
    } else if (isOriginal()) text = `At the original prices, “${title}” kept and decided again are the same decisions.`;
    else if (!changed) text = "At these prices the same decisions are the best: none changes.";
    else if (again < kept) text = `Decided again, “${title}” costs ${gap} less than kept.`;
    else if (again > kept) text = `On these cases “${title}” costs ${gap} more decided again than kept: it weighs estimated probabilities, and where these are off, the decision that was expected to be cheaper was not.`;
    if (ways.recommended && !isOriginal() && !limit) {
      const other = ways.recommended.total;
      const apart = total(Math.abs(other - again));
      if (other < again) text += ` The recommended decisions, kept, cost ${apart} less than that, since “${best}” learned more than probabilities tell; fit it at these prices to see what it would decide.`;
      else if (other > again) text += ` The recommended decisions, kept, cost ${apart} more than that.`;
    }
    $("wi-why").textContent = text;
  };
  const selected = () => document.querySelector("input[name=look]:checked").value;
  const draw = () => {
    const decisions = decideAll();
    const ways = { constant: bestConstant(), kept: tally(first), total: tally(decisions) };
    for (const [key, decided] of stay) ways[key] = tally(decided);
    const again = ways.total;
    const look = selected();
    const before = ways.today.total;
    let changed = 0;
    for (let i = 0; i < n; i++) changed += decisions[i] !== first[i];
    document.querySelector('[data-name="constant"]').textContent = `“${names[ways.constant.d]}” for everybody`;
    const shown = ways[look];
    $("wi-total").textContent = total(shown.total);
    $("wi-each").textContent = money(shown.total / n, data.money.each);
    $("wi-saving").textContent = before ? percent((before - shown.total) / Math.abs(before)) : "–";
    $("wi-changed").textContent = fixed(changed * data.scale, 0);
    $("looked-at").textContent = document.querySelector(`[data-name="${look}"]`).textContent;
    for (const option of document.querySelectorAll("[data-option]")) {
      option.classList.toggle("best", option.dataset.option === look);
    }
    drawBars(Object.fromEntries(Object.entries(ways).map(([key, way]) => [key, way.total])));
    explain(ways, changed);
    drawConfusion(shown);
    showLimit();
    if (data.picture === "threshold") drawThreshold(again);
    else if (data.picture === "simplex") drawSimplex();
    else {
      for (const cell of document.querySelectorAll("#sure td[data-t]")) {
        cell.textContent = howSure(Number(cell.dataset.t), Number(cell.dataset.d));
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
  // It begins at the highest price, the first of equals as they stand in the table.
  let picked = [data.classes.order[0], data.decisions.order[0]];
  for (const t of data.classes.order) for (const d of data.decisions.order) if (original[t][d] > original[picked[0]][picked[1]]) picked = [t, d];
  const inputs = new Map();
  const words = (t, d) => `Cost of deciding ${names[d]} when ${data.when} ${classes[t]}`;
  const top = (t, d) => 4 * (Math.abs(original[t][d]) || Math.max(...original.flat().map(Math.abs)) / 4 || 1);
  const showPicked = () => {
    const [t, d] = picked;
    $("slider-label").textContent = `${words(t, d)}: ${price(prices[t][d])}`;
    $("slider").value = String(Math.round((1000 * prices[t][d]) / top(t, d)));
    if ($("pick-price")) {
      $("pick-true").value = String(t);
      $("pick-decided").value = String(d);
      if (document.activeElement !== $("pick-price")) $("pick-price").value = own(prices[t][d]);
    }
  };
  const isOriginal = () => prices.every((row, t) => row.every((v, d) => v === original[t][d]));
  const remember = () => {
    const hash = isOriginal() ? "" : `#prices=${prices.flat().map(String).join(",")}`;
    history.replaceState(null, "", hash || location.pathname + location.search);
  };
  const set = (t, d, value, from) => {
    prices[t][d] = value;
    picked = [t, d];
    const input = inputs.get(`${t},${d}`);
    if (input) {
      const letters = Number(grid.style.getPropertyValue("--letters"));
      grid.style.setProperty("--letters", Math.max(letters, own(value).length + 1));
      if (input !== from) input.value = own(value);
      input.removeAttribute("aria-invalid");
      input.classList.toggle("changed", value !== original[t][d]);
    }
    showPicked();
    drawSoon();
  };
  // What people write for numbers. A point or a comma is read as on this page where both
  // readings are possible ("1,200" is twelve hundred, "1.234" is not); what fits none is not used.
  const forms = [
    [/^\d+([.,]\d*)?$|^[.,]\d+$/, (s) => s.replace(",", ".")], // 12   12.5   12,5   ,5
    [/^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/, (s) => s.replaceAll(",", "")], // 1,200   1,234,567.8
    [/^[1-9]\d{0,2}(\.\d{3})+,\d*$|^[1-9]\d{0,2}(\.\d{3}){2,}$/, (s) => s.replaceAll(".", "").replace(",", ".")], // 1.234,56
    [/^[1-9]\d{0,2}( \d{3})+([.,]\d*)?$|^[1-9]\d{0,2}('\d{3})+([.,]\d*)?$/, (s) => s.replace(/[ ']/g, "").replace(",", ".")], // 5 000   1'000
    [/^[1-9]\d?(,\d{2})+,\d{3}(\.\d*)?$/, (s) => s.replaceAll(",", "")], // 1,20,000
  ];
  const thousands = forms[1][0];
  const number = (text) => {
    let s = text.normalize("NFKC").replace(/[\s\u00a0\u202f\u2009]+/g, " ").replace(/[’‘`´ʼ]/g, "'").trim();
    const { currency } = data.money;
    for (const sign of [currency, ..."€$£¥₹₩₺₽₴₦฿₫₪₱"]) {
      if (sign) s = s.replace(sign, (_, at) => (at === 0 || at + sign.length === s.length || /^[-−–+] ?$/.test(s.slice(0, at)) ? "" : sign));
    }
    const [, sign, body, power] = /^([-−–+]?) ?(.*?)(?:[eE]([-−+]?\d{1,3}))?$/.exec(s.trim());
    const form = thousands.test(body) ? forms[1] : forms.find(([pattern]) => pattern.test(body));
    if (!form) return null;
    const value = Number(`${form[1](body)}${power ? `e${power.replace("−", "-")}` : ""}`);
    // Beyond a trillion sums would lose the digits that are shown.
    if (!(value <= 1e12)) return null;
    return sign === "" || sign === "+" || value === 0 ? value : -value;
  };
  const onText = (input, at) => {
    let before = null;
    const begin = () => {
      const [t, d] = at();
      before = prices[t][d];
    };
    input.addEventListener("focus", begin);
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
      const typed = input.value;
      if (number(typed) === null) {
        set(t, d, before);
        say(`“${typed.slice(0, 40)}” is no number that can be read: the price stays ${price(before)}.`);
      } else {
        const twofold = /^\s*\D?\d{1,3}[.,]\d{3}\s*\D?\s*$/.test(typed) && !/^\D*0/.test(typed);
        say(`“${typed.trim().slice(0, 40)}” was read as ${price(prices[t][d])}${twofold && !typed.includes(",") ? ": the point is the decimal point, as everywhere on this page" : ""}.`);
      }
      input.value = own(prices[t][d]);
      input.removeAttribute("aria-invalid");
      begin();
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
      input.value = own(prices[t][d]);
      input.setAttribute("aria-label", words(t, d));
      input.setAttribute("aria-describedby", "said");
      input.addEventListener("focus", () => {
        picked = [t, d];
        showPicked();
      });
      onText(input, () => [t, d]);
      inputs.set(`${t},${d}`, input);
      cell.replaceChildren(input);
    }
  } else {
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
    set(t, d, Number(((Number($("slider").value) / 1000) * top(t, d)).toPrecision(4)));
  });
  $("slider").addEventListener("change", remember);
  const slide = $("limit");
  const cases = Math.round(n * data.scale);
  const showLimit = () => {
    const name = names[Number($("limit-decision").value)];
    const count = Number(slide.value);
    $("limit-label").textContent = limit ? `“${name}” at most ${fixed(count, 0)} times` : `“${name}” as often as it pays`;
    slide.setAttribute("aria-valuetext", $("limit-label").textContent);
    let text = "";
    if (limit && worth.more > 0) text = `One more “${name}” would save about ${money(worth.more, data.money.each)}, as expected from the probabilities.`;
    else if (limit) text = "This limit is not reached: one more would save nothing.";
    $("limit-said").textContent = text;
  };
  const setLimit = () => {
    const count = Number(slide.value);
    limit = count >= cases ? null : { d: Number($("limit-decision").value), count: Math.floor(count / data.scale) };
    drawSoon();
  };
  slide.addEventListener("input", setLimit);
  $("limit-decision").addEventListener("change", setLimit);
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
    slide.value = String(cases);
    limit = null;
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
    const { full, order } = data.decisions;
    const lines = [["", ...order.map((d) => full[d])].map(quote).join(",")];
    for (const t of data.classes.order) {
      lines.push([quote(data.classes.full[t]), ...order.map((d) => String(prices[t][d]))].join(","));
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "costs.csv";
    link.click();
    say("Saved as costs.csv, ready for stakes compare --costs.");
  });
  const fromLink = () => {
    const match = /^#prices=([-\d.,e+]+)$/.exec(location.hash);
    const values = match ? match[1].split(",").map(Number) : [];
    if (values.length !== k * a || !values.every((v) => Math.abs(v) <= 1e12)) return false;
    setAll(original.map((row, t) => row.map((_, d) => values[t * a + d])));
    return true;
  };
  addEventListener("hashchange", fromLink);
  for (const radio of document.querySelectorAll("input[name=look]")) radio.addEventListener("change", draw);
  showPicked();
  if (!fromLink()) draw();
  measure();
  bring(inputs.has(picked.join(",")) ? inputs.get(picked.join(",")).closest("td") : null);
  if ($("confusion")) {
    const cells = [...$("confusion").querySelectorAll("td[data-t]")];
    const shade = (cell) => Number(cell.style.getPropertyValue("--shade"));
    bring(cells.reduce((a, b) => (shade(b) > shade(a) ? b : a)));
  }
})();
