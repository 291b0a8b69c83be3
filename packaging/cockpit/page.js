/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page. Each address (#/, #/job/7, #/submit, #/bills, #/prices) shows one section, and each section has a function
 * that fills it. Signals of the daemon and the clock call this function again, at most once a second. */
import * as daemon from "./daemon.js";
import { cells, element, money, number, plot, quantity, seconds, table, time } from "./draw.js";

const PAGE_ROWS = 50, REFRESH_MSEC = 1000, POLL_MSEC = 3000, ROUNDS_AT_ONCE = 2000, ROUNDS_OPEN = 64, POINTS_MAX = 2000;
const JOB_FILE = "[Job]\nEnvironment=CartPole-v1\nStopSteps=100000\nStopReturn=475\n\n[Scaling]\nActors=2\n";
const VERIFY_SECONDS = 60;

const at = id => document.getElementById(id);
let wanted = PAGE_ROWS, alive = false, filling = false, again = false, timer = null;

function trouble(error) {
    at("trouble").textContent = error ? error.message || error.problem || String(error) : "";
    at("trouble").hidden = !error;
}

const COLUMNS = [["", "number"], ["", "whole minor"], [""], [""], ["", "number"], ["", "number minor"], ["", "number"], ["", "whole minor"]];
const isLive = row => row.state !== "ended";

function stateOf(row) {
    const word = isLive(row) ? row.state : row.result;
    return element("span", { className: row.result === "failed" ? "failed" : row.state === "running" ? "live" : "", textContent: word });
}

async function fillJobs() {
    const rows = [];
    let next = 0;
    do {
        const page = await daemon.list(next, wanted - rows.length);
        rows.push(...page.rows);
        next = page.next;
    } while (next && rows.length < wanted);
    const names = await Promise.all(rows.map(row => daemon.user(row.uid)));
    const focus = document.activeElement?.getAttribute?.("href");
    at("rows").replaceChildren(...rows.map((row, i) => element("tr", { title: row.description }, ...cells(COLUMNS, [
        element("a", { href: `#/job/${row.id}`, textContent: row.id }), names[i], row.environment, stateOf(row),
        number(row.mean, 1), number(row.steps), money(row.cost, row.currency), time(row.submitted)]))));
    if (focus?.startsWith("#/job/"))
        at("rows").querySelector(`a[href="${focus}"]`)?.focus();
    at("none").hidden = rows.length > 0;
    at("more").hidden = !next;
    alive = rows.some(isLive);
}

function fact(name, value) {
    return value === "" || value === undefined ? [] : [element("dl", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))];
}

function fillFacts(p) {
    at("facts").replaceChildren(
        ...fact("Algorithm", p.Algorithm), ...fact("Seed", String(p.Seed)), ...fact("Scaling", p.ScalingPolicy),
        ...fact("Round", number(p.Round)), ...fact("Environment steps", `${number(p.EnvSteps)} of ${number(p.StopSteps)}`),
        ...fact("Episodes", number(p.Episodes)), ...fact("Actors now", p.State === "ended" ? "" : number(p.Actors)),
        ...fact("Mean return", number(p.ReturnMean, 2)), ...fact("Time on this host", seconds(p.WallNSec)),
        ...fact("Time on the emulated fleet", seconds(p.EmulatedNSec)), ...fact("Paper total", money(p.CostPaper, p.Currency)),
        ...fact("Full total", money(p.CostFull, p.Currency)), ...fact("Sandbox", p.SandboxLevel),
        ...fact("Limits not enforced", (p.LimitsNotEnforced ?? []).join(", ")), ...fact("Policy SHA-256", p.PolicySHA256));
}

/* The rounds of the job that is shown. Only the latest ones are requested again, since an evaluation may end some rounds after
 * its own. If there are too many rounds, every second one is left out; rounds with an evaluation are left out last. */
let curve = { id: 0, rows: [] };
async function rounds(id, uid) {
    if (curve.id !== id)
        curve = { id, rows: [] };
    const kept = curve, settled = Math.max((kept.rows.at(-1)?.round ?? 0) - ROUNDS_OPEN, 0);
    kept.rows = [...kept.rows.filter(row => row.round <= settled), ...await daemon.series(id, uid, settled, ROUNDS_AT_ONCE)];
    if (kept.rows.length > POINTS_MAX) {
        const isEvaluated = row => row.evaluation_mean !== undefined;
        const spare = kept.rows.filter(isEvaluated).length < POINTS_MAX / 2;
        kept.rows = kept.rows.filter((row, i) => i % 2 === 0 || i === kept.rows.length - 1 || spare && isEvaluated(row));
    }
    return kept.rows;
}

const widthOf = id => Math.min(Math.max(at(id).clientWidth, 280), 1000);

