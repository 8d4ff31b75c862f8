// How the chart looks.
import { shortCount, shortTime } from "./chart_parts.js";

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

function two(number) {
  return String(number).padStart(2, "0");
}

function timeLabels(splits, span) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 60;
  return splits.map((at) => {
    const date = new Date(at * 1000);
    if (span > 90_000) return `${date.getDate()}.${date.getMonth() + 1}. ${two(date.getHours())}:${two(date.getMinutes())}`;
    const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
    return step < 60 ? `${time}:${two(date.getSeconds())}` : time;
  });
}

function drawMarks(plot, marks, style) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = style.mark;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const at of marks) {
    const x = Math.round(plot.valToPos(at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const half = 4 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - half, bbox.top);
    ctx.lineTo(x + half, bbox.top);
    ctx.lineTo(x, bbox.top + 1.4 * half);
    ctx.fill();
  }
  ctx.restore();
}

function axis(style, more) {
  return {
    stroke: style.text,
    font: style.font,
    grid: { stroke: style.line, width: 1 },
    ticks: { show: false },
    ...more,
  };
}

export function optionsOf({ width, height, lines, style, window, unit, hidden, marks, moved }) {
  const span = window[1] - window[0];
  return {
    width,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: () => window },
      y: { range: (_plot, _least, most) => [0, Math.max(unit === "lag" ? 10 : 1, (most ?? 0) * 1.08)] },
    },
    axes: [
      axis(style, { size: 26, space: span > 90_000 ? 90 : 56, values: (_plot, splits) => timeLabels(splits, span), grid: { show: false } }),
      axis(style, {
        size: 48,
        space: 34,
        values: (_plot, splits) => splits.map((one) => (unit === "lag" ? shortCount(one) : shortTime(one))),
      }),
    ],
    series: [
      {},
      ...lines.map((one) => ({
        label: one.name,
        show: !hidden.has(one.name),
        stroke: one.hue === null ? style.total : style.hues[one.hue],
        width: one.hue === null ? 1.25 : 2,
        dash: one.hue === null ? [5, 4] : undefined,
        points: { show: false },
      })),
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks, style)],
      setCursor: [(plot) => moved(plot.cursor.idx ?? null)],
    },
  };
}
