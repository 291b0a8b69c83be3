#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A Slurm cluster on this machine, for as long as its tests run: munge, slurmdbd on a MariaDB of its own, slurmctld, and
# nodes n1 to n4, each a slurmd in a network and a mount namespace of its own. The head and the nodes meet at a bridge that
# leads nowhere else. All of it lives in namespaces that end with this script, however it ends.
# usage: tests/slurm/cluster.sh COMMAND [ARGUMENT]...       (as root)
#
# For COMMAND: SLURM_CONF; CLUSTER_DIR, a folder with log/, munged.pid and node-N.pid of each slurmd; the network of node N
# is /run/netns/nN, and its cable at the head vN. Users tester and stranger may run jobs,
# in tester's account `narrow` one job at a time; nodes have 2 CPUs each. A job in the partition `urgent` preempts others.
#
# CLUSTER_NODES=N (4)
# CLUSTER_ACCOUNTS=no      without slurmdbd: sacct does not work
set -euo pipefail

nodes=${CLUSTER_NODES:-4}
head=10.83.7.254

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

fail() {
    echo "Bail out! $*"
    exit 1
}

# Inside, the PID namespace is the first guarantee: the kernel ends everything in it together with its first process.
if [ -z "${CLUSTER_DIR:-}" ]; then
    [ $# -gt 0 ] || fail "no command was named."
    [ "$(id -u)" -eq 0 ] || skip "a cluster of its own needs root"
    for program in munged slurmctld slurmd slurmdbd sbatch mariadbd ip; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "$program is missing: packaging/dependencies.sh slurm"
    done
    own=(--net --mount --uts --pid --fork --kill-child --mount-proc --propagation private)
    unshare "${own[@]}" true 2>/dev/null || skip "no network, mount, host name and PID namespaces here"
    unshare "${own[@]}" ip link add name probe type bridge 2>/dev/null || skip "no network bridges here"
    CLUSTER_DIR=$(mktemp -d /tmp/actord-slurm.XXXXXX)
    export CLUSTER_DIR
    status=0
    unshare "${own[@]}" "$0" "$@" || status=$?
    rm -rf "$CLUSTER_DIR"
    exit $status
fi

wait_for() { # wait_for TENTHS COMMAND...
    local i
    for ((i = 0; i < $1; i++)); do
        "${@:2}" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}

# An overlay of /etc, so that there may be users for the tests.
make_private() {
    chmod 755 "$CLUSTER_DIR"
    mkdir -p "$CLUSTER_DIR"/{log,state,munge,database,etc/upper,etc/work}
    mkdir -p /run/netns /run/munge
    mount -t tmpfs -o mode=755 netns /run/netns
    mount -t tmpfs -o mode=755 munge /run/munge
    if ! mount -t overlay overlay -o "lowerdir=/etc,upperdir=$CLUSTER_DIR/etc/upper,workdir=$CLUSTER_DIR/etc/work" /etc 2>/dev/null; then
        mount -t tmpfs -o mode=755 upper "$CLUSTER_DIR/etc"
        mkdir "$CLUSTER_DIR"/etc/{upper,work}
        mount -t overlay overlay -o "lowerdir=/etc,upperdir=$CLUSTER_DIR/etc/upper,workdir=$CLUSTER_DIR/etc/work" /etc 2>/dev/null ||
            skip "no overlay of /etc can be mounted here"
    fi
    hostname cluster-head
    local name id=60100
    for name in tester stranger; do
        sed -i "/^$name:/d" /etc/passwd /etc/group
        echo "$name:x:$id:$id::/tmp:/bin/sh" >>/etc/passwd
        echo "$name:x:$id:" >>/etc/group
        id=$((id + 1))
    done
    ip link set lo up
    ip link add bridge type bridge
    ip addr add $head/24 dev bridge
    ip link set bridge up
}

start_munge() {
    head -c 1024 /dev/urandom >"$CLUSTER_DIR/munge/key"
    chmod 400 "$CLUSTER_DIR/munge/key"
    chown -R munge: "$CLUSTER_DIR/munge" /run/munge
    setpriv --reuid=munge --regid=munge --init-groups munged --force --key-file="$CLUSTER_DIR/munge/key" \
        --log-file="$CLUSTER_DIR/munge/log" --seed-file="$CLUSTER_DIR/munge/seed" --pid-file="$CLUSTER_DIR/munge/pid" \
        2>>"$CLUSTER_DIR/log/munge" || fail "munged does not start: $(tail -n 1 "$CLUSTER_DIR/log/munge")"
}

write_conf() {
    local memory i
    memory=$(($(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo) / (nodes + 1)))
    {
        cat <<END
ClusterName=lane
SlurmctldHost=$(hostname)($head)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
MailProg=/bin/true
StateSaveLocation=$CLUSTER_DIR/state
SlurmdSpoolDir=$CLUSTER_DIR/spool-%n
SlurmctldPidFile=$CLUSTER_DIR/slurmctld.pid
SlurmdPidFile=$CLUSTER_DIR/node-%n.pid
SlurmctldLogFile=$CLUSTER_DIR/log/slurmctld
SlurmdLogFile=$CLUSTER_DIR/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdTimeout=10
KillWait=10
OverTimeLimit=0
ReturnToService=2
MpiDefault=none
END
        if [ "${CLUSTER_ACCOUNTS:-}" != no ]; then
            echo "AccountingStorageType=accounting_storage/slurmdbd"
            echo "AccountingStorageHost=127.0.0.1"
            echo "JobAcctGatherType=jobacct_gather/linux"
            echo "AccountingStorageEnforce=associations,limits"
        fi
        for ((i = 1; i <= nodes; i++)); do
            echo "NodeName=n$i NodeHostname=$(hostname) NodeAddr=10.83.7.$i Port=7001 CPUs=2 RealMemory=$memory"
        done
        echo "PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
        echo "PartitionName=closed Nodes=n1 Default=NO MaxTime=2 State=UP"
        echo "PartitionName=urgent Nodes=n[1-$nodes] Default=NO PriorityTier=10 State=UP"
    } >"$CLUSTER_DIR/slurm.conf"
    export SLURM_CONF=$CLUSTER_DIR/slurm.conf
}

start_accounts() {
    local sql
    mariadb-install-db --no-defaults --user=root --datadir="$CLUSTER_DIR/database" --auth-root-authentication-method=normal \
        --skip-test-db >"$CLUSTER_DIR/log/database" 2>&1 || fail "the database cannot be made: see $CLUSTER_DIR/log/database"
    mariadbd --no-defaults --user=root --datadir="$CLUSTER_DIR/database" --socket="$CLUSTER_DIR/database.sock" \
        --pid-file="$CLUSTER_DIR/database.pid" --bind-address=127.0.0.1 --innodb-flush-log-at-trx-commit=0 \
        >>"$CLUSTER_DIR/log/database" 2>&1 &
    wait_for 300 test -S "$CLUSTER_DIR/database.sock" || fail "the database does not start."
    for sql in localhost 127.0.0.1; do
        echo "create user slurm@'$sql'; grant all on *.* to slurm@'$sql';"
    done | mariadb --no-defaults --socket="$CLUSTER_DIR/database.sock" -uroot
    (
        umask 077
        cat >"$CLUSTER_DIR/slurmdbd.conf" <<END
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
SlurmUser=root
LogFile=$CLUSTER_DIR/log/slurmdbd
PidFile=$CLUSTER_DIR/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StorageLoc=accounts
END
    )
    slurmdbd
    wait_for 300 sacctmgr -i add cluster lane || fail "slurmdbd does not answer."
    {
        sacctmgr -i add account lane,narrow
        sacctmgr -i add user root,tester,stranger account=lane
        sacctmgr -i add user tester account=narrow maxjobs=1
    } >"$CLUSTER_DIR/log/accounts" 2>&1 || fail "users have no accounts: $(tail -n 1 "$CLUSTER_DIR/log/accounts")"
}

start_node() { # start_node N
    ip netns add "n$1"
    ip link add "v$1" type veth peer name eth0 netns "n$1"
    ip link set "v$1" master bridge up
    ip -n "n$1" link set lo up
    ip -n "n$1" addr add "10.83.7.$1/24" dev eth0
    ip -n "n$1" link set eth0 up
    nsenter --net="/run/netns/n$1" unshare --mount --propagation slave slurmd -N "n$1" ||
        fail "slurmd of n$1 does not start: $(tail -n 1 "$CLUSTER_DIR/log/n$1")"
}

all_idle() {
    [ "$(sinfo -h -p main -o '%T %D')" = "idle $nodes" ]
}

make_private
start_munge
write_conf
[ "${CLUSTER_ACCOUNTS:-}" = no ] || start_accounts
slurmctld
for ((i = 1; i <= nodes; i++)); do
    start_node "$i"
done
wait_for 300 all_idle || fail "the nodes do not come up: $(sinfo -N 2>&1 | tail -n 5)"
# The first process of the namespace: it reaps what daemons leave.
status=0
"$@" || status=$?
exit $status
