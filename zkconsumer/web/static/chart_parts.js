// The parts around the chart: choices, legend, table.
const RANGES = [
  [900_000, "15 min"],
  [3_600_000, "1 h"],
  [21_600_000, "6 h"],
  [86_400_000, "1 d"],
  [604_800_000, "7 d"],
];
const UNITS = [
  ["lag", "Lag"],
  ["seconds", "Lag in time"],
  ["position", "Position"],
];
const CAPTIONS = {
  lag: "Lag of each partition, in records",
  seconds: "Lag of each partition, in time",
  position: "Records written and read since the first moment shown",
};
const TABLE_ROWS = 30;

export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function shortCount(number) {
  let value = number;
  let place = 0;
  while (Math.abs(value) >= 999.5 && place < 4) {
    value /= 1000;
    place += 1;
  }
  const digits = place && Math.abs(value) < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value * 10) / 10);
  return digits + ["", "k", "M", "G", "T"][place];
}

export function shortTime(seconds) {
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 6) / 10} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 360) / 10} h`;
  return `${Math.round(seconds / 8_640) / 10} d`;
}

function valueText(value, unit) {
  if (value === null || value === undefined) return "–";
  return unit === "seconds" ? shortTime(value) : value.toLocaleString("en");
}

// A row of radio buttons that look like one bar.
function choice(name, label, options, current, chosen) {
  const set = element("fieldset", "choice");
  set.append(element("legend", "sr", label));
  for (const [value, text] of options) {
    const item = element("label");
    const input = element("input");
    input.type = "radio";
    input.name = name;
    input.value = String(value);
    input.checked = value === current;
    input.addEventListener("change", () => chosen(value));
    item.append(input, element("span", "", text));
    set.append(item);
  }
  return set;
}

export function controlsOf(chart, changed) {
  const controls = element("div", "controls");
  controls.append(
    choice("unit", "Show", UNITS, chart.unit, (unit) => {
      chart.unit = unit;
      chart.draw();
    }),
    choice("range", "How far back", RANGES, chart.range, (range) => {
      chart.range = range;
      changed();
    }),
  );
  return controls;
}

function lastOf(values) {
  for (let at = values.length - 1; at >= 0; at -= 1) if (values[at] !== null) return values[at];
  return null;
}

// One button for each line, with its value where the pointer is, or the latest.
export function legendOf(legend, { lines }, at, unit, hidden, toggled) {
  const buttons = new Map([...legend.children].map((button) => [button.dataset.name, button]));
  const wanted = lines.map((line) => {
    let button = buttons.get(line.name);
    if (!button) {
      button = element("button", "series");
      button.type = "button";
      button.dataset.name = line.name;
      button.append(element("span", "swatch"), element("span", "name", line.name), element("span", "value"));
      button.addEventListener("click", () => toggled(line.name));
    }
    button.className = `series ${line.hue === null ? "total" : `hue${line.hue}`}`;
    button.setAttribute("aria-pressed", String(!hidden.has(line.name)));
    button.lastChild.textContent = valueText(at === null ? lastOf(line.values) : line.values[at], unit);
    return button;
  });
  // Only what is new is moved: moving a button would take the focus from it.
  const same = wanted.length === legend.children.length && wanted.every((button, place) => legend.children[place] === button);
  if (!same) legend.replaceChildren(...wanted);
}

export function tableOf() {
  const details = element("details", "numbers");
  details.append(element("summary", "", "The same as a table"), element("div", "scroll"));
  details.lastChild.tabIndex = 0;
  details.lastChild.setAttribute("role", "region");
  details.lastChild.setAttribute("aria-label", "The chart as a table");
  return details;
}

function rowOf(cells, name) {
  const row = element("tr");
  cells.forEach((text, place) => {
    const cell = element(name === "th" || !place ? "th" : "td", place ? "n" : "", text);
    if (cell.nodeName === "TH") cell.scope = name === "th" ? "col" : "row";
    row.append(cell);
  });
  return row;
}

export function fillTableOf(details, { times, lines }, unit) {
  const table = element("table");
  const head = element("thead");
  head.append(rowOf(["Time", ...lines.map((line) => line.name)], "th"));
  const body = element("tbody");
  const seen = times.map((_, at) => at).filter((at) => lines.some((line) => line.values[at] !== null));
  const step = Math.max(1, Math.ceil(seen.length / TABLE_ROWS));
  for (let place = seen.length - 1; place >= 0; place -= step) {
    const at = seen[place];
    const time = `${new Date(times[at] * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    body.append(rowOf([time, ...lines.map((line) => valueText(line.values[at], unit))], "td"));
  }
  table.append(element("caption", "sr", CAPTIONS[unit]), head, body);
  details.lastChild.replaceChildren(table);
}
