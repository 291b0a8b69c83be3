/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes elements of the page. Texts from the bus may come from users, so they become text nodes, never markup. */
const SVG = "http://www.w3.org/2000/svg";

export function element(name, properties = {}, ...children) {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
}

/* columns: [title, class] each; a row is a list of texts or nodes, and has `sum` set if it adds up others. */
export function table(columns, rows) {
    const head = element("tr", {}, ...columns.map(([title, kind]) => element("th", { className: kind ?? "", textContent: title, scope: "col" })));
    const body = rows.map(row => element("tr", { className: row.sum ? "sum" : "" }, ...cells(columns, row)));
    return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

export function cells(columns, row) {
    return columns.map(([, kind], i) => element("td", { className: kind ?? "" }, row[i]));
}

export const quantity = value => number(value, Number.isInteger(value) ? 0 : 3);
export const number = (value, digits = 0) => Number.isFinite(value) ?
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) : "–";
export const money = (value, currency) => Number.isFinite(value) ? `${value.toLocaleString("en", {
    minimumFractionDigits: value < 1 ? 6 : 2, maximumFractionDigits: value < 1 ? 6 : 2 })} ${currency}` : "–";
export const time = usec => usec ? new Date(usec / 1000).toLocaleString() : "–";
export const seconds = nsec => `${number(nsec / 1e9, 1)} s`;

function shape(name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
        node.setAttribute(key, value);
    if (text !== undefined)
        node.textContent = text;
    return node;
}

const brief = value => Math.abs(value) >= 1e4 ? Intl.NumberFormat("en", { notation: "compact" }).format(value) : number(value, Math.abs(value) < 10 && value % 1 ? 1 : 0);

/* line and dots: lists of [x, y]; steps: the line keeps its height from a point to the next; width: in pixels. */
export function plot(line, { dots = [], steps = false, zero = false, label, width }) {
    const all = [...line, ...dots], height = 260, left = 56, bottom = 26, top = 10, right = 12;
    if (all.length === 0)
        return element("p", { className: "small", textContent: "Nothing is measured yet." });
    const ends = (i, least) => {
        const values = all.map(point => point[i]);
        const low = Math.min(...values, ...(least ? [0] : [])), high = Math.max(...values);
        return low === high ? [low - (least ? 0 : 1), high + 1] : [low, high];
    };
    const [x0, x1] = ends(0, false), [y0, y1] = ends(1, zero);
    const x = value => left + (value - x0) / (x1 - x0) * (width - left - right);
    const y = value => height - bottom - (value - y0) / (y1 - y0) * (height - bottom - top);
    const picture = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    for (const value of [y0, (y0 + y1) / 2, y1]) {
        picture.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
        picture.append(shape("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, brief(value)));
    }
    for (const [value, anchor] of [[x0, "start"], [(x0 + x1) / 2, "middle"], [x1, "end"]])
        picture.append(shape("text", { x: x(value), y: height - 6, "text-anchor": anchor }, brief(value)));
    const path = line.map(([a, b], i) => i === 0 ? `M${x(a)},${y(b)}` : steps ? `H${x(a)}V${y(b)}` : `L${x(a)},${y(b)}`).join("");
    picture.append(shape("path", { class: "curve", d: path }));
    for (const [a, b] of dots)
        picture.append(shape("circle", { class: "dot", cx: x(a), cy: y(b), r: 3 }));
    return picture;
}