async function fillJob(id) {
    const p = await daemon.properties(id), owner = await daemon.user(p.UserId);
    at("job-title").textContent = `Job ${id}: ${p.Environment}, ${p.State === "ended" ? p.Result : p.State}`;
    at("job-words").textContent = [`Submitted by ${owner}, ${time(p.SubmittedUSec)}.`, p.Description, p.Waiting, p.Fault, p.RecordsFault].filter(Boolean).join(" ");
    at("job").dataset.uid = p.UserId;
    at("stop").disabled = p.State === "ended";
    at("freeze").hidden = p.FrozenUSec > 0;
    at("thaw").hidden = !at("freeze").hidden;
    at("freeze").disabled = at("thaw").disabled = p.State === "ended";
    fillFacts(p);
    alive = p.State !== "ended";
    const [rows, bill, text] = await Promise.all([
        rounds(id, p.UserId).catch(() => []), daemon.bill(id, p.UserId), daemon.text(id, p.UserId).catch(e => e.message)]);
    const mean = row => row.return_mean ?? row.return_round;
    at("curve").replaceChildren(plot(rows.filter(row => mean(row) !== undefined).map(row => [row.env_steps, mean(row)]), {
        dots: rows.filter(row => row.evaluation_mean !== undefined).map(row => [row.env_steps, row.evaluation_mean]), label: "Return by environment steps",
        width: widthOf("curve") }));
    at("actors").replaceChildren(plot(rows.map(row => [row.round, row.actors]), { steps: true, zero: true, label: "Actors by round", width: widthOf("actors") }));
    const lines = bill.lines.map(([kind, amount, unit, price, paper]) => [kind, quantity(amount), unit, money(price, bill.currency), paper ? "paper, full" : "full"]);
    const sums = [["Paper total", "", "", money(bill.paper, bill.currency), ""], ["Full total", "", "", money(bill.full, bill.currency), bill.sheet]];
    at("bill").replaceChildren(table([["Charge"], ["Quantity", "number"], ["Unit", "minor"], ["Amount", "number"], ["Counted in", "minor"]],
                                     [...lines, ...sums.map(row => Object.assign(row, { sum: true }))]));
    at("text").textContent = text;
}

async function fillBills() {
    const since = at("since").value;
    const rows = (await daemon.totals()).filter(row => row[1] >= since).sort((a, b) => b[1].localeCompare(a[1]) || a[0] - b[0]);
    const sums = new Map();
    for (const [, , , currency, , full, paper] of rows) {
        const sum = sums.get(currency) ?? [0, 0];
        sums.set(currency, [sum[0] + full, sum[1] + paper]);
    }
    const shown = await Promise.all(rows.map(async ([uid, month, tag, currency, sheet, full, paper, jobs, steps, cpu]) =>
        [month, await daemon.user(uid), tag, sheet, number(jobs), number(steps), seconds(cpu), money(paper, currency), money(full, currency)]));
    for (const [currency, [full, paper]] of sums)
        shown.push(Object.assign(["Sum", "", "", "", "", "", "", money(paper, currency), money(full, currency)], { sum: true }));
    at("totals").replaceChildren(table([["Month", "whole"], ["User"], ["Tag"], ["Price sheet", "minor"], ["Jobs", "number"], ["Steps", "number minor"],
                                        ["CPU time", "number minor"], ["Paper total", "number"], ["Full total", "number"]], shown));
}

async function fillPrices() {
    const rows = await daemon.sheets();
    at("sheets").replaceChildren(table([["Name"], ["Date", "whole minor"], ["Currency"], ["Description"], ["Source", "minor"]],
        rows.map(([name, date, source, currency, description]) => {
            const show = element("button", { type: "button", textContent: name });
            show.addEventListener("click", () => daemon.sheet(name).then(text => {
                at("sheet-title").textContent = name;
                at("sheet").textContent = text;
                at("sheet").hidden = false;
                at("sheet").scrollIntoView({ block: "nearest" });
            }).catch(trouble));
            return [show, date, currency, description, source];
        })));
}

async function fillHead() {
    const p = await daemon.about();
    at("daemon").textContent = `actord ${p.Version}: ${p.NRunning} of at most ${p.MaxJobs} jobs run, ${p.NQueued} wait` +
        (daemon.isAdministrator() ? "; with administrative access" : "");
}

