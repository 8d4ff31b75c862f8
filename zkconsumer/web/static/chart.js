// A group's lag over time: drawn on a canvas, with a legend of buttons and a table of the same numbers.
import { now } from "./ages.js";
import { fillTableOf, controlsOf, element, legendOf, tableOf } from "./chart_parts.js";
import { optionsOf, styleOf } from "./chart_drawing.js";
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
    this.asked = 0;
    this.plot = null;
    this.answer = null;
    this.controls = controlsOf(this, () => this.load(true));
    this.canvas = element("div", "plot");
    this.canvas.setAttribute("aria-hidden", "true");
    this.legend = element("div", "legend");
    this.note = element("p", "quiet note");
    this.table = tableOf();
    this.table.addEventListener("toggle", () => this.fillTable());
    figure.replaceChildren(this.controls, this.canvas, this.legend, this.note, this.table);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    const whileShown = (act) => () => {
      if (figure.isConnected) act();
    };
    document.addEventListener("colours", whileShown(() => this.draw()));
    document.addEventListener("updated", whileShown(() => this.load(false)));
    // Letters on the canvas are not drawn anew by themselves when their font has come.
    void document.fonts.ready.then(whileShown(() => this.draw()));
    this.load(true);
  }

  async load(atOnce) {
    if (!atOnce && Date.now() - this.asked < Math.max(EVERY_MS, this.range / 1_500)) return;
    this.asked = Date.now();
    const until = Math.round(now());
    const query = `since=${until - this.range}&until=${until}&points=${POINTS}`;
    try {
      const answer = await fetch(`${this.figure.dataset.address}?${query}`);
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      this.answer = await answer.json();
    } catch (error) {
      this.note.textContent = `The past can’t be read: ${error.message}.`;
      return;
    }
    this.draw();
  }

  draw() {
    if (!this.answer) return;
    this.shown = seriesOf(this.answer, this.unit, this.hues);
    const { times, lines, left } = this.shown;
    this.figure.dataset.points = String(times.filter((_, at) => lines.some((one) => one.values[at] !== null)).length);
    const said = [];
    if (this.answer.problem) said.push(this.answer.problem);
    if (!times.length) said.push("No sample in this time yet.");
    if (left) said.push(`${left} more partitions are ${this.unit === "lag" ? "in the total" : "left out"}.`);
    if (this.marks().length) said.push("Upright lines: rebalances.");
    this.note.textContent = said.join(" ");
    const style = styleOf(this.figure);
    this.plot?.destroy();
    const data = [times, ...lines.map((one) => one.values)];
    const window = [this.answer.since_ms / 1000, this.answer.until_ms / 1000];
    const options = optionsOf({
      width: Math.max(200, this.canvas.clientWidth),
      height: this.canvas.clientHeight,
      lines,
      style,
      window,
      unit: this.unit,
      hidden: this.hidden,
      marks: this.marks(),
      moved: (at) => this.fillLegend(at),
    });
    this.plot = new uPlot(options, data, this.canvas);
    this.fillLegend(null);
    this.fillTable();
  }

  marks() {
    const said = this.figure.dataset.marks;
    return said ? said.split(",").map((one) => Number(one) / 1000) : [];
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

  resize() {
    const width = this.canvas.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.canvas.clientHeight });
    }
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
