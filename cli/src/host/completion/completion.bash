# bash completion of datumctl-compute
_datumctl_compute() {
    local word joined=""
    local -a words=() answer=()
    # bash takes `=` for a word of its own: `--output=js` comes as three.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ( "$word" == "=" || -n "$joined" ) && ${#words[@]} -gt 0 ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        if [[ "$word" == "=" ]]; then joined=1; else joined=""; fi
    done
    mapfile -t answer < <("${COMP_WORDS[0]}" __completeNoDesc "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    if [[ "${answer[*]}" == ":0" ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "${word#=}")
        return
    fi
    for word in "${answer[@]}"; do
        if [[ "$word" != :* ]]; then COMPREPLY+=("$word"); fi
    done
}
complete -F _datumctl_compute datumctl-compute
