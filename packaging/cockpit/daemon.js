/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of the daemon on the system bus, through Cockpit's bridge. Even while Cockpit has administrative access, calls
 * about the user's own jobs go through the user's bridge; only calls about the jobs of others go through the privileged one. */
const NAME = "org.actord1", PATH = "/org/actord1";
const MANAGER = "org.actord1.Manager", JOB = "org.actord1.Job";

const cockpit = window.cockpit;
const plain = cockpit.dbus(NAME, { bus: "system" });
const administration = cockpit.permission({ admin: true });
let privileged = null, me = null;

export function isAdministrator() {
    return administration.allowed === true;
}

function administrator() {
    privileged ??= cockpit.dbus(NAME, { bus: "system", superuser: "require" });
    return privileged;
}

/* The owner of a job decides which of the two connections is used. */
function connectionFor(uid) {
    return isAdministrator() && me !== null && uid !== me.id ? administrator() : plain;
}

const manager = (method, args, type, connection = plain) => connection.call(PATH, MANAGER, method, args, { type });
const job = (id, uid, method, args = [], type = "") => connectionFor(uid).call(`${PATH}/job/${id}`, JOB, method, args, { type });

/* changed: called, without arguments, when the list of jobs or the figures of a job may have changed. */
export async function begin(changed) {
    me = await cockpit.user();
    for (const [path, interface_] of [[PATH, MANAGER], [null, "org.freedesktop.DBus.Properties"]])
        plain.subscribe(path ? { path, interface: interface_ } : { path_namespace: PATH, interface: interface_ }, changed);
    administration.addEventListener("changed", changed);
    plain.addEventListener("close", changed);
}

export async function about() {
    const [all] = await plain.call(PATH, "org.freedesktop.DBus.Properties", "GetAll", [MANAGER], { type: "s" });
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value.v]));
}

const COLUMNS = ["id", "uid", "state", "result", "environment", "description", "tag", "submitted", "started", "ended", "rounds",
                 "steps", "mean", "cost", "currency", "path"];

export async function list(after, most) {
    const [rows, next] = await manager("ListJobsFiltered", [{}, after, most], "a{sv}tu");
    return { rows: rows.map(row => Object.fromEntries(COLUMNS.map((name, i) => [name, row[i]]))), next };
}

export async function submit(text, fileName, purpose) {
    const [id] = await manager("SubmitJob", [text, fileName, [], {}, { purpose: { t: "s", v: purpose } }], "ssa(ss)a{sh}a{sv}");
    return id;
}

export async function properties(id) {
    const [all] = await plain.call(`${PATH}/job/${id}`, "org.freedesktop.DBus.Properties", "GetAll", [JOB], { type: "s" });
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value.v]));
}

/* Returns an object for each round. It lacks the figures that were not measured. */
export async function series(id, uid, after, most) {
    const [names, rows] = await job(id, uid, "GetSeries", [after, most], "tu");
    return rows.map(row => Object.fromEntries(names.map((name, i) => [name, row[i]]).filter(([, value]) => Number.isFinite(value))));
}

export async function bill(id, uid) {
    const [currency, sheet, paper, full, lines] = await job(id, uid, "GetBill");
    return { currency, sheet, paper, full, lines };
}

export const text = async (id, uid) => (await job(id, uid, "GetText"))[0];
export const act = (id, uid, method) => job(id, uid, method);
export const totals = async () => (await manager("GetTotals", [], "", isAdministrator() ? administrator() : plain))[0];
export const sheets = async () => (await manager("ListPriceSheets", [], ""))[0];
export const sheet = async name => (await manager("GetPriceSheet", [name], "s"))[0];

/* The names of users as this host knows them, including users that no file lists. */
const users = new Map();
export function user(uid) {
    if (!users.has(uid))
        users.set(uid, cockpit.spawn(["getent", "passwd", String(uid)]).then(line => line.split(":")[0] || String(uid)).catch(() => String(uid)));
    return users.get(uid);
}
