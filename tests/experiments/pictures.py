#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the pictures of README.

usage: tests/experiments/pictures.py terminal    docs/pictures/terminal.svg: what `actorctl run examples/cartpole.conf` leaves on a terminal
       tests/experiments/pictures.py hopper      docs/pictures/hopper-early.gif and hopper-late.gif: an episode after 20,480 steps of training,
                                                 and after five minutes of training on one core
"""
import fcntl, html, json, os, pty, struct, subprocess, sys, tempfile, termios

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CTL = os.path.join(os.environ.get("ACTORD_BUILD", os.path.join(ROOT, "build")), "actorctl")
PICTURES = os.path.join(ROOT, "docs", "pictures")
COLUMNS, LINES, CELL, LINE, EDGE = 88, 40, 8.43, 18, 14
COLOURS = {"default": "#e6e6e6", "red": "#ff8a80", "green": "#7fd694", "brown": "#ffd479", "yellow": "#ffd479", "blue": "#6fb4ff",
           "magenta": "#d7a8ff", "cyan": "#7fdbe6", "white": "#ffffff", "black": "#808080", "brightblack": "#9aa0a6"}


def screen_of(words, state):
    """The screen of a terminal after a program has ended on it."""
    import pyte
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.chdir(ROOT)
        os.execvpe(CTL, ["actorctl", *words], dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8", ACTORD_PAGER="", XDG_STATE_HOME=state))
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        stream.feed(data)
    os.waitpid(pid, 0)
    return screen


def svg_of(screen, command):
    """Each run of equal colour becomes one element, placed in its columns, so that no font of a reader can move it."""
    rows = [[(command[x] if x < len(command) else " ", "default", True) for x in range(COLUMNS)]]
    rows += [[(c.data, c.fg, c.bold) for c in (screen.buffer[y][x] for x in range(COLUMNS))] for y in range(LINES)]
    while rows and not "".join(c[0] for c in rows[-1]).strip():
        rows.pop()
    width, height = COLUMNS * CELL + 2 * EDGE, len(rows) * LINE + 2 * EDGE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img">',
           f"<title>{html.escape(command)}</title>", f'<rect width="100%" height="100%" rx="6" fill="#1b1d21"/>',
           '<g font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="14">']
    for y, row in enumerate(rows):
        x = 0
        while x < COLUMNS:
            end = x
            while end < COLUMNS and row[end][1:] == row[x][1:]:
                end += 1
            text = "".join(c[0] for c in row[x:end]).rstrip()
            if text:
                skip = len(text) - len(text.lstrip())
                text = text.lstrip().replace(" ", "\u00a0")  # several in a row would be one
                weight = ' font-weight="bold"' if row[x][2] else ""
                out.append(f'<text x="{EDGE + (x + skip) * CELL:.1f}" y="{EDGE + y * LINE + 13}" textLength="{len(text) * CELL:.1f}" '
                           f'fill="{COLOURS.get(row[x][1], COLOURS["default"])}"{weight}>{html.escape(text)}</text>')
            x = end
    return "\n".join([*out, "</g>", "</svg>", ""])


def terminal():
    words = "run", "examples/cartpole.conf"
    with tempfile.TemporaryDirectory() as state:
        text = svg_of(screen_of(words, state), "$ actorctl " + " ".join(words)).replace(state, "~/.local/state")
    with open(os.path.join(PICTURES, "terminal.svg"), "w") as f:
        f.write(text)


def hopper():
    with tempfile.TemporaryDirectory() as state:
        env = dict(os.environ, XDG_STATE_HOME=state)
        for name, setting in ("early", "Job.StopSteps=20480"), ("late", "Job.RuntimeMaxSec=300"):
            r = subprocess.run([CTL, "run", os.path.join(ROOT, "examples", "hopper.conf"), "--set", setting, "--json=short", "--quiet"],
                               env=env, capture_output=True, text=True, check=True)
            run = "r" + os.path.basename(json.loads(r.stdout)["state_directory"])
            subprocess.run([CTL, "eval", run, "--episodes=1", f"--gif={PICTURES}/hopper-{name}.gif"], env=env, check=True)


what = {"terminal": terminal, "hopper": hopper}.get("".join(sys.argv[1:]))
if not what:
    sys.exit(__doc__)
os.makedirs(PICTURES, exist_ok=True)
what()
