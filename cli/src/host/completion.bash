# bash completion of datumctl-compute
_datumctl_compute() {
    local line candidate cur
    local -a words answer
    words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    cur="${COMP_WORDS[COMP_CWORD]}"
    # bash takes `=` for a word of its own.
    if [[ "$cur" == "=" ]]; then cur=""; fi
    mapfile -t answer < <("${COMP_WORDS[0]}" __completeNoDesc "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for line in "${answer[@]}"; do
        case "$line" in
            :*) if (( ${line#:} & 2 )); then compopt -o nospace 2>/dev/null; fi ;;
            *)
                candidate="$line"
                if [[ "${COMP_WORDS[COMP_CWORD-1]}" == "=" || "${COMP_WORDS[COMP_CWORD]}" == "=" ]]; then
                    candidate="${line#*=}"
                fi
                if [[ "$candidate" == "$cur"* ]]; then COMPREPLY+=("$candidate"); fi
                ;;
        esac
    done
}
complete -F _datumctl_compute datumctl-compute
