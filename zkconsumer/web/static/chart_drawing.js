// Draws lines over time on a canvas: axes in UTC, marks of rebalances, a cursor.
import { shortCount, shortTime } from "./chart_parts.js";

const LEFT = 52;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 24;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400];
const LEAST_S = 60;

export function styleOf(figure) {
  const style = getComputedStyle(figure);
  const probe = document.createElement("span");
  figure.append(probe);
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = {
    text: colour("--quiet"),
    line: colour("--line"),
    total: colour("--text"),
    mark: colour("--warn"),
    hues: [0, 1, 2, 3, 4, 5, 6, 7].map((hue) => colour(`--hue${hue}`)),
    font: `11px ${style.fontFamily}`,
  };
  probe.remove();
  return found;
}

// From the first sample to the end: a minute of samples does not hide at the edge of an empty hour.
export function windowOf(times, since, until) {
  if (!times.length) return [since, until];
  const span = Math.max(LEAST_S, (until - times[0]) * 1.02);
  return [Math.max(since, until - span), until];
}

function stepOf(span, most, steps) {
  return steps.find((step) => span / step <= most) ?? 10 ** Math.ceil(Math.log10(span / most));
}

function countSteps(largest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, largest)) - 1);
  return [1, 2, 5, 10, 20, 50, 100].map((step) => Math.max(1, step * power));
}

function ticksOf(from, to, step) {
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

function timeLabel(at, step, span) {
  const text = new Date(at * 1000).toISOString();
  if (span > 90_000) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  return step < 60 ? text.slice(11, 19) : text.slice(11, 16);
}

export class Plot {
  // `moved` is called with the index of the nearest sample, or null when the pointer has gone.
  constructor(host, moved) {
    this.canvas = document.createElement("canvas");
    host.replaceChildren(this.canvas);
    this.moved = moved;
    this.at = null;
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
  }

  point(x) {
    if (!this.shown) return;
    const { times } = this.shown;
    const wanted = x === null ? null : this.timeAt(x);
    let nearest = null;
    times.forEach((at, place) => {
      if (wanted === null) return;
      if (nearest === null || Math.abs(at - wanted) < Math.abs(times[nearest] - wanted)) nearest = place;
    });
    if (nearest === this.at) return;
    this.at = nearest;
    this.draw();
    this.moved(nearest);
  }

  show(shown) {
    this.shown = shown;
    if (this.at !== null && this.at >= shown.times.length) this.at = null;
    this.draw();
  }

  draw() {
    if (!this.shown) return;
    const { width, height } = this.size();
    const context = this.canvas.getContext("2d");
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = this.shown.style.font;
    const values = this.shown.lines.flatMap((line) => (line.hidden ? [] : line.values));
    const largest = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
    this.top = Math.max(this.shown.unit === "seconds" ? 1 : 10, largest * 1.08);
    this.drawAxes(context);
    this.drawMarks(context);
    for (const line of this.shown.lines) if (!line.hidden) this.drawLine(context, line);
    this.drawCursor(context);
  }

  size() {
    const width = Math.max(200, this.canvas.parentElement.clientWidth);
    const height = this.canvas.parentElement.clientHeight;
    const scaled = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (this.canvas.width !== scaled[0] || this.canvas.height !== scaled[1]) [this.canvas.width, this.canvas.height] = scaled;
    this.area = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
    return { width, height };
  }

  timeAt(x) {
    const [from, to] = this.shown.window;
    return from + ((x - this.area.left) / this.area.width) * (to - from);
  }

  x(at) {
    const [from, to] = this.shown.window;
    return this.area.left + ((at - from) / (to - from)) * this.area.width;
  }

  y(value) {
    return this.area.top + this.area.height * (1 - value / this.top);
  }

  drawAxes(context) {
    const { style, unit, window } = this.shown;
    const { left, top, width, height } = this.area;
    const label = unit === "seconds" ? shortTime : shortCount;
    const step = stepOf(this.top, height / 36, unit === "seconds" ? STEPS_S : countSteps(this.top));
    context.strokeStyle = style.line;
    context.fillStyle = style.text;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of ticksOf(0, this.top, step)) {
      const y = Math.round(this.y(value)) + 0.5;
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
      context.fillText(label(value), left - 8, y);
    }
    const span = window[1] - window[0];
    const every = stepOf(span, width / (span > 90_000 ? 96 : 64), STEPS_S);
    context.textBaseline = "alphabetic";
    context.fillText("UTC", left - 8, top + height + 17);
    context.textAlign = "center";
    for (const at of ticksOf(window[0], window[1], every)) {
      const x = this.x(at);
      if (x > left + 12 && x < left + width - 12) context.fillText(timeLabel(at, every, span), x, top + height + 17);
    }
  }

  drawMarks(context) {
    const { marks, style, window } = this.shown;
    const { top, height } = this.area;
    context.save();
    context.strokeStyle = context.fillStyle = style.mark;
    context.setLineDash([2, 3]);
    for (const at of marks) {
      if (at < window[0] || at > window[1]) continue;
      const x = Math.round(this.x(at)) + 0.5;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
      context.beginPath();
      context.moveTo(x - 4, top);
      context.lineTo(x + 4, top);
      context.lineTo(x, top + 6);
      context.fill();
    }
    context.restore();
  }

  drawLine(context, line) {
    const { style, times } = this.shown;
    context.save();
    context.strokeStyle = context.fillStyle = line.hue === null ? style.total : style.hues[line.hue];
    context.lineWidth = line.hue === null ? 1.25 : 2;
    context.lineJoin = "round";
    if (line.dashed) context.setLineDash([5, 4]);
    context.beginPath();
    times.forEach((at, place) => {
      const value = line.values[place];
      if (value === null) return;
      const before = place ? line.values[place - 1] : null;
      const alone = before === null && (line.values[place + 1] ?? null) === null;
      if (alone) context.fillRect(this.x(at) - 1.5, this.y(value) - 1.5, 3, 3);
      else if (before === null) context.moveTo(this.x(at), this.y(value));
      else context.lineTo(this.x(at), this.y(value));
    });
    context.stroke();
    context.restore();
  }

  drawCursor(context) {
    if (this.at === null) return;
    const { lines, style, times } = this.shown;
    const x = Math.round(this.x(times[this.at])) + 0.5;
    context.strokeStyle = style.text;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, this.area.top);
    context.lineTo(x, this.area.top + this.area.height);
    context.stroke();
    for (const line of lines) {
      const value = line.values[this.at];
      if (line.hidden || value === null) continue;
      context.fillStyle = line.hue === null ? style.total : style.hues[line.hue];
      context.beginPath();
      context.arc(x, this.y(value), 3.5, 0, 2 * Math.PI);
      context.fill();
    }
  }
}
