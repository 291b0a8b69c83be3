# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for actorctl

_actorctl_jobs() {
    actorctl list --no-legend --no-pager 2>/dev/null | awk '{ print $1 }'
}

_actorctl_runs() {
    local directory
    for directory in "${XDG_STATE_HOME:-$HOME/.local/state}"/actord/runs/[1-9]*/; do
        [[ -e $directory/ledger.sqlite ]] && echo "r$(basename "$directory")"
    done
}

_actorctl_environments() {
    actorctl env list --no-legend --no-pager 2>/dev/null | awk '{ print $1 }'
}

_actorctl_schedulers() {
    actorctl scheduler list --no-legend --no-pager 2>/dev/null | awk '{ print $1 }' | uniq
}

_actorctl_sheets() {
    actorctl price list --no-legend --no-pager 2>/dev/null | awk '{ print $1 }'
}

# Cuts from each word what $1 has up to its last colon, since bash replaces only what stands behind it.
_actorctl_behind_colon() {
    COMPREPLY=("${COMPREPLY[@]#"${1%"${1##*:}"}"}")
}

# Completes --set=Section.Key=VALUE. $1: what is typed of it after --set=. bash replaces only the part after the last = or :.
_actorctl_set() {
    local key=${1%%=*} value=${1#*=} values
    compopt +o filenames
    if [[ $1 != *=* ]]; then
        compopt -o nospace
        mapfile -t COMPREPLY < <(compgen -S = -W "$(actorctl keys --no-legend --no-pager 2>/dev/null | awk '{ print $1 }')" -- "$1")
        return
    fi
    case $key in
        Job.Environment) values=$(_actorctl_environments) ;;
        Billing.PriceSheet) values=$(_actorctl_sheets) ;;
        *) values=$(actorctl keys "$key" --no-legend --no-pager 2>/dev/null | awk '$2 ~ /[|]/ { gsub("[|]", " ", $2); print $2 }') ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$value")
    _actorctl_behind_colon "$value"
}

# The verb is the first word that is neither an option nor the value of one. For bash = and : are words of their own.
_actorctl_verb() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --set | --seed | --metrics | --jobs | --episodes | --rounds | --target | --name | --from | --format | --output | --lines | --steps | --actions | --state | --grid | --gif | --video | --frames | --job-state | --sort | --owner | --tag | --since | --by | --fleet | --prices | --policy | --host | -o | -n | -H)
                [[ ${COMP_WORDS[i + 1]-} == = ]] || i=$((i + 1)) ;;
            = | :) i=$((i + 1)) ;;
            -*) ;;
            *) echo "${COMP_WORDS[i]}" && return ;;
        esac
    done
}

_actorctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb words name
    local common='--help --version --quiet'
    local typed=${COMP_LINE:0:COMP_POINT}
    if [[ $typed =~ [[:space:]]--set(=|[[:space:]]+)([^[:space:]]*)$ ]]; then
        _actorctl_set "${BASH_REMATCH[2]}"
        return
    fi
    if [[ $typed =~ [[:space:]]--json=[^[:space:]]*$ ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'short pretty off' -- "${word#=}")
        return
    fi
    verb=$(_actorctl_verb)

    # --sort=st are three words for bash; the value is completed as in --sort st
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $before in
        --actions)
            mapfile -t COMPREPLY < <(compgen -W 'random zero' -- "$word"; compgen -f -- "$word")
            return ;;
        -o | --output | --state)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return ;;
        --policy)
            mapfile -t COMPREPLY < <(compgen -W 'single-learner-coarse single-learner-fine environments multi-learner central fused async auto' -- "$word")
            return ;;
        --from)
            if [[ $verb == scheduler ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_schedulers)" -- "$word"; compgen -f -X '!*.minions' -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_jobs) $(_actorctl_runs)" -- "$word"; compgen -f -X '!*.safetensors' -- "$word")
            fi
            return ;;
        --sort)
            words='job user state result environment progress return steps cost age'
            [[ $verb == top ]] && words='cpu memory steps cost job'
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
            return ;;
        --job-state)
            mapfile -t COMPREPLY < <(compgen -W 'queued frozen starting running ending ended' -- "$word")
            return ;;
        --metrics)
            mapfile -t COMPREPLY < <(compgen -S : -W 'csv jsonl scalars tensorboard monitor' -- "$word")
            return ;;
        -H | --host)
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
            return ;;
        --format)
            mapfile -t COMPREPLY < <(compgen -W 'safetensors onnx header focus' -- "$word")
            return ;;
    esac

    case $word in
        -*)
            case $verb in
                run) words='--set --seed --from --metrics --profile --verbose --json' ;;
                submit) words='--set --seed --from --metrics --wait --verbose --json --host' ;;
                watch) words='--metrics --verbose --host' ;;
                metrics) words='--metrics --http --host' ;;
                keys) words='--json --no-pager --no-legend' ;;
                verify | calibrate) words='--set --json' ;;
                graph) words='--policy --set --dot --svg --json --no-pager --no-legend' ;;
                eval) words='--set --seed --verbose --episodes --state --grid --steps --gif --video --frames --json' ;;
                import) words='--output' ;;
                report) words='--html --md --output' ;;
                export) words='--format --weights-only --rollouts --replay --episodes --output --set --seed' ;;
                experiment) words='--jobs --dry-run --output --no-pager --no-legend' ;;
                scheduler) words='--set --seed --episodes --rounds --target --name --from --json --no-pager --no-legend' ;;
                logs) words='--follow --lines --no-pager --no-legend' ;;
                decisions) words='--check --csv --json --no-pager --no-legend --host' ;;
                rounds) words='--csv --json --no-pager --no-legend --host' ;;
                top) words='--once --sort --json --no-legend' ;;
                runs) words='--lines --json --no-pager --no-legend' ;;
                cat) words='--no-pager --no-legend --host' ;;
                env) words='--json --no-pager --no-legend --set --seed --steps --actions --state --states --gif --video --frames' ;;
                bill) words='--by --owner --tag --since --beside --fleet --prices --format --json --no-pager --no-legend --host' ;;
                '' | list) words='--all --job-state --sort --owner --tag --since --lines --json --no-pager --no-legend --host' ;;
                status | show | quota | totals) words='--json --no-pager --no-legend --host' ;;
                price) words='--json --no-pager --no-legend' ;;
                stop | freeze | thaw | remove) words='--host' ;;
                *) words= ;;
            esac
            case $verb in
                calibrate | env | help | import | keys | logs | recover | runs | scheduler) ;;
                *) words+=' --system --user' ;;
            esac
            mapfile -t COMPREPLY < <(compgen -W "$common $words" -- "$word")
            return ;;
    esac

    case $verb in
        '') words='run submit runs list status show cat stop freeze thaw watch top bill totals rounds metrics decisions logs verify keys graph export remove recover eval experiment calibrate env price quota scheduler import report help' ;;
        status | cat | bill | rounds | metrics | decisions | report) words="$(_actorctl_jobs) $(_actorctl_runs)" ;;
        stop | freeze | thaw | watch | top | logs | remove) words=$(_actorctl_jobs) ;;
        recover) words=$(_actorctl_runs) ;;
        graph)
            mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_jobs) $(_actorctl_runs)" -- "$word"; compgen -f -X '!*.conf' -- "$word"; compgen -d -- "$word")
            return ;;
        run | submit | verify | calibrate)
            mapfile -t COMPREPLY < <(compgen -f -X '!*.conf' -- "$word"; compgen -d -- "$word")
            return ;;
        experiment)
            mapfile -t COMPREPLY < <(compgen -f -X '!*.exp' -- "$word"; compgen -d -- "$word")
            return ;;
        eval | show | export)
            mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_jobs) $(_actorctl_runs)" -- "$word"; compgen -f -X '!*.safetensors' -- "$word")
            return ;;
        help) words='run submit runs list status show cat stop freeze thaw watch top bill totals rounds metrics decisions logs verify keys graph export remove recover eval experiment calibrate env price quota scheduler import report' ;;
        scheduler)
            case $before in
                show | export | remove) words=$(_actorctl_schedulers) ;;
                train)
                    mapfile -t COMPREPLY < <(compgen -f -X '!*.conf' -- "$word"; compgen -d -- "$word")
                    return ;;
                *) words='list show train export remove' ;;
            esac ;;
        env)
            name=${typed##*[[:space:]]}
            if [[ $name == *:* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_environments)" -- "$name")
                _actorctl_behind_colon "$name"
                return
            fi
            case $before in
                show | check | bench | rollout)
                    mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_environments)" -- "$word"; compgen -f -X '!*.so' -- "$word"; compgen -d -- "$word")
                    return ;;
                *) words='list show check bench rollout' ;;
            esac ;;
        import)
            mapfile -t COMPREPLY < <(compgen -W 'zoo cleanrl' -- "$word"; compgen -f -X '!*.yml' -- "$word"; compgen -f -X '!*.py' -- "$word"; compgen -d -- "$word")
            return ;;
        price)
            case $before in
                show) words=$(_actorctl_sheets) ;;
                *) words='list show' ;;
            esac ;;
        *) words= ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _actorctl actorctl
