/* Draws every element with `data-plot`: panels below each other on one axis, the onset beside the whole. */
(() => {
  'use strict';
  const NARROW = 480, HEIGHT = 128, APART = 34, READOUT = 4, NEAR = 60, LATE = 4000;
  const pictures = new Set();
  let wanted = { id: '', until: 0 };
  const make = (tag, cls, text) => {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const button = (cls, text, act) => {
    const made = make('button', cls, text);
    made.type = 'button';
    made.addEventListener('click', act);
    return made;
  };
  const say = (v) => {
    if (v === null || v === undefined) return '';
    const big = Math.abs(v);
    return big && (big >= 1e6 || big < 1e-3) ? v.toExponential(2).replace(/\.?0+e/, 'e') : String(Number(v.toPrecision(5)));
  };
  const tens = (u, vs) => vs.map((v) => (v && Number.isInteger(Math.log10(Math.abs(v))) ? v : null));
  const smoothed = (ys, weight) => {
    let mean = 0, sum = 0;
    return ys.map((y) => {
      if (y === null) return null;
      mean = weight * mean + (1 - weight) * y; sum = weight * sum + (1 - weight);
      return mean / sum;
    });
  };

  class Picture {
    constructor(root) {
      const given = JSON.parse(root.dataset.plot);
      Object.assign(this, { root, words: given.words, onset: given.onset, colours: given.colours });
      this.hidden = new Set(); this.weight = 0; this.at = { whole: null, onset: this.onset };
      root.replaceChildren(); root.classList.add('tp');
      this.body = make('div', 'tp-body');
      this.panels = given.panels.map((panel, i) => this.panel(panel, i, given.panels));
      root.append(this.bar(), this.body);
      this.view(!this.onset ? 'whole' : root.clientWidth < NARROW ? 'onset' : 'both');
      new ResizeObserver(() => this.resize()).observe(root);
    }
    colour(i) { return this.colours[i % this.colours.length]; }
    css(name) { return getComputedStyle(this.root).getPropertyValue(name).trim() || '#6e7781'; }

    bar() {
      const bar = make('div', 'tp-bar'), w = this.words;
      if (this.onset) {
        const views = make('span', 'tp-views');
        for (const name of ['both', 'whole', 'onset']) {
          const b = button('tp-view', w[name], () => this.view(name));
          b.dataset.view = name; views.append(b);
        }
        bar.append(views);
      }
      const label = make('label', 'tp-smooth', w.smooth + ' '), slide = make('input');
      Object.assign(slide, { type: 'range', min: 0, max: 0.98, step: 0.02, value: 0 });
      slide.addEventListener('input', () => { this.weight = Number(slide.value); this.later(); });
      label.append(slide);
      bar.append(label, button('tp-reset', w.reset, () => this.reset()), this.legend(), make('span', 'tp-hint', w.hint));
      return bar;
    }
    legend() {
      const shown = new Map(), out = make('span', 'tp-legend');
      for (const p of this.panels) for (const l of p.lines) if (l.label && !shown.has(l.label)) shown.set(l.label, l.colour);
      if (shown.size < 2) return out;
      for (const [label, colour] of [...shown].slice(0, 24)) {
        const b = button('tp-line', label, () => {
          this.hidden.has(label) ? this.hidden.delete(label) : this.hidden.add(label);
          b.setAttribute('aria-pressed', !this.hidden.has(label)); this.draw();
        });
        b.setAttribute('aria-pressed', true); b.style.setProperty('--line', this.colour(colour));
        out.append(b);
      }
      return out;
    }
    panel(data, i, all) {
      const row = make('section', 'tp-panel'), head = make('div', 'tp-head'), cells = make('div', 'tp-cells');
      const log = button('tp-log', this.words.log, () => { data.log = !data.log; this.draw(); log.setAttribute('aria-pressed', data.log); });
      log.setAttribute('aria-pressed', data.log);
      const read = make('span', 'tp-read', data.note);
      head.append(make('b', 'tp-title', data.title), log, read);
      const last = i === all.length - 1 || all[i + 1].axis !== data.axis;
      const cell = { whole: make('div', 'tp-cell tp-whole'), onset: make('div', 'tp-cell tp-onset') };
      cells.append(cell.whole, cell.onset); row.append(head, cells); this.body.append(row);
      return { ...data, data, row, read, cell, last, charts: {} };
    }
    view(name) {
      this.shown = this.root.dataset.view = name;
      for (const b of this.root.querySelectorAll('.tp-view')) b.setAttribute('aria-pressed', b.dataset.view === name);
      this.draw();
    }
    columns() { return this.shown === 'both' ? ['whole', 'onset'] : [this.shown]; }
    each(act, column) {
      for (const p of this.panels) for (const c of column ? [column] : ['whole', 'onset']) if (p.charts[c]) act(p.charts[c], p, c);
    }
    ranges(column) { return this.panels.map((p) => p.charts[column]).filter(Boolean).map((u) => [u.scales.x.min, u.scales.x.max]); }
    later() { cancelAnimationFrame(this.soon); this.soon = requestAnimationFrame(() => this.draw()); }
    reset() { this.at = { whole: null, onset: this.onset }; this.draw(); }
    resize() { this.each((u, p, c) => { const w = p.cell[c].clientWidth; if (w && w !== u.width) u.setSize({ width: w, height: u.height }); }); }

    draw() {
      this.each((u, p, c) => { u.destroy(); delete p.charts[c]; });
      const all = this.panels.filter((p) => p.axis === this.panels[0].axis).flatMap((p) => p.lines.flatMap((l) => [l.x[0], l.x[l.x.length - 1]]));
      this.span = [Math.min(...all), Math.max(...all)];
      for (const p of this.panels) for (const c of this.columns()) this.chart(p, c);
    }
    chart(p, column) {
      const cell = p.cell[column];
      cell.replaceChildren();
      if (!cell.clientWidth) return;
      const lines = p.lines.filter((l) => !this.hidden.has(l.label)), soft = this.weight > 0;
      const tables = lines.map((l) => [l.x, l.y]);
      if (soft) for (const l of lines) tables.push([l.mx || l.x, smoothed(l.my || l.y, this.weight)]);
      const data = tables.length ? uPlot.join(tables) : [[0], [null]];
      const u = new uPlot(this.options(p, column, lines, soft), data, cell);
      p.charts[column] = u;
      this.range(u, p, column);
      const layer = make('div', 'tp-marks');
      u.root.querySelector('.u-wrap').append(layer);
      u.marks = layer; this.place(u, p);
    }
    range(u, p, column) {
      const own = p.axis === this.panels[0].axis;
      const [min, max] = (own && this.at[column]) || (own ? this.span : [u.data[0][0], u.data[0][u.data[0].length - 1]]);
      u.setScale('x', { min, max: max > min ? max : min + 1 });
    }
    options(p, column, lines, soft) {
      const ink = () => this.css('--tp-ink'), grid = { stroke: () => this.css('--tp-grid'), width: 1 }, ticks = { ...grid, size: 4 };
      const finite = lines.flatMap((l) => l.y).filter((y) => y !== null);
      const positive = finite.every((y) => y > 0), usual = finite.map(Math.abs).sort((a, b) => a - b)[finite.length >> 1] || 1;
      const line = (l, more) => ({ stroke: this.colour(l.colour), width: 1.2, points: { show: l.joined ? undefined : true, size: 4 }, paths: l.joined ? undefined : () => null, ...more });
      const series = [{}, ...lines.map((l) => line(l, soft ? { alpha: 0.28 } : lines.length > 4 ? { alpha: 0.6 } : {}))];
      if (soft) series.push(...lines.map((l) => line(l, { width: 1.8, spanGaps: true })));
      return {
        width: p.cell[column].clientWidth, height: HEIGHT + (p.last ? 20 : 0), legend: { show: false }, series,
        scales: { x: { time: false }, y: p.data.log ? { distr: positive ? 3 : 4, asinh: usual } : {} },
        axes: [
          { stroke: ink, grid, ticks, size: p.last ? 26 : 6, font: '11px system-ui, sans-serif', space: 64, values: (u, vs) => vs.map((v) => (p.last ? say(v) : '')) },
          { stroke: ink, grid: p.data.log ? { ...grid, filter: tens } : grid, ticks: p.data.log ? { ...ticks, filter: tens } : ticks, size: 54, font: '11px system-ui, sans-serif', space: 26, values: (u, vs) => vs.map(say) },
        ],
        padding: [18, 16, 0, 0],
        cursor: {
          y: false, points: { size: 6 }, drag: { x: true, y: false, dist: 4, setScale: false },
          dataIdx: (u, s, at) => this.nearest(u.data[s], at),
          bind: { dblclick: () => () => { this.at[column] = column === 'onset' ? this.onset : null; this.each((other, q) => this.range(other, q, column), column); return null; } },
        },
        hooks: {
          draw: [(u) => { this.events(u, p, lines); this.place(u, p); }],
          setSelect: [(u) => this.zoomed(u, p, column)],
          setCursor: [(u) => this.point(u, p)],
          ready: [(u) => u.over.addEventListener('mouseenter', () => { this.leader = u; })],
        },
      };
    }
    nearest(ys, at) {
      for (let d = 0; d < NEAR; d++) {
        if (ys[at - d] !== null && ys[at - d] !== undefined) return at - d;
        if (ys[at + d] !== null && ys[at + d] !== undefined) return at + d;
      }
      return at;
    }
    zoomed(u, p, column) {
      const { left, width } = u.select;
      if (width < 4) return;
      const range = [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')], shared = p.axis === this.panels[0].axis;
      u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      if (!shared) { u.setScale('x', { min: range[0], max: range[1] }); return; }
      this.at[column] = range;
      this.each((other, q) => { if (q.axis === p.axis) this.range(other, q, column); }, column);
    }
    point(u, p) {
      if (this.leader !== u) return;
      const inside = u.cursor.left >= 0, x = inside ? u.posToVal(u.cursor.left, 'x') : null;
      this.each((other, q) => {
        if (other !== u && q.axis === p.axis) {
          const { min, max } = other.scales.x, seen = inside && x >= min && x <= max;
          other.setCursor({ left: seen ? other.valToPos(x, 'x') : -10, top: 0 }, false);
        }
      });
      for (const q of this.panels) q.read.textContent = inside && q.axis === p.axis ? this.reading(q, x) : q.note;
    }
    reading(p, x) {
      const parts = [];
      for (const l of p.lines.filter((one) => !this.hidden.has(one.label)).slice(0, READOUT)) {
        const at = this.closest(l.x, x);
        parts.push({ x: l.x[at], text: (l.label ? l.label + ' ' : '') + (l.y[at] === null ? 'nan' : say(l.y[at])) });
      }
      return parts.length ? `${p.x} ${say(parts[0].x)} · ${parts.map((one) => one.text).join(' · ')}` : '';
    }
    closest(xs, x) {
      let low = 0, high = xs.length - 1;
      while (low < high) { const mid = (low + high) >> 1; if (xs[mid] < x) low = mid + 1; else high = mid; }
      return low && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
    }
    events(u, p, lines) {
      const { ctx, bbox: b } = u, dpr = devicePixelRatio || 1, at = (x) => u.valToPos(x, 'x', true), bad = this.css('--tp-bad');
      const upright = (x, colour, dash) => {
        const px = at(x);
        if (px < b.left || px > b.left + b.width) return;
        ctx.strokeStyle = colour; ctx.lineWidth = dpr; ctx.setLineDash(dash.map((d) => d * dpr));
        ctx.beginPath(); ctx.moveTo(px, b.top); ctx.lineTo(px, b.top + b.height); ctx.stroke();
      };
      ctx.save(); ctx.beginPath(); ctx.rect(b.left, b.top - 5 * dpr, b.width, b.height + 5 * dpr); ctx.clip();
      ctx.fillStyle = bad;
      if (p.band) { ctx.globalAlpha = 0.12; ctx.fillRect(at(p.band[0]), b.top, at(p.band[1]) - at(p.band[0]), b.height); ctx.globalAlpha = 1; }
      for (const l of lines) for (const [from, to] of l.bad) ctx.fillRect(at(from) - dpr, b.top - 4 * dpr, Math.max(2 * dpr, at(to) - at(from)), 4 * dpr);
      for (const x of p.starts) upright(x, this.css('--tp-ink'), [1, 3]);
      if (p.bad !== null) upright(p.bad, bad, [4, 3]);
      ctx.setLineDash([]); ctx.strokeStyle = bad; ctx.lineWidth = 1.4 * dpr;
      for (const m of p.marks) if (m.y !== null) { ctx.beginPath(); ctx.arc(at(m.x), u.valToPos(m.y, 'y', true), 3.5 * dpr, 0, 7); ctx.stroke(); }
      ctx.restore();
    }
    place(u, p) {
      if (!u.marks) return;
      const dpr = devicePixelRatio || 1, left = u.bbox.left / dpr, width = u.bbox.width / dpr, groups = [];
      for (const m of [...p.marks].sort((a, b) => a.x - b.x)) {
        const px = u.valToPos(m.x, 'x');
        if (px < -1 || px > width + 1) continue;
        const group = groups[groups.length - 1];
        if (group && px - group.px < APART) group.marks.push(m); else groups.push({ px, marks: [m] });
      }
      u.marks.replaceChildren(...groups.map((g) => this.group(g, left, width)));
    }
    group({ px, marks }, left, width) {
      const box = make('span', 'tp-group'), own = marks.find((m) => m.id === this.picked);
      const first = own || marks.reduce((a, b) => (Number(b.id.slice(1)) < Number(a.id.slice(1)) ? b : a));
      const lead = button('tp-mark' + (own ? ' tp-here' : ''), first.id, () => open(first.id));
      lead.dataset.pick = first.id; box.append(lead);
      if (marks.length > 1) {
        const rest = marks.filter((m) => m !== first).map((m) => m.id);
        const more = button('tp-more', `+${rest.length}`, () => this.spread(marks));
        more.title = rest.join(' '); box.append(more);
      }
      box.style.left = `${left + Math.min(px, width - 40)}px`;
      return box;
    }
    /* Shows marks that stand too close on more room; those at one step are then shown in turn. */
    spread(marks) {
      const from = Math.min(...marks.map((m) => m.x)), to = Math.max(...marks.map((m) => m.x));
      if (from === to) { const i = marks.findIndex((m) => m.id === this.picked); this.picked = marks[(i + 1) % marks.length].id; this.draw(); return; }
      const edge = Math.max((to - from) * 0.25, 1), column = this.columns().includes('whole') ? 'whole' : 'onset';
      this.at[column] = [from - edge, to + edge]; this.draw();
    }
    show(id) {
      const p = this.panels.find((one) => one.marks.some((m) => m.id === id));
      if (!p) return false;
      const { x } = p.marks.find((m) => m.id === id), [from, to] = this.span, edge = Math.max((to - from) * 0.04, 1);
      this.picked = id;
      const close = this.onset && p.axis === this.panels[0].axis && x >= this.onset[0] && x <= this.onset[1];
      if (close && this.shown === 'whole') this.view('both');
      if (!close && this.shown === 'onset') this.view('whole');
      if (!close) this.at.whole = [Math.max(from, x - edge), Math.min(to, x + edge)];
      this.draw(); p.row.scrollIntoView({ block: 'center' });
      return true;
    }
  }

  /* A report opens the finding itself; the app hears the click on `data-pick`. */
  const open = (id) => {
    const found = document.getElementById(id);
    if (!found || !found.classList.contains('finding')) return;
    for (let up = found; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true;
    found.scrollIntoView({ block: 'center' }); found.focus();
  };
  const show = (id) => { for (const p of pictures) if (p.root.isConnected && p.root.clientWidth && p.show(id)) break; };
  const draw = (within) => {
    let drawn = false;
    for (const root of within.querySelectorAll('[data-plot]')) {
      if (root.tpDrawn === root.dataset.plot && root.querySelector('.tp-body')) continue;
      if (!root.clientWidth) { seen.observe(root); continue; }
      seen.unobserve(root);
      root.tpDrawn = root.dataset.plot;
      for (const p of pictures) if (!p.root.isConnected || p.root === root) pictures.delete(p);
      root.tpPicture = new Picture(root); pictures.add(root.tpPicture); drawn = true;
    }
    if (drawn && performance.now() < wanted.until) show(wanted.id);
  };
  const seen = new ResizeObserver((found) => { if (found.some((one) => one.contentRect.width)) draw(document); });
  const again = () => { for (const p of pictures) if (p.root.isConnected) p.draw(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  document.addEventListener('click', (event) => {
    const asked = event.target.closest('[data-point]');
    if (asked) { event.preventDefault(); wanted = { id: asked.dataset.point, until: performance.now() + LATE }; document.dispatchEvent(new CustomEvent('triage-plot')); show(wanted.id); }
  });
  window.triagePlots = { draw, again, show };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => draw(document)); else draw(document);
})();
