// Turns the history from the server into lines to draw.
const COLOURED = 8;
const NEAR = 4;
const SHORT_S = 60;

// The largest value of a line; the lines with the largest ones get a colour.
function largest(values) {
  return values.reduce((most, value) => Math.max(most, value ?? -1), -1);
}

// Where nothing was seen for long, there is a gap: a line across it would claim too much. The
// neighbours determine how long that is: the older the samples, the fewer are kept.
function withGaps(times, columns) {
  const steps = times.slice(1).map((at, place) => at - times[place]);
  const usualAt = (place) => {
    const near = steps.slice(Math.max(0, place - NEAR), place + NEAR + 1);
    return near.sort((a, b) => a - b)[Math.floor(near.length / 2)];
  };
  const gapped = [];
  const found = columns.map(() => []);
  times.forEach((at, place) => {
    if (place && steps[place - 1] > SHORT_S && steps[place - 1] > 4 * usualAt(place - 1)) {
      gapped.push(times[place - 1] + usualAt(place - 1));
      for (const column of found) column.push(null);
    }
    gapped.push(at);
    columns.forEach((column, number) => found[number].push(column[place]));
  });
  return [gapped, found];
}

// A line keeps its colour as long as the page is open, whatever becomes of the others.
function hueOf(name, hues, taken) {
  const known = hues.get(name);
  if (known !== undefined && !taken.has(known)) return known;
  const used = new Set([...taken, ...hues.values()]);
  for (let hue = 0; hue < COLOURED; hue += 1) if (!used.has(hue)) return hue;
  for (let hue = 0; hue < COLOURED; hue += 1) if (!taken.has(hue)) return hue;
  return 0;
}

// The sum of a column over the partitions that are known at all; null where one of them is not.
function sumOf(partitions, column, length) {
  const known = partitions.filter((partition) => partition[column].some((value) => value !== null));
  const sums = [];
  for (let at = 0; at < length; at += 1) {
    const values = known.map((partition) => partition[column][at]);
    sums.push(!values.length || values.includes(null) ? null : values.reduce((sum, value) => sum + value, 0));
  }
  return sums;
}

// Where the logs end, and where the group is: both counted from where it was at first.
function positionsOf({ partitions, times_ms: times }) {
  const both = partitions.filter((partition) => partition.committed.some((value) => value !== null));
  const [written, read] = ["log_end", "committed"].map((column) => sumOf(both, column, times.length));
  const base = read.find((value) => value !== null) ?? 0;
  const since = (values) => values.map((value) => (value === null ? null : Math.max(0, value - base)));
  return {
    base,
    left: 0,
    lines: [
      { name: "written", values: since(written), hue: null, dashed: true },
      { name: "read", values: since(read), hue: 0 },
    ],
  };
}

function lagsOf(answer, unit, hues) {
  const ranked = answer.partitions
    .map((partition, place) => ({
      name: `${partition.topic}-${partition.partition}`,
      values: partition[unit],
      place,
    }))
    .sort((a, b) => largest(b.values) - largest(a.values) || a.place - b.place);
  const chosen = ranked.slice(0, COLOURED).sort((a, b) => a.place - b.place);
  const taken = new Set();
  for (const line of chosen) {
    line.hue = hueOf(line.name, hues, taken);
    hues.set(line.name, line.hue);
    taken.add(line.hue);
  }
  const lines = chosen.map(({ name, values, hue }) => ({ name, values, hue }));
  if (unit === "lag" && answer.partitions.length > 1) {
    lines.unshift({ name: "total", values: answer.total, hue: null, dashed: true });
  }
  return { base: null, left: ranked.length - chosen.length, lines };
}

export function seriesOf(answer, unit, hues) {
  const { base, left, lines } = unit === "position" ? positionsOf(answer) : lagsOf(answer, unit, hues);
  const seconds = answer.times_ms.map((at) => at / 1000);
  const [times, columns] = withGaps(seconds, lines.map((line) => line.values));
  lines.forEach((line, number) => {
    line.values = columns[number];
  });
  return { times, lines, base, left: left + (answer.partitions_left_out ?? 0) };
}
