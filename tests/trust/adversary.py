# SPDX-License-Identifier: LGPL-2.1-or-later
"""The attempts of a hostile plugin in a real job, and the answer that each must get: a row for each. The plugin is adversary-env.c.

A row is a name, a system call with its arguments, and the answer at levels full, userns and process: a signal, an errno, or "worked" for
what is harmless and allowed. One answer holds for all three levels. Adding an attempt is adding a line."""
import collections, errno, subprocess

from trust import *

LEVELS = ("full", "userns", "process")
SIGSYS = "SIGSYS"
AT, READ, WRITE, CREATE = "-100", "0", "1", "0x41"
GONE = "ENOENT ENOENT EACCES"  # below full and userns there is nothing of the host; at process Landlock closes it

ROWS = [row.split(" | ") for row in f"""
read the host's users | openat {AT} @/etc/passwd {READ} | {GONE}
read the host's passwords | openat {AT} @/etc/shadow {READ} | {GONE}
list the host's root user's home | openat {AT} @/root {READ} | {GONE}
list the homes | openat {AT} @/home {READ} | {GONE}
list the ledger's directory | openat {AT} @/var {READ} | {GONE}
list the temporary files | openat {AT} @/tmp {READ} | {GONE}
read kernel settings | openat {AT} @/sys/kernel {READ} | {GONE}
read its own process through proc | openat {AT} @/proc/self/mem {READ} | {GONE}
read the invoker's memory through proc | openat {AT} @/proc/1/mem {READ} | {GONE} ENOENT
read the command line of process 1 | openat {AT} @/proc/1/cmdline {READ} | {GONE} ENOENT
open a memory device | openat {AT} @/dev/mem {READ} | ENOENT ENOENT ENOENT EACCES EPERM
open the bus | openat {AT} @/run {READ} | {GONE}
climb out of its root | openat {AT} @../../../../etc/passwd {READ} | {GONE}
write a file | openat {AT} @/made-by-an-actor {CREATE} 0600 | {SIGSYS}
open a file for writing | openat {AT} @/etc/passwd {WRITE} | {SIGSYS}
truncate a file on opening | openat {AT} @/etc/passwd 0x200 | {SIGSYS}
make a file the old way | creat @/x 0600 | {SIGSYS}
open the old way | open @/etc/passwd 0 | {SIGSYS}
open by a structure | openat2 {AT} @/etc/passwd * 24 | {SIGSYS}
open by a handle | open_by_handle_at 3 * 0 | {SIGSYS}
ask for a handle | name_to_handle_at {AT} @/ * * 0 | {SIGSYS}
make a directory | mkdirat {AT} @/x 0700 | {SIGSYS}
make a device | mknodat {AT} @/x 0x2000 0x103 | {SIGSYS}
remove a file | unlinkat {AT} @/etc/passwd 0 | {SIGSYS}
rename a file | renameat2 {AT} @/a {AT} @/b 0 | {SIGSYS}
link a file | linkat {AT} @/etc/passwd {AT} @/x 0 | {SIGSYS}
make a symbolic link | symlinkat @/etc/passwd {AT} @/x | {SIGSYS}
change a file's mode | fchmodat {AT} @/etc/passwd 0777 | {SIGSYS}
change a file's owner | fchownat {AT} @/etc/passwd 0 0 0 | {SIGSYS}
change a descriptor's mode | fchmod 2 0777 | {SIGSYS}
change a file's times | utimensat {AT} @/etc/passwd 0 0 | {SIGSYS}
set an attribute | setxattr @/etc/passwd @user.x * 1 0 | {SIGSYS}
truncate a file | truncate @/etc/passwd 0 | {SIGSYS}
truncate its own standard error | ftruncate 2 0 | {SIGSYS}
punch a hole into what it shares | fallocate 2 3 0 4096 | {SIGSYS}
lock a file | flock 2 2 | {SIGSYS}
send one file to another | sendfile 2 2 0 4096 | {SIGSYS}
splice | splice 2 0 2 0 4096 0 | {SIGSYS}
copy between files | copy_file_range 2 0 2 0 4096 0 | {SIGSYS}
write where others read | pwrite64 2 * 16 0 | {SIGSYS}
read from standard error, a terminal perhaps | read 2 * 1 | {SIGSYS}
read from standard output | read 1 * 1 | {SIGSYS}
read standard error by a longer number | read 0x100000002 * 1 | {SIGSYS}
duplicate a descriptor | dup 2 | {SIGSYS}
duplicate over the bell | dup2 2 3 | {SIGSYS}
duplicate by fcntl | fcntl 2 0 5 | {SIGSYS}
make standard error not wait, for all who share it | fcntl 2 4 0x800 | {SIGSYS}
be sent signals for a descriptor | fcntl 2 8 1 | {SIGSYS}
choose that signal | fcntl 2 10 9 | {SIGSYS}
seal a segment | fcntl 4 1033 8 | {SIGSYS}
type into the terminal | ioctl 2 0x5412 * | {SIGSYS}
type into the terminal by a longer number | ioctl 2 0x100005412 * | {SIGSYS}
take the terminal | ioctl 2 0x540e 0 | {SIGSYS}
paste into the console | ioctl 2 0x541c * | {SIGSYS}
connect to the internet | socket 2 1 0 | {SIGSYS}
connect to the internet's newer one | socket 10 1 0 | {SIGSYS}
connect to a local service | socket 1 1 0 | {SIGSYS}
speak to the kernel | socket 16 3 0 | {SIGSYS}
use the kernel's ciphers | socket 38 5 0 | {SIGSYS}
open a pair of sockets | socketpair 1 1 0 * | {SIGSYS}
connect | connect 3 * 16 | {SIGSYS}
receive descriptors | recvmsg 3 * 0 | {SIGSYS}
send descriptors | sendmsg 3 * 0 | {SIGSYS}
fork | fork | {SIGSYS}
fork in shared memory | vfork | {SIGSYS}
clone | clone 17 0 0 0 0 | {SIGSYS}
clone into a user namespace | clone 0x10000011 0 0 0 0 | {SIGSYS}
clone by a structure | clone3 * 88 | {SIGSYS}
a thread, as pthread_create() makes it | clone 0x3d0f00 0 0 0 0 | {SIGSYS}
a process in another one's cgroup | clone 0x200000011 0 0 0 0 | {SIGSYS}
run a program | execve @/bin/true 0 0 | {SIGSYS}
run a program by a descriptor | execveat {AT} @/bin/true 0 0 0 | {SIGSYS}
new user namespace | unshare 0x10000000 | {SIGSYS}
new mount namespace | unshare 0x20000 | {SIGSYS}
join a namespace | setns 3 0 | {SIGSYS}
mount | mount @none @/ @tmpfs 0 0 | {SIGSYS}
unmount | umount2 @/ 2 | {SIGSYS}
change the root | pivot_root @/ @/ | {SIGSYS}
change the root the old way | chroot @/ | {SIGSYS}
mount the new way | fsopen @tmpfs 0 | {SIGSYS}
take a tree along | open_tree {AT} @/ 1 | {SIGSYS}
change mounts' attributes | mount_setattr {AT} @/ 0 * 32 | {SIGSYS}
become root | setuid 0 | {SIGSYS}
become root's group | setgid 0 | {SIGSYS}
be whoever | setresuid 0 0 0 | {SIGSYS}
drop groups | setgroups 0 0 | {SIGSYS}
raise capabilities | capset * * | {SIGSYS}
raise a limit | prlimit64 0 7 * 0 | {SIGSYS}
raise a limit the old way | setrlimit 7 * | {SIGSYS}
be dumpable, be traced | prctl 4 1 0 0 0 | {SIGSYS}
rename itself | prctl 15 @actord 0 0 0 | {SIGSYS}
load a filter of its own | seccomp 1 0 * | {SIGSYS}
trace itself | ptrace 0 0 0 0 | {SIGSYS}
attach to process 1 | ptrace 16 1 0 0 | {SIGSYS}
read another's memory | process_vm_readv 1 * 1 * 1 0 | {SIGSYS}
write another's memory | process_vm_writev 1 * 1 * 1 0 | {SIGSYS}
compare with another | kcmp 1 2 0 0 0 | {SIGSYS}
hold another process | pidfd_open 1 0 | {SIGSYS}
take another's descriptor | pidfd_getfd 3 0 0 | {SIGSYS}
signal by a descriptor | pidfd_send_signal 3 9 0 0 | {SIGSYS}
kill everybody | kill -1 9 | {SIGSYS}
kill process 1 | kill 1 9 | {SIGSYS}
kill a thread of process 1 | tgkill 1 1 9 | {SIGSYS}
kill a thread the old way | tkill 1 9 | {SIGSYS}
queue a signal | rt_sigqueueinfo 1 9 * | {SIGSYS}
send SIGKILL to itself, to pass for an accident | tgkill 0 0 9 | {SIGSYS}
wake words that it does not share | futex * 3 1 1 * 0 | {SIGSYS}
wait on many words | futex_waitv * 1 0 0 0 | {SIGSYS}
memory that can be written and run | mmap 0 4096 7 0x22 -1 0 | {SIGSYS}
code where data was | mprotect * 4096 5 | {SIGSYS}
run data by a key | pkey_mprotect * 4096 5 0 | {SIGSYS}
map over shared words | mmap 0x100000 4096 3 0x32 -1 0 | {SIGSYS}
map pages in another order | remap_file_pages * 4096 0 0 0 | {SIGSYS}
handle its own page faults | userfaultfd 0 | {SIGSYS}
lock memory | mlock * 4096 | {SIGSYS}
move pages of another | move_pages 1 0 0 0 0 0 | {SIGSYS}
memory of secrets | memfd_secret 0 | {SIGSYS}
a file without a name | memfd_create @x 0 | {SIGSYS}
a loop around the kernel | io_uring_setup 1 * | {SIGSYS}
older asynchronous reads | io_setup 1 * | {SIGSYS}
load a program into the kernel | bpf 0 * 64 | {SIGSYS}
count events of everybody | perf_event_open * -1 0 -1 0 | {SIGSYS}
load a module | init_module * 16 @x | {SIGSYS}
load a module's file | finit_module 3 @x 0 | {SIGSYS}
boot another kernel | kexec_load 0 0 0 0 | {SIGSYS}
reboot | reboot 0xfee1dead 672274793 0x1234567 0 | {SIGSYS}
set the clock | clock_settime 0 * | {SIGSYS}
adjust the clock | adjtimex * | {SIGSYS}
rename the host | sethostname @x 1 | {SIGSYS}
write the kernel's log | syslog 3 * 16 | {SIGSYS}
use a key ring | keyctl 0 0 0 0 0 | {SIGSYS}
add a key | add_key @user @x * 1 -1 | {SIGSYS}
swap on a file | swapon @/x 0 | {SIGSYS}
account for processes | acct 0 | {SIGSYS}
set quotas | quotactl 0 0 0 0 | {SIGSYS}
watch files | inotify_init1 0 | {SIGSYS}
watch all files | fanotify_init 0 0 | {SIGSYS}
run everywhere | sched_setaffinity 0 8 * | {SIGSYS}
run before all others | sched_setscheduler 0 1 * | {SIGSYS}
be nicer to itself | setpriority 0 0 -20 | {SIGSYS}
before all others at the disk | ioprio_set 1 0 0 | {SIGSYS}
memory shared by a number | shmget 1 4096 0x1ff | {SIGSYS}
attach shared memory | shmat 0 0 0 | {SIGSYS}
a queue with a name | mq_open @x 0x41 0600 0 | {SIGSYS}
messages by a number | msgget 1 0x1ff | {SIGSYS}
semaphores by a number | semget 1 1 0x1ff | {SIGSYS}
a pipe | pipe2 * 0 | {SIGSYS}
a bell of its own | eventfd2 0 0 | {SIGSYS}
a timer that signals | timer_create 0 0 * | {SIGSYS}
an alarm | alarm 1 | {SIGSYS}
a session of its own | setsid | {SIGSYS}
a layer of rules of its own | landlock_create_ruleset 0 0 1 | {SIGSYS}
ports of the machine | iopl 3 | {SIGSYS}
a table of segments | modify_ldt 0 * 16 | {SIGSYS}
what can be asked | getpid | worked
what can be read: nothing is there | openat {AT} @/none {READ} | ENOENT ENOENT ENOENT EACCES
a call that there is not | 1000 | {SIGSYS}
""".strip().splitlines()]


