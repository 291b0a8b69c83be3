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

# The verb is the first word that is no option and no option's value.
_actorctl_verb() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --set | --seed | --metrics | --jobs | --episodes | --rounds | --target | --name | --from | --format | --output | --lines | --steps | --actions | --state | --job-state | --sort | --owner | --tag | --since | --policy | -o | -n) i=$((i + 1)) ;;
            -*) ;;
            *) echo "${COMP_WORDS[i]}" && return ;;
        esac
    done
}

_actorctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb words
    local common='--help --version --quiet --system --user'
    verb=$(_actorctl_verb)

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
            [[ $verb == top ]] && words='cpu memory steps dollars job'
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
            return ;;
        --job-state)
            mapfile -t COMPREPLY < <(compgen -W 'queued starting running ending ended' -- "$word")
            return ;;
        --metrics)
            mapfile -t COMPREPLY < <(compgen -S : -W 'csv jsonl tensorboard monitor' -- "$word")
            return ;;
        --format)
            mapfile -t COMPREPLY < <(compgen -W 'safetensors onnx header' -- "$word")
            return ;;
    esac

    case $word in
        --json=*)
            mapfile -t COMPREPLY < <(compgen -P --json= -W 'short pretty off' -- "${word#--json=}")
            return ;;
        -*)
            case $verb in
                run) words='--set --seed --from --metrics --profile --verbose --json' ;;
                submit) words='--set --seed --from --metrics --wait --verbose --json' ;;
                watch) words='--metrics --verbose' ;;
                metrics) words='--metrics' ;;
                verify | calibrate) words='--set --json' ;;
                graph) words='--policy --set --dot --svg --json --no-pager --no-legend' ;;
                eval) words='--set --seed --verbose --episodes --gif --video --frames --json' ;;
                export) words='--format --weights-only --output --set' ;;
                experiment) words='--jobs --dry-run --output --no-pager --no-legend' ;;
                scheduler) words='--set --seed --episodes --rounds --target --name --from --json --no-pager --no-legend' ;;
                logs) words='--follow --lines --no-pager --no-legend' ;;
                decisions) words='--check --csv --json --no-pager --no-legend' ;;
                rounds) words='--csv --json --no-pager --no-legend' ;;
                top) words='--once --sort --json --no-legend' ;;
                runs) words='--lines --json --no-pager --no-legend' ;;
                cat) words='--no-pager --no-legend' ;;
                env) words='--json --no-pager --no-legend --set --seed --steps --actions --state --states --gif --video --frames' ;;
                bill) words='--fleet --prices --json --no-pager --no-legend' ;;
                '' | list) words='--all --job-state --sort --owner --tag --since --lines --json --no-pager --no-legend' ;;
                status | show | price | quota) words='--json --no-pager --no-legend' ;;
                *) words= ;;
            esac
            mapfile -t COMPREPLY < <(compgen -W "$common $words" -- "$word")
            return ;;
    esac

    case $verb in
        '') words='run submit runs list status show cat stop watch top bill totals rounds metrics decisions logs verify graph export remove recover eval experiment calibrate env price quota scheduler help' ;;
        status | cat | bill | rounds | metrics | decisions) words="$(_actorctl_jobs) $(_actorctl_runs)" ;;
        stop | watch | top | logs | remove) words=$(_actorctl_jobs) ;;
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
        help) words='run submit runs list status show cat stop watch top bill totals rounds metrics decisions logs verify graph export remove recover eval experiment calibrate env price quota scheduler' ;;
        scheduler)
            case $before in
                show | export | remove) words=$(_actorctl_schedulers) ;;
                train)
                    mapfile -t COMPREPLY < <(compgen -f -X '!*.conf' -- "$word"; compgen -d -- "$word")
                    return ;;
                *) words='list show train export remove' ;;
            esac ;;
        env)
            case $before in
                show | check | bench | rollout)
                    mapfile -t COMPREPLY < <(compgen -W "$(_actorctl_environments)" -- "$word"; compgen -f -X '!*.so' -- "$word"; compgen -d -- "$word")
                    return ;;
                *) words='list show check bench rollout' ;;
            esac ;;
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
