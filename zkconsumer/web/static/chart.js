// A group's lag and position over time: drawn on a canvas, with a legend of buttons and a table of the same numbers.
import { now } from "./ages.js";
import { fillTableOf, controlsOf, element, legendOf, tableOf } from "./chart_parts.js";
import { Plot, styleOf, windowOf } from "./chart_drawing.js";
import { seriesOf } from "./chart_series.js";

const EVERY_MS = 2_000;
const POINTS = 300;

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.range = 3_600_000;
    this.unit = "lag";
    this.hidden = new Set();
    this.hues = new Map();
    this.requestedMs = 0;
    this.answer = null;
    this.controls = controlsOf(this, () => this.load(true));
    this.canvas = element("div", "plot");
    this.canvas.setAttribute("aria-hidden", "true");
    this.plot = new Plot(this.canvas, (at) => this.fillLegend(at));
    this.legend = element("div", "legend");
    this.note = element("p", "quiet note");
    this.table = tableOf();
    this.table.addEventListener("toggle", () => this.fillTable());
    figure.replaceChildren(this.controls, this.canvas, this.legend, this.note, this.table);
    new ResizeObserver(() => this.plot.draw()).observe(this.canvas);
    const whileShown = (act) => () => {
      if (figure.isConnected) act();
    };
    document.addEventListener("colours", whileShown(() => this.draw()));
    document.addEventListener("updated", whileShown(() => this.load(false)));
    this.load(true);
  }

  async load(atOnce) {
    if (!atOnce && Date.now() - this.requestedMs < Math.max(EVERY_MS, this.range / 1_500)) return;
    this.requestedMs = Date.now();
    const until = Math.round(now());
    const query = `since=${until - this.range}&until=${until}&points=${POINTS}`;
    try {
      const answer = await fetch(`${this.figure.dataset.address}?${query}`);
      if (!answer.ok) throw new Error(`the server responded with ${answer.status}`);
      this.answer = await answer.json();
    } catch (error) {
      this.note.textContent = `The history can’t be read: ${error.message}.`;
      return;
    }
    this.draw();
  }

  draw() {
    if (!this.answer) return;
    this.shown = seriesOf(this.answer, this.unit, this.hues);
    const { times, lines, left, base } = this.shown;
    this.figure.dataset.points = String(times.filter((_, at) => lines.some((line) => line.values[at] !== null)).length);
    const notes = [];
    if (this.answer.problem) notes.push(this.answer.problem);
    if (!times.length) notes.push("No samples in this time range yet.");
    if (left) notes.push(`${left} more partitions are ${this.unit === "lag" ? "in the total" : "left out"}.`);
    if (base !== null) notes.push("Records since the first moment shown; the lag is the distance between the lines.");
    if (this.marks().length) notes.push("Vertical lines: rebalances.");
    this.note.textContent = notes.join(" ");
    for (const line of lines) line.hidden = this.hidden.has(line.name);
    this.plot.show({
      times,
      lines,
      window: windowOf(times, this.answer.since_ms / 1000, this.answer.until_ms / 1000),
      unit: this.unit,
      marks: this.marks(),
      style: styleOf(this.figure),
    });
    this.fillLegend(this.plot.at);
    this.fillTable();
  }

  marks() {
    const marks = this.figure.dataset.marks;
    return marks ? marks.split(",").map((mark) => Number(mark) / 1000) : [];
  }

  fillLegend(at) {
    legendOf(this.legend, this.shown, at, this.unit, this.hidden, (name) => {
      if (this.hidden.has(name)) this.hidden.delete(name);
      else this.hidden.add(name);
      this.draw();
    });
  }

  fillTable() {
    if (this.table.open && this.shown) fillTableOf(this.table, this.shown, this.unit);
  }
}

// A group can go and come again while its page is open: then there is another figure.
const drawn = new WeakSet();

function start() {
  const figure = document.getElementById("chart");
  if (!figure || drawn.has(figure)) return;
  drawn.add(figure);
  new Chart(figure);
}

document.addEventListener("updated", start);
start();