def answers(row, level):
    """One of them is right: the last may list alternatives, as hosts differ in what they have."""
    words = row[2].split()
    return {words[0]} if len(words) == 1 else set(words[2:]) if level == "process" else {words[LEVELS.index(level)]}


def numbers():
    """{name: number} of this machine's system calls, and None for those that it lacks."""
    names = sorted({row[1].split()[0] for row in ROWS} - {"1000"})
    text = "#include <sys/syscall.h>\n" + "".join(f"=={n} SYS_{n}\n" for n in names)
    out = subprocess.run(["cc", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=True).stdout
    found = {n: int(v) for n, v in re.findall(r"==(\w+) (\d+)$", subprocess.run(
        ["cc", "-E", "-P", "-"], input=out, capture_output=True, text=True, check=True).stdout, re.M)}
    return {**{n: None for n in names}, **found, "1000": 1000}


def outcome(result, fault):
    """What became of an attempt, in the words of the table."""
    if "[SIG" in fault:
        return fault[fault.index("[SIG") + 1:fault.rindex("]")]
    if error := re.search(r"\(error (\d+)\)", fault):
        name = errno.errorcode.get(int(error[1]), error[1])
        return "worked" if name == "ENOTRECOVERABLE" else name
    return f"{result}: {fault}"


# The doors that share the rows of the short form.
RUN, USER, TRIAL = range(3)


def plan(rng, levels=LEVELS, door=None):
    """[(row, level)] of the levels that there are: all of them in the long form; in the short one each row at one level and through one door."""
    if LONG_FORM:
        return [(row, level) for level in levels for row in ROWS]
    order = rng.sample(levels, len(levels))
    return [(row, order[i % len(order)]) for i, row in enumerate(ROWS) if door is None or i // 3 % 3 == door]


def conf(directory):
    so = os.path.join(directory, "adversary.so")
    subprocess.run(["cc", "-std=gnu17", "-O1", "-fPIC", "-shared", "-I", os.path.join(ROOT, "include"), "-o", so,
                    os.path.join(ROOT, "tests/trust/adversary-env.c"), "-lm"], check=True)
    path = os.path.join(directory, "adversary.conf")
    with open(path, "w") as f:
        f.write(f"[Job]\nEnvironment={so}\nStopSteps=16\n[Scaling]\nActors=1\n[Actor]\nRolloutSteps=16\nRetries=0\nTimeoutSec=60\n"
                "[Learner]\nMinibatchSize=16\nEpochs=1\n")
    return path


# Each of the three doors that share the rows of the short form tries a third of them.
ATTEMPTS_LEAST = len(ROWS) // 4


def attack(name, submit, end, attempts, batch=40):
    """Makes the attempts through one front door: submit(settings) is a job, end(job) its (result, fault, level)."""
    number, todo, wrong, made, absent = numbers(), list(attempts), [], collections.Counter(), 0
    least = max(len(todo) * 9 // 10, ATTEMPTS_LEAST)
    while todo:
        now, todo = todo[:batch], todo[batch:]
        jobs = []
        for row, level in now:
            call, *arguments = row[1].split(" ")
            if number[call] is None:
                absent += 1
                continue
            words = " ".join([str(number[call]), *arguments])
            jobs.append((row, level, submit([f"Environment.Call={words}", f"Actor.Sandbox={level}"])))
        for row, level, job in jobs:
            result, fault, got = end(job)
            equal(got, level, f"level of the job that was to {row[0]}")
            seen = outcome(result, fault)
            made[level] += 1
            if seen not in answers(row, level):
                wrong.append(f"{row[0]} ({row[1]}) at {level}: {seen} instead of {' or '.join(sorted(answers(row, level)))}")
    counts = ", ".join(f"{n} at {level}" for level, n in made.items())
    print(f"# {name}: {made.total()} attempts ({counts}), {len(wrong)} with another answer"
          + (f", {absent} that this kernel's headers have not" if absent else ""), flush=True)
    assert not wrong, "\n".join(wrong)
    assert made.total() >= least, made