function place() {
    const words = location.hash.replace(/^#\/?/, "").split("/");
    const name = ["job", "submit", "bills", "prices"].includes(words[0]) ? words[0] : "jobs";
    return name === "job" && /^[1-9]\d{0,15}$/.test(words[1] ?? "") ? { name, id: Number(words[1]) } : { name: name === "job" ? "jobs" : name };
}

function show() {
    const { name } = place();
    for (const section of document.querySelectorAll("main > section"))
        section.hidden = section.id !== name;
    for (const link of document.querySelectorAll("nav a")) {
        const here = link.getAttribute("href") === `#/${{ jobs: "", job: "" }[name] ?? name}`;
        if (here)
            link.setAttribute("aria-current", "page");
        else
            link.removeAttribute("aria-current");
    }
}

/* Fills one section at a time. If the user has gone to another address meanwhile, that section is filled next; figures that
 * have changed wait for the clock. A section that is not shown keeps its old content. */
async function fill() {
    if (filling) {
        again = true;
        return;
    }
    filling = true;
    let hash;
    do {
        hash = location.hash;
        again = false;
        const { name, id } = place();
        try {
            alive = false;
            await fillHead();
            await ({ jobs: fillJobs, job: () => fillJob(id), bills: fillBills, prices: fillPrices }[name] ?? (() => {}))();
            trouble(null);
        } catch (e) {
            trouble(e);
        }
    } while (location.hash !== hash);
    filling = false;
    if (again)
        soon();
}

function soon() {
    timer ??= setTimeout(() => {
        timer = null;
        if (!document.hidden && place().name !== "prices")
            fill();
    }, REFRESH_MSEC);
}

function goTo() {
    show();
    fill();
}

/* Shows a line for each mistake; the line begins with the file and the line number. */
function showMistakes(error) {
    at("verdict").textContent = "";
    at("mistakes").replaceChildren(...(error.message || error.problem || String(error)).split("\n").filter(Boolean).map(mistake => {
        const line = Number(/^job\.conf:(\d+):/.exec(mistake)?.[1]);
        const words = element("a", { href: "#/submit", textContent: mistake });
        words.addEventListener("click", event => {
            event.preventDefault();
            selectLine(line);
        });
        return element("li", {}, line ? words : mistake);
    }));
}

function selectLine(line) {
    const field = at("job-file"), before = field.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1);
    field.focus();
    field.setSelectionRange(before, before + field.value.slice(before).split("\n")[0].length);
}

async function check() {
    at("mistakes").replaceChildren();
    at("verdict").textContent = "Checking…";
    try {
        const id = await daemon.submit(at("job-file").value, "job.conf", "verify");
        let p = await daemon.properties(id);
        for (const end = Date.now() + 1000 * VERIFY_SECONDS; p.State !== "ended" && Date.now() < end; p = await daemon.properties(id))
            await new Promise(done => setTimeout(done, 200));
        if (p.State !== "ended")
            at("verdict").textContent = `The check is job ${id}, and it has not ended yet. ${p.Waiting}`;
        else if (p.Result === "failed")
            showMistakes({ message: p.Fault });
        else
            at("verdict").textContent = `This job can be run here: sandbox level ${p.SandboxLevel}` +
                (p.LimitsNotEnforced.length ? `, not enforced: ${p.LimitsNotEnforced.join(", ")}.` : ".");
    } catch (e) {
        showMistakes(e);
    }
}

async function submit(event) {
    event.preventDefault();
    at("mistakes").replaceChildren();
    try {
        location.hash = `#/job/${await daemon.submit(at("job-file").value, "job.conf", "train")}`;
    } catch (e) {
        showMistakes(e);
    }
}

async function act(method) {
    const { id } = place();
    try {
        await daemon.act(id, Number(at("job").dataset.uid), method);
        fill();
    } catch (e) {
        trouble(e);
    }
}

/* Takes the style that the user chose in Cockpit's menu; without a choice the browser decides. */
function applyStyle() {
    document.documentElement.dataset.style = localStorage.getItem("shell:style") ?? "auto";
}

function listen() {
    addEventListener("hashchange", goTo);
    addEventListener("resize", soon);
    addEventListener("storage", applyStyle);
    addEventListener("cockpit-style", applyStyle);
    document.addEventListener("visibilitychange", soon);
    at("form").addEventListener("submit", submit);
    at("check").addEventListener("click", check);
    at("since").addEventListener("change", fill);
    at("more").addEventListener("click", () => {
        wanted += PAGE_ROWS;
        fill();
    });
    at("pick").addEventListener("change", async event => {
        const [file] = event.target.files;
        if (file)
            at("job-file").value = await file.text();
    });
    at("freeze").addEventListener("click", () => act("Freeze"));
    at("thaw").addEventListener("click", () => act("Thaw"));
    at("stop").addEventListener("click", () => {
        at("question").textContent = `Job ${place().id} ends after the round in flight, and its checkpoint is kept.`;
        at("ask").returnValue = "";
        at("ask").showModal();
    });
    at("ask").addEventListener("close", () => at("ask").returnValue === "yes" && act("Stop"));
    /* A daemon without jobs ends by itself, so the page asks regularly only while there are jobs that have not ended. */
    setInterval(() => alive && soon(), POLL_MSEC);
}

async function main() {
    applyStyle();
    at("job-file").value = JOB_FILE;
    listen();
    show();
    try {
        await daemon.begin(soon);
    } catch (e) {
        trouble(e);
    }
    fill();
}

main();
